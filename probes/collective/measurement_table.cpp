#include "probes/collective/measurement_table.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "probes/collective/nccl_tests_judgement.h"
#include "topology/error.h"
#include "topology/hostlist.h"

namespace weft::probes {
namespace {

constexpr std::string_view kExpected =
    "a header with members,busbw or a,b,busbw, or lines of hosts and a bandwidth separated by blanks";
constexpr auto kColumns =
    std::to_array<std::string_view>({"members", "a", "b", "busbw", "rail", "round", "bytes", "ranks", "status"});

constexpr int kLastRail = 1023;
constexpr int kLastRound = 1'000'000;
constexpr int kMostRanks = 100'000'000;

/// A part of the file with its place, both from 1; columns count bytes.
struct Cell {
  std::string text;
  std::size_t line = 0;
  std::size_t column = 0;
};

struct Line {
  std::string_view text;
  std::size_t number = 0;
};

/// Takes lines that say something, one after the other: no comments, no blank ones, none that holds separators only.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
  }

  std::optional<Line> next() {
    while (!rest_.empty()) {
      const auto end = rest_.find('\n');
      Line line{rest_.substr(0, end), ++number_};
      rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
      if (line.text.ends_with('\r')) line.text.remove_suffix(1);
      const auto first = line.text.find_first_not_of(" \t");
      const bool says_something = line.text.find_first_not_of(" \t,;") != std::string_view::npos;
      if (says_something && line.text[first] != '#') return line;
    }
    return std::nullopt;
  }

 private:
  std::string_view rest_;
  std::size_t number_ = 0;
};

[[noreturn]] void fail(const std::string& file, std::size_t line, std::size_t column, std::string what,
                       std::string expected, std::string next_step = "") {
  throw InputError(
      {std::move(what), fmt::format("{}:{}:{}", file, line, column), std::move(expected), std::move(next_step)});
}

std::string lower_case(std::string text) {
  for (char& character : text)
    character = static_cast<char>(std::tolower(static_cast<unsigned char>(character)));
  return text;
}

template <typename Number>
std::optional<Number> number_in(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Cuts one line at its separators. Quotes around a field keep separators; a quote inside them is doubled.
class Cutter {
 public:
  Cutter(const Line& line, char separator, const std::string& file)
      : text_(line.text), number_(line.number), separator_(separator), file_(file) {}

  std::vector<Cell> cells() {
    std::vector<Cell> cells;
    for (;; ++at_) {
      cells.push_back(next_cell());
      if (at_ >= text_.size()) return cells;
    }
  }

 private:
  bool is_blank(char character) const { return character != separator_ && (character == ' ' || character == '\t'); }

  void skip_blanks() {
    while (at_ < text_.size() && is_blank(text_[at_]))
      ++at_;
  }

  /// Ends on the separator, or at the end of the line.
  Cell next_cell() {
    skip_blanks();
    Cell cell{"", number_, at_ + 1};
    if (at_ < text_.size() && text_[at_] == '"') {
      cell.text = quoted();
      return cell;
    }
    const auto end = std::min(text_.find(separator_, at_), text_.size());
    std::string_view text = text_.substr(at_, end - at_);
    while (!text.empty() && is_blank(text.back()))
      text.remove_suffix(1);
    cell.text = text;
    at_ = end;
    return cell;
  }

  std::string quoted() {
    const std::size_t opening = at_++;
    std::string text;
    for (; at_ < text_.size(); ++at_) {
      const bool is_quote = text_[at_] == '"';
      if (is_quote && !text_.substr(at_ + 1).starts_with('"')) {
        ++at_;
        skip_blanks();
        if (at_ < text_.size() && text_[at_] != separator_) {
          fail(file_, number_, at_ + 1, "text after the closing quote", "the end of the field");
        }
        return text;
      }
      text += text_[at_];
      at_ += is_quote;
    }
    fail(file_, number_, opening + 1, "the quote is not closed on its line", "a closing quote");
  }

  std::string_view text_;
  std::size_t number_;
  char separator_;
  const std::string& file_;
  std::size_t at_ = 0;
};

/// `n01 n03 n04 479.89` cut into its hosts and its last word; nothing when that is no number.
struct Words {
  Cell hosts;
  Cell bandwidth;
};

std::optional<Words> words_of(const Line& line) {
  const auto last = line.text.find_last_not_of(" \t");
  const auto blank = line.text.find_last_of(" \t", last);
  if (blank == std::string_view::npos) return std::nullopt;
  const std::string_view bandwidth = line.text.substr(blank + 1, last - blank);
  const auto first = line.text.find_first_not_of(" \t");
  if (first > blank || !number_in<double>(bandwidth)) return std::nullopt;
  return Words{{std::string(line.text.substr(first, blank - first)), line.number, first + 1},
               {std::string(bandwidth), line.number, blank + 2}};
}

/// A line that says what is in each column, and how they are separated.
struct Header {
  Line line;
  char separator = ',';
  std::vector<std::string> names;  ///< in lower case
  std::vector<Cell> cells;
};

/// Nothing where no separator leaves a column `busbw`.
std::optional<Header> header_of(const Line& line, const std::string& file) {
  if (lower_case(std::string(line.text)).find("busbw") == std::string::npos) return std::nullopt;
  for (const char separator : {',', ';', '\t'}) {
    Header header{line, separator, {}, Cutter(line, separator, file).cells()};
    for (const Cell& cell : header.cells)
      header.names.push_back(lower_case(cell.text));
    if (header.names.size() > 1 && std::ranges::find(header.names, "busbw") != header.names.end()) return header;
  }
  return std::nullopt;
}

class TableReader {
 public:
  explicit TableReader(const std::string& file) : file_(file) {}

  MeasurementTable read(std::string_view text) {
    Lines lines(text);
    const std::optional<Line> first = lines.next();
    if (!first) throw InputError({"there is no measurement in it", file_, std::string(kExpected), ""});
    if (words_of(*first)) {
      for (std::optional<Line> line = first; line; line = lines.next())
        read_words(*line);
    } else {
      read_header(*first);
      while (const std::optional<Line> line = lines.next())
        read_row(*line);
      if (table_.measurements.empty()) {
        fail(file_, first->number, 1, "there is no row below the header", "a measurement in each line");
      }
      keep_properties();
    }
    return std::move(table_);
  }

 private:
  [[noreturn]] void fail_at(const Cell& cell, std::string what, std::string expected,
                            std::string next_step = "") const {
    fail(file_, cell.line, cell.column, std::move(what), std::move(expected), std::move(next_step));
  }

  void read_header(const Line& line) {
    std::optional<Header> header = header_of(line, file_);
    if (!header) {
      fail(file_, line.number, 1, "the first line is neither a header nor a measurement", std::string(kExpected));
    }
    header_ = std::move(*header);
    for (std::size_t i = 0; i < header_.names.size(); ++i) {
      const std::string& name = header_.names[i];
      if (std::ranges::find(kColumns, name) == kColumns.end()) {
        others_.push_back(i);
      } else if (!columns_.emplace(name, i).second) {
        fail_at(header_.cells[i], fmt::format("the column {} is there twice", in_quotes(name)), "each column once");
      }
    }
    const int pair = static_cast<int>(columns_.contains("a")) + static_cast<int>(columns_.contains("b"));
    const bool members = columns_.contains("members");
    if ((members && pair != 0) || (!members && pair != 2)) {
      fail(file_, line.number, 1, "the header does not say who was measured", std::string(kExpected),
           members ? "leave out either members, or a and b" : "");
    }
  }

  void read_row(const Line& line) {
    std::vector<Cell> cells = Cutter(line, header_.separator, file_).cells();
    require_fit(line, cells);
    cells.resize(header_.names.size());
    Measurement measurement;
    measurement.group.nodes = members_of(line, cells);
    if (const Cell* cell = filled(cells, "rail"))
      measurement.group.rail = whole_number<int>(*cell, "rail", 0, kLastRail);
    if (const Cell* cell = filled(cells, "bytes")) {
      measurement.bytes = whole_number<std::uint64_t>(*cell, "bytes", 0, std::numeric_limits<std::int64_t>::max());
    }
    if (const Cell* cell = filled(cells, "ranks")) measurement.ranks = whole_number<int>(*cell, "ranks", 1, kMostRanks);
    int round = 0;
    if (const Cell* cell = filled(cells, "round")) round = whole_number<int>(*cell, "round", 0, kLastRound);
    read_result(filled(cells, "status"), filled(cells, "busbw"), measurement);
    for (std::size_t column : others_)
      other_values_[column].push_back(std::move(cells[column].text));
    add(line, std::move(measurement), round);
  }

  /// Optional columns at the end of a row may be left out; nothing may stand beyond the last column.
  void require_fit(const Line& line, const std::vector<Cell>& cells) const {
    const auto is_filled = [](const Cell& cell) { return !cell.text.empty(); };
    const auto columns = static_cast<std::ptrdiff_t>(std::min(cells.size(), header_.names.size()));
    const auto extra = std::find_if(cells.begin() + columns, cells.end(), is_filled);
    if (extra != cells.end()) {
      fail_at(*extra, fmt::format("a field more than the {} columns of the header", header_.names.size()),
              "as many fields as columns", R"(put a host list with separators in it in quotes: "n[1-2],n4")");
    }
    if (cells.size() <= columns_.at("busbw")) {
      fail(file_, line.number, line.text.size() + 1, "the row ends before its bandwidth",
           fmt::format("{} fields", header_.names.size()));
    }
  }

  std::vector<std::string> members_of(const Line& line, const std::vector<Cell>& cells) const {
    if (columns_.contains("members")) {
      const Cell& cell = cells[columns_.at("members")];
      if (cell.text.empty()) fail(file_, line.number, 1, "the row has no members", "a host list");
      return hosts_in(cell, "members");
    }
    std::vector<std::string> pair;
    for (const char* column : {"a", "b"}) {
      const Cell& cell = cells[columns_.at(column)];
      if (cell.text.empty()) {
        fail(file_, line.number, 1, fmt::format("the row has no node in the column {}", column),
             "a node each in a and b");
      }
      std::vector<std::string> node = hosts_in(cell, column);
      if (node.size() != 1) {
        fail_at(cell, fmt::format("{} names {} nodes", column, node.size()), "one node",
                "several go into a column members");
      }
      if (!pair.empty() && pair.front() == node.front()) fail_twice(cell, node.front());
      pair.push_back(std::move(node.front()));
    }
    return pair;
  }

  std::vector<std::string> hosts_in(const Cell& cell, std::string_view column) const {
    std::vector<std::string> nodes;
    try {
      nodes = topology::expand_hostlist_keeping_repeats(cell.text, column);
    } catch (const InputError& error) {
      const ErrorDetail& detail = error.detail();
      fail_at(cell, fmt::format("{}: {}", detail.where, detail.what), detail.expected, detail.next_step);
    }
    std::unordered_set<std::string_view> seen;
    for (const std::string& node : nodes) {
      if (!seen.insert(node).second) fail_twice(cell, node);
    }
    return nodes;
  }

  [[noreturn]] void fail_twice(const Cell& cell, const std::string& node) const {
    fail_at(cell, fmt::format("the node {} is in its group twice", node), "each node once");
  }

  const Cell* filled(const std::vector<Cell>& cells, std::string_view column) const {
    const auto found = columns_.find(column);
    if (found == columns_.end() || cells[found->second].text.empty()) return nullptr;
    return &cells[found->second];
  }

  template <typename Number>
  Number whole_number(const Cell& cell, std::string_view column, Number lowest, Number highest) const {
    const std::optional<Number> number = number_in<Number>(cell.text);
    if (!number || *number < lowest || *number > highest) {
      fail_at(cell, fmt::format("the {} is {}", column, in_quotes(cell.text)),
              fmt::format("a whole number from {} to {}", lowest, highest));
    }
    return *number;
  }

  void read_result(const Cell* status, const Cell* busbw, Measurement& measurement) const {
    measurement.status = status == nullptr ? Status::ok : status_in(*status);
    if (measurement.status != Status::ok) {
      measurement.reason = "the table says so";
    } else if (busbw == nullptr) {
      measurement.status = Status::refused;
      measurement.reason = "no bandwidth";
    } else {
      measurement.busbw_gbps = bandwidth_in(*busbw);
    }
  }

  Status status_in(const Cell& cell) const {
    const std::optional<Status> status = status_from_string(lower_case(cell.text));
    if (!status) {
      fail_at(cell, fmt::format("there is no status {}", in_quotes(cell.text)),
              "ok, failed, hung, corrupt, unreachable or refused");
    }
    return *status;
  }

  double bandwidth_in(const Cell& cell) const {
    const std::optional<double> value = number_in<double>(cell.text);
    if (!value || !std::isfinite(*value) || *value <= 0 || *value > kAbsurdGbps) {
      fail_at(cell, fmt::format("the bandwidth is {}", in_quotes(cell.text)),
              fmt::format("GB/s, a number above 0 and up to {}", kAbsurdGbps),
              cell.text.find(',') == std::string::npos ? "" : "decimals are after a point");
    }
    return *value;
  }

  void read_words(const Line& line) {
    const std::optional<Words> words = words_of(line);
    if (!words) fail(file_, line.number, 1, "the line ends in no number", "hosts and a bandwidth separated by blanks");
    Measurement measurement;
    measurement.status = Status::ok;
    measurement.busbw_gbps = bandwidth_in(words->bandwidth);
    measurement.group.nodes = hosts_in(words->hosts, "hosts");
    add(line, std::move(measurement), 0);
  }

  void add(const Line& line, Measurement measurement, int round) {
    members_ += measurement.group.nodes.size();
    if (table_.measurements.size() == kMostTableRows || members_ > kMostTableMembers) {
      fail(file_, line.number, 1, "too many measurements",
           fmt::format("at most {} rows with {} members together", kMostTableRows, kMostTableMembers));
    }
    for (const std::string& node : measurement.group.nodes) {
      if (seen_.insert(node).second) table_.nodes.push_back(node);
    }
    table_.measurements.push_back(std::move(measurement));
    table_.rounds.push_back(round);
  }

  void keep_properties() {
    for (std::size_t column : others_) {
      const std::vector<std::string>& values = other_values_[column];
      const bool is_empty = std::ranges::all_of(values, [](const auto& value) { return value.empty(); });
      const bool is_property =
          std::ranges::all_of(values, [](const auto& value) { return value.empty() || value == "0" || value == "1"; });
      const std::string& name = header_.cells[column].text;
      if (is_empty) continue;
      if (!is_property || name.empty() || table_.properties.contains(name)) {
        table_.notes.push_back(fmt::format("{}: the column {} is ignored.", file_, in_quotes(name)));
        continue;
      }
      std::vector<bool>& property = table_.properties[name];
      for (const std::string& value : values)
        property.push_back(value == "1");
    }
  }

  const std::string& file_;
  MeasurementTable table_;
  Header header_;
  std::map<std::string, std::size_t, std::less<>> columns_;  ///< by name, those that mean something to us
  std::vector<std::size_t> others_;
  std::map<std::size_t, std::vector<std::string>> other_values_;
  std::unordered_set<std::string> seen_;
  std::size_t members_ = 0;
};

}  // namespace

MeasurementTable parse_measurement_table(std::string_view text, const std::string& file) {
  return TableReader(file).read(text);
}

bool begins_as_table(std::string_view text) {
  const std::optional<Line> first = Lines(text).next();
  return first && (words_of(*first) || lower_case(std::string(first->text)).find("busbw") != std::string::npos);
}

}  // namespace weft::probes
