#include "probes/collective/measurement_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "probes/collective/nccl_tests_judgement.h"
#include "probes/collective/nccl_tests_output.h"
#include "topology/error.h"
#include "topology/hostlist.h"
#include "topology/text_file.h"

namespace weft::probes {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostBytes = 64 << 20;
constexpr std::size_t kMostRows = 1'000'000;

struct Line {
  int number = 0;
  std::string text;
};

std::string trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1));
}

/// Lines that say something: no comments, no blank ones.
std::vector<Line> lines_of(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  std::vector<Line> lines;
  for (int number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    std::string line = trimmed(text.substr(0, end));
    if (!line.empty() && line.front() != '#') lines.push_back({number, std::move(line)});
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

/// Fields of one line; quotes keep separators, and a quote inside quotes is doubled.
std::vector<std::string> fields_of(const std::string& line, char separator) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += line[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == separator && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  for (std::string& field : fields)
    field = trimmed(field);
  return fields;
}

template <typename T>
std::optional<T> number_in(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

class TableReader {
 public:
  explicit TableReader(const std::string& file) : file_(file) {}

  MeasurementTable read(const std::vector<Line>& lines) {
    if (lines.empty()) throw InputError({"there is no measurement in it", file_, kExpected, ""});
    if (lines.size() > kMostRows) throw InputError({"too many rows", file_, fmt::format("at most {}", kMostRows), ""});
    const std::optional<char> separator = separator_of(lines.front().text);
    if (separator) {
      read_header(lines.front(), *separator);
      if (lines.size() == 1) fail(lines.front(), "there is no row below the header", "a measurement in each line");
      for (std::size_t i = 1; i < lines.size(); ++i)
        read_row(lines[i], *separator);
      keep_properties();
    } else {
      for (const Line& line : lines)
        read_words(line);
    }
    return std::move(table_);
  }

 private:
  static constexpr const char* kExpected =
      "a header with members,busbw or a,b,busbw, or lines of hosts and a bandwidth separated by blanks";

  [[noreturn]] void fail(const Line& line, std::string what, std::string expected) const {
    throw InputError({std::move(what), fmt::format("{}:{}", file_, line.number), std::move(expected), ""});
  }

  /// Of a header; nothing when the first line is a measurement already.
  static std::optional<char> separator_of(const std::string& first_line) {
    for (const char separator : {',', ';', '\t'}) {
      const auto fields = fields_of(first_line, separator);
      if (fields.size() > 1 && std::find(fields.begin(), fields.end(), "busbw") != fields.end()) return separator;
    }
    return std::nullopt;
  }

  void read_header(const Line& line, char separator) {
    static const std::set<std::string> known = {"members", "a",     "b",     "busbw", "rail",
                                                "round",   "bytes", "ranks", "status"};
    const std::vector<std::string> names = fields_of(line.text, separator);
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!known.contains(names[i])) {
        others_.emplace_back(names[i], i);
      } else if (!columns_.emplace(names[i], i).second) {
        fail(line, fmt::format("the column '{}' is there twice", names[i]), "each column once");
      }
    }
    const bool pairs = columns_.contains("a") && columns_.contains("b");
    if (pairs == columns_.contains("members")) fail(line, "the header does not say who was measured", kExpected);
  }

  void keep_properties() {
    for (std::size_t i = 0; i < others_.size(); ++i) {
      const auto& [name, column] = others_[i];
      std::vector<bool> values;
      bool is_property = true;
      for (const auto& fields : rows_) {
        const std::string value = column < fields.size() ? fields[column] : "";
        is_property &= value.empty() || value == "0" || value == "1";
        values.push_back(value == "1");
      }
      if (is_property) {
        table_.properties.emplace(name, std::move(values));
      } else {
        table_.notes.push_back(fmt::format("{}: the column {} is ignored.", file_, in_quotes(name)));
      }
    }
  }

  std::string field(const std::vector<std::string>& fields, const std::string& column) const {
    const auto found = columns_.find(column);
    return found == columns_.end() || found->second >= fields.size() ? "" : fields[found->second];
  }

  void read_row(const Line& line, char separator) {
    const std::vector<std::string> fields = fields_of(line.text, separator);
    Measurement measurement;
    std::string members = field(fields, "members");
    if (columns_.contains("a")) members = field(fields, "a") + "," + field(fields, "b");
    measurement.group.nodes = hosts(line, members);
    if (const std::string rail = field(fields, "rail"); !rail.empty()) {
      const auto number = number_in<int>(rail);
      if (!number || *number < 0 || *number > 1023)
        fail(line, fmt::format("rail {} will not do", in_quotes(rail)), "a rail from 0");
      measurement.group.rail = *number;
    }
    if (const std::string bytes = field(fields, "bytes"); !bytes.empty()) {
      const auto number = number_in<std::uint64_t>(bytes);
      if (!number) fail(line, fmt::format("bytes {} will not do", in_quotes(bytes)), "a whole number");
      measurement.bytes = *number;
    }
    if (const std::string ranks = field(fields, "ranks"); !ranks.empty()) {
      const auto number = number_in<int>(ranks);
      if (!number || *number < 1)
        fail(line, fmt::format("ranks {} will not do", in_quotes(ranks)), "a whole number from 1");
      measurement.ranks = *number;
    }
    int round = 0;
    if (const std::string text = field(fields, "round"); !text.empty()) {
      const auto number = number_in<int>(text);
      if (!number || *number < 0) fail(line, fmt::format("round {} will not do", in_quotes(text)), "a whole number");
      round = *number;
    }
    read_result(line, field(fields, "status"), field(fields, "busbw"), measurement);
    rows_.push_back(fields);
    add(std::move(measurement), round);
  }

  void read_result(const Line& line, const std::string& status, const std::string& busbw,
                   Measurement& measurement) const {
    measurement.status = Status::ok;
    if (!status.empty()) {
      const auto known = status_from_string(status);
      if (!known)
        fail(line, fmt::format("there is no status {}", in_quotes(status)),
             "ok, failed, hung, corrupt, unreachable or refused");
      measurement.status = *known;
    }
    if (measurement.status != Status::ok) {
      measurement.reason = "the table says so";
      return;
    }
    if (busbw.empty()) {
      measurement.status = Status::refused;
      measurement.reason = "no bandwidth";
      return;
    }
    measurement.busbw_gbps = bandwidth(line, busbw);
  }

  double bandwidth(const Line& line, const std::string& text) const {
    const auto value = number_in<double>(text);
    if (!value || !std::isfinite(*value) || *value <= 0 || *value > kAbsurdGbps) {
      fail(line, fmt::format("the bandwidth {} will not do", in_quotes(text)),
           fmt::format("GB/s above 0, up to {}", kAbsurdGbps));
    }
    return *value;
  }

  /// `n01 n03 n04 n08 479.89`
  void read_words(const Line& line) {
    const auto blank = line.text.find_last_of(" \t");
    if (blank == std::string::npos) fail(line, "this is no measurement", kExpected);
    Measurement measurement;
    measurement.status = Status::ok;
    measurement.busbw_gbps = bandwidth(line, line.text.substr(blank + 1));
    measurement.group.nodes = hosts(line, line.text.substr(0, blank));
    add(std::move(measurement));
  }

  std::vector<std::string> hosts(const Line& line, const std::string& members) const {
    auto nodes = topology::expand_hostlist_keeping_repeats(members, fmt::format("{}:{}", file_, line.number));
    const std::unordered_set<std::string> distinct(nodes.begin(), nodes.end());
    if (distinct.size() != nodes.size()) fail(line, "a node is in its group twice", "each node once");
    return nodes;
  }

  void add(Measurement measurement, int round = 0) {
    for (const std::string& node : measurement.group.nodes) {
      if (seen_.insert(node).second) table_.nodes.push_back(node);
    }
    table_.measurements.push_back(std::move(measurement));
    table_.rounds.push_back(round);
  }

  const std::string& file_;
  MeasurementTable table_;
  std::map<std::string, std::size_t> columns_;
  std::vector<std::pair<std::string, std::size_t>> others_;
  std::vector<std::vector<std::string>> rows_;
  std::unordered_set<std::string> seen_;
};

/// What marks the output of nccl-tests: its device lines, or rows of its table.
bool is_nccl_tests_log(const NcclTestsOutput& output) {
  return !output.jobs.empty() || !output.rows.empty();
}

void append(MeasurementTable& all, MeasurementTable more) {
  std::unordered_set<std::string> seen(all.nodes.begin(), all.nodes.end());
  for (std::string& node : more.nodes) {
    if (seen.insert(node).second) all.nodes.push_back(std::move(node));
  }
  std::move(more.measurements.begin(), more.measurements.end(), std::back_inserter(all.measurements));
  const std::size_t before = all.rounds.size();
  all.rounds.insert(all.rounds.end(), more.rounds.begin(), more.rounds.end());
  for (auto& [name, values] : more.properties) {
    all.properties[name].resize(before, false);
    all.properties[name].insert(all.properties[name].end(), values.begin(), values.end());
  }
  for (auto& [name, values] : all.properties)
    values.resize(all.rounds.size(), false);
  std::move(more.notes.begin(), more.notes.end(), std::back_inserter(all.notes));
}

MeasurementTable from_log(const NcclTestsOutput& output, const std::string& file) {
  const NcclTestsJudgement judgement = judge(output, {});
  MeasurementTable table;
  std::vector<std::string> nodes = topology::without_repeats(judgement.hosts);
  if (nodes.empty() || (judgement.status == Status::ok && !judgement.plateau) || judgement.status == Status::refused) {
    table.notes.push_back(fmt::format(
        "{}: left out: {}.", file, judgement.reason.empty() ? "no bandwidth to judge, or no hosts" : judgement.reason));
    return table;
  }
  Measurement measurement;
  measurement.group.nodes = nodes;
  measurement.status = judgement.status;
  measurement.reason = judgement.reason;
  measurement.ranks = judgement.ranks;
  if (judgement.plateau) {
    measurement.bytes = judgement.plateau->largest_bytes;
    measurement.busbw_gbps = judgement.status == Status::ok ? judgement.plateau->busbw_gbps : 0;
    measurement.algbw_gbps = judgement.plateau->algbw_gbps;
  }
  table.nodes = std::move(nodes);
  table.measurements.push_back(std::move(measurement));
  table.rounds.push_back(0);
  return table;
}

std::vector<std::string> files_in(const std::string& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(path)) {
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  if (files.empty()) throw InputError({"the folder has no files", path, "tables, or logs of nccl-tests", ""});
  return files;
}

/// What was measured does not depend on the order in which it was written down, and neither must what follows from it.
void put_in_order(MeasurementTable& table) {
  std::sort(table.nodes.begin(), table.nodes.end());
  std::vector<std::size_t> order(table.measurements.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
    const Measurement& a = table.measurements[i];
    const Measurement& b = table.measurements[j];
    return std::tie(a.group.nodes, a.group.rail, a.bytes, table.rounds[i], a.status, a.busbw_gbps) <
           std::tie(b.group.nodes, b.group.rail, b.bytes, table.rounds[j], b.status, b.busbw_gbps);
  });
  MeasurementTable sorted;
  sorted.nodes = table.nodes;
  sorted.notes = table.notes;
  for (std::size_t i : order) {
    sorted.measurements.push_back(table.measurements[i]);
    sorted.rounds.push_back(table.rounds[i]);
    for (const auto& [name, values] : table.properties)
      sorted.properties[name].push_back(values[i]);
  }
  table = std::move(sorted);
}

}  // namespace

MeasurementTable parse_measurement_table(std::string_view text, const std::string& file) {
  return TableReader(file).read(lines_of(text));
}

MeasurementTable load_measurements(const std::vector<std::string>& paths) {
  MeasurementTable all;
  for (const std::string& path : paths) {
    for (const std::string& file : files_in(path)) {
      const std::string text = topology::read_text_file(file, kMostBytes);
      const NcclTestsOutput output = parse_nccl_tests(text);
      append(all, is_nccl_tests_log(output) ? from_log(output, file) : parse_measurement_table(text, file));
    }
  }
  put_in_order(all);
  return all;
}

}  // namespace weft::probes
