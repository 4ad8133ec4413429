#include "probes/collective/nccl_tests_output.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>

#include "probes/collective/nccl_tests_json.h"

namespace weft::probes {
namespace {

/// Nothing that nccl-tests prints is longer; what goes beyond is foreign and dropped.
constexpr std::size_t kMaxLine = std::size_t{64} << 10;
constexpr std::size_t kMaxTokens = 40;
constexpr std::size_t kMaxSweeps = 10'000;
/// Width from which on the gap after the root column stands for an out-of-place half that was left blank.
constexpr std::ptrdiff_t kBlankHalf = 30;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_alpha(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_blank(char c) {
  return c == ' ' || c == '\t';
}
bool is_name_char(char c) {
  return is_digit(c) || is_alpha(c) || c == '.' || c == '_' || c == '-';
}

std::string_view trim_left(std::string_view text) {
  while (!text.empty() && is_blank(text.front()))
    text.remove_prefix(1);
  return text;
}

std::string_view trim_right(std::string_view text) {
  while (!text.empty() && (is_blank(text.back()) || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

/// Splits at blanks; takes tokens off the front.
std::string_view next_token(std::string_view& rest) {
  rest = trim_left(rest);
  std::size_t end = 0;
  while (end < rest.size() && !is_blank(rest[end]))
    ++end;
  const std::string_view token = rest.substr(0, end);
  rest.remove_prefix(end);
  return token;
}

template <typename Integer>
std::optional<Integer> whole(std::string_view token) {
  Integer value = 0;
  const auto result = std::from_chars(token.data(), token.data() + token.size(), value);
  if (token.empty() || result.ec != std::errc() || result.ptr != token.data() + token.size()) return std::nullopt;
  return value;
}

/// Takes terminal escapes (ESC [ … letter) out of a line.
std::string without_escapes(std::string_view line) {
  std::string clean;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\x1b') {
      clean += line[i];
      continue;
    }
    if (i + 1 < line.size() && line[i + 1] == '[') {
      i += 2;
      while (i < line.size() && !(line[i] >= '@' && line[i] <= '~'))
        ++i;
    }
  }
  return clean;
}

/// --- What launchers write before a line -------------------------------------------------------------------

/// A line without its labels, and the one that tells ranks of one launch apart (empty when there is none).
struct Labelled {
  std::string_view label;
  std::string_view text;
};

constexpr std::size_t kDateSize = 10;

/// `2026-01-31` or `2026/01/31` at the front.
bool starts_with_date(std::string_view text) {
  return text.size() >= kDateSize && is_digit(text[0]) && is_digit(text[3]) && (text[4] == '-' || text[4] == '/') &&
         is_digit(text[5]) && is_digit(text[6]) && text[7] == text[4] && is_digit(text[9]);
}

/// Takes `2026-01-31T10:00:00.123Z` or `2026-01-31 10:00:00` off the front; false when there is none.
bool take_time_stamp(std::string_view& text) {
  if (!starts_with_date(text)) return false;
  const bool has_time = next_token(text).size() > kDateSize;
  if (has_time) return true;
  std::string_view after = text;
  const std::string_view time = next_token(after);
  if (time.size() >= 8 && time[2] == ':' && time[5] == ':') text = after;
  return true;
}

/// `[1,0]<stdout>:`, `[0]`, `[node001:123]`, `[pod/launcher/main]`; nothing when the bracket is something else.
std::size_t bracket_label_size(std::string_view text) {
  constexpr std::size_t kLongestLabel = 200;
  const std::size_t close = text.substr(0, kLongestLabel).find(']');
  if (close == std::string_view::npos || close == 1) return 0;
  for (const char c : text.substr(1, close - 1)) {
    if (!is_name_char(c) && c != ':' && c != ',' && c != '@' && c != '/') return 0;
  }
  std::size_t end = close + 1;
  if (text.substr(end).starts_with("<std")) {
    const std::size_t angle = text.find('>', end);
    if (angle == std::string_view::npos || angle - end > 10) return 0;
    end = angle + 1;
  }
  if (end < text.size() && text[end] == ':') ++end;
  return end;
}

/// `0: ` of srun -l, `node001: ` of pdsh and clush.
std::size_t colon_label_size(std::string_view text) {
  constexpr std::size_t kLongestLabel = 80;
  std::size_t end = 0;
  while (end < text.size() && end < kLongestLabel && is_name_char(text[end]))
    ++end;
  if (end == 0 || end >= text.size() || text[end] != ':') return 0;
  if (end + 1 < text.size() && !is_blank(text[end + 1]) && text[end + 1] != '#') return 0;
  return end + 1;
}

/// The part of a label that is the same in every launch: `[prterun-host-77@1,0]<stdout>:` is rank 1,0. A process number
/// is not.
std::string_view rank_label(std::string_view label) {
  if (!label.starts_with('[')) return label;
  std::string_view inside = label.substr(1, label.find(']') - 1);
  if (const std::size_t at = inside.rfind('@'); at != std::string_view::npos) inside.remove_prefix(at + 1);
  return inside.find(':') == std::string_view::npos ? inside : std::string_view();
}

Labelled strip_labels(std::string_view line) {
  Labelled result{.label = {}, .text = trim_left(line)};
  for (int i = 0; i < 4 && !result.text.empty(); ++i) {
    std::string_view& text = result.text;
    if (!take_time_stamp(text)) {
      const std::size_t size = text.front() == '[' ? bracket_label_size(text) : colon_label_size(text);
      if (size == 0) break;
      result.label = rank_label(text.substr(0, size));
      text.remove_prefix(size);
    }
    text = trim_left(text);
  }
  return result;
}

/// --- Rows ---------------------------------------------------------------------------------------------------

/// The columns that a table's header announced.
struct Layout {
  std::size_t half_width = 4;  ///< time, algbw, busbw, error; without error 3; with per-iteration columns 8
  std::size_t halves = 0;      ///< 0: no header seen
  bool has_root = false;       ///< meaningful when a header was seen
  bool has_error = true;
  ErrorColumn error_column = ErrorColumn::unknown;
};

struct Value {
  double number = 0;
  bool is_number = false;   ///< false: N/A
  bool is_integer = false;  ///< printed without point and exponent
  int decimals = 0;
  std::ptrdiff_t gap = 0;  ///< blanks before it
};

/// A row as far as it was printed: nccl-tests prints it in pieces, and other processes write between them.
struct Fragment {
  NcclTestsRow row;
  std::array<Value, kMaxTokens> values{};
  std::size_t count = 0;
  bool cut_at_end = false;  ///< the last token stopped in the middle of a number
};

bool is_type_name(std::string_view token) {
  constexpr std::array<std::string_view, 16> kNames = {"float",  "half",   "double",   "bfloat16", "int8", "uint8",
                                                       "int32",  "uint32", "int64",    "uint64",   "char", "int",
                                                       "f8e4m3", "f8e5m2", "fp8_e4m3", "fp8_e5m2"};
  return std::find(kNames.begin(), kNames.end(), token) != kNames.end();
}

/// The redop column: a word that is no value.
bool is_redop_name(std::string_view token) {
  return !token.empty() && is_alpha(token.front()) && token != "N/A" && token != "nan" && token != "inf" &&
         token.size() <= 12 && std::all_of(token.begin(), token.end(), is_alpha);
}

int decimals_of(std::string_view number) {
  const std::size_t point = number.find('.');
  if (point == std::string_view::npos) return 0;
  std::size_t end = point + 1;
  while (end < number.size() && is_digit(number[end]))
    ++end;
  return static_cast<int>(end - point - 1);
}

enum class Taken { whole, glued, none };

/// Reads a value off a token. `glued`: something foreign follows without a blank (`-1node001:22:28`).
Taken take_value(std::string_view token, Value& value) {
  if (token == "N/A") return Taken::whole;
  const auto result = std::from_chars(token.data(), token.data() + token.size(), value.number);
  const auto length = static_cast<std::size_t>(result.ptr - token.data());
  if (length == 0 || result.ec == std::errc::invalid_argument) return Taken::none;
  if (result.ec == std::errc::result_out_of_range) value.number = token.front() == '-' ? -HUGE_VAL : HUGE_VAL;
  const std::string_view digits = token.substr(0, length);
  value.is_number = true;
  value.is_integer = digits.find_first_of(".eEn") == std::string_view::npos;
  value.decimals = decimals_of(digits);
  std::string_view rest = token.substr(length);
  if (rest == "*") rest = {};  // RCCL marks errors beyond its threshold
  if (rest.empty()) return Taken::whole;
  // A number cut inside its exponent would read as another number.
  return is_alpha(rest.front()) && rest != "e" && rest != "e-" && rest != "e+" ? Taken::glued : Taken::none;
}

/// Adds the values of `rest` to the fragment; stops at the first thing that is none. False when there was such a thing.
bool add_values(std::string_view rest, Fragment& fragment) {
  while (fragment.count < kMaxTokens) {
    const char* before = rest.data();
    const std::string_view token = next_token(rest);
    if (token.empty() || starts_with_date(token)) return true;
    Value value;
    value.gap = token.data() - before;
    const Taken taken = take_value(token, value);
    if (taken == Taken::none) return false;
    fragment.values[fragment.count++] = value;
    if (taken == Taken::glued) return false;
  }
  return true;
}

/// Size, count, type and redop of a row; the values stay in `rest`.
std::optional<NcclTestsRow> read_row_head(std::string_view& rest) {
  NcclTestsRow row;
  const auto bytes = whole<std::uint64_t>(next_token(rest));
  if (!bytes) return std::nullopt;
  const auto count = whole<std::uint64_t>(next_token(rest));
  if (!count) return std::nullopt;
  const std::string_view type = next_token(rest);
  if (!is_type_name(type)) return std::nullopt;
  row.bytes = *bytes;
  row.count = *count;
  row.type = type;
  std::string_view after = rest;
  if (const std::string_view redop = next_token(after); is_redop_name(redop)) {
    row.redop = redop;
    rest = after;
  }
  return row;
}

bool begins_with_root(const Fragment& fragment, const Layout& layout) {
  if (layout.halves > 0) return layout.has_root;
  // Times below 10000 us always have decimals.
  return fragment.count > 0 && fragment.values[0].is_integer && fragment.values[0].number < 10'000;
}

NcclTestsTiming read_half(const Value* values, const Layout& layout) {
  NcclTestsTiming timing;
  timing.time_us = values[0].number;
  timing.algbw_gbps = values[1].number;
  timing.busbw_gbps = values[2].number;
  timing.resolution_gbps = 0.5 * std::pow(10.0, -std::min(values[1].decimals, values[2].decimals));
  if (layout.has_error && values[3].is_number) timing.error = values[3].number;
  return timing;
}

bool measures_are_numbers(const Value* values) {
  return values[0].is_number && values[1].is_number && values[2].is_number;
}

enum class Completeness { incomplete, complete, malformed };

/// Turns the values into the row's halves when they are all there.
Completeness complete_row(Fragment& fragment, const Layout& layout, bool accept_one_half) {
  const std::size_t root = begins_with_root(fragment, layout) ? 1 : 0;
  const std::size_t width = layout.half_width;
  const std::size_t values = fragment.count - std::min(root, fragment.count);
  const Value* first = fragment.values.data() + root;
  if (values > 2 * width) return Completeness::malformed;
  const bool blank_half = values >= width && root == 1 && first->gap >= kBlankHalf;
  const bool one_half =
      values == width && (blank_half || layout.halves == 1 || (layout.halves == 0 && accept_one_half));
  if (values != 2 * width && !one_half) return Completeness::incomplete;
  if (root == 1) {
    if (!fragment.values[0].is_integer || std::fabs(fragment.values[0].number) > 1e6) return Completeness::malformed;
    fragment.row.root = static_cast<int>(fragment.values[0].number);
  }
  if (!measures_are_numbers(first) || (!one_half && !measures_are_numbers(first + width)))
    return Completeness::malformed;
  fragment.row.error_column = layout.error_column;
  (blank_half ? fragment.row.in_place : fragment.row.out_of_place) = read_half(first, layout);
  if (!one_half) fragment.row.in_place = read_half(first + width, layout);
  return Completeness::complete;
}

/// Of a row whose header was not seen: whether its error column was printed as a count.
bool prints_counts(const Fragment& fragment, const Layout& layout) {
  for (std::size_t half = 1; half <= 2; ++half) {
    if (fragment.count < half * layout.half_width) break;
    const Value& error = fragment.values[fragment.count - 1 - (half - 1) * layout.half_width];
    if (error.is_number && error.is_integer) return true;
  }
  return false;
}

/// The columns of `#  size  count  type  redop  root  time  algbw  busbw  #wrong …`; none when the line is no such
/// header.
std::optional<Layout> read_header(std::string_view rest) {
  const std::string_view first = next_token(rest);
  if (first != "size" && first != "bytes") return std::nullopt;
  Layout layout;
  layout.half_width = 0;
  layout.has_error = false;
  while (true) {
    const std::string_view column = next_token(rest);
    if (column.empty() || column == "timestamp") break;
    if (column == "root") layout.has_root = true;
    if (column == "time" || column == "cputime") ++layout.halves;
    if (column == "#wrong") layout.error_column = ErrorColumn::wrong_elements;
    if (column == "error" || column == "res") layout.error_column = ErrorColumn::rounding_error;
    layout.has_error = layout.error_column != ErrorColumn::unknown;
    if (layout.halves == 1) ++layout.half_width;
  }
  if (layout.half_width < 3 || layout.half_width > 8 || layout.halves > 2) return std::nullopt;
  if (layout.has_error && layout.half_width < 4) return std::nullopt;
  return layout;
}

/// --- The shape of the job -------------------------------------------------------------------------------------

struct DeviceLine {
  NcclTestsDevice device;
  long process = 0;
};

/// `Rank  0 Group  0 Pid  811 on node001 device  0 [0x0f] …`, with Group and Pid or without.
std::optional<DeviceLine> read_device_line(std::string_view rest) {
  DeviceLine line;
  bool has_rank = false;
  for (int i = 0; i < 3; ++i) {
    const std::string_view name = next_token(rest);
    const std::string_view value = next_token(rest);
    if (name == "on") {
      if (!has_rank || value.empty() || next_token(rest) != "device") return std::nullopt;
      line.device.host = value;
      return line;
    }
    const auto number = whole<int>(value);
    if (!number) return std::nullopt;
    if (name == "Rank") {
      if (*number < 0) return std::nullopt;
      line.device.rank = *number;
      has_rank = true;
    }
    if (name == "Group") line.device.group = *number;
    if (name == "Pid") line.process = *number;
  }
  if (next_token(rest) != "on") return std::nullopt;
  line.device.host = next_token(rest);
  if (line.device.host.empty() || next_token(rest) != "device") return std::nullopt;
  return line;
}

/// Sorts device lines into jobs while lines of several jobs may arrive mixed up.
class JobSorter {
 public:
  /// True when the device opens a job of its own.
  bool add(DeviceLine line, std::string_view label) {
    if (devices_ >= NcclTestsOutput::kMaxDevices) return false;
    ++devices_;
    Job* job = find_home(line);
    const bool is_new = job == nullptr;
    if (is_new) {
      jobs_.emplace_back();
      job = &jobs_.back();
      job->label = label;
    }
    const auto rank = static_cast<std::size_t>(std::min(line.device.rank, 1 << 20));
    if (job->has_rank.size() <= rank) job->has_rank.resize(rank + 1);
    job->has_rank[rank] = true;
    job->last_process = line.process;
    job->last_host = line.device.host;
    job->devices.push_back(std::move(line.device));
    return is_new;
  }

  void mark_cut() {
    if (!jobs_.empty()) jobs_.back().cut = true;
  }

  int count() const { return static_cast<int>(jobs_.size()); }

  bool labels_differ() const {
    return std::any_of(jobs_.begin(), jobs_.end(), [&](const Job& job) { return job.label != jobs_.front().label; });
  }

  std::vector<NcclTestsJob> take() {
    std::vector<NcclTestsJob> result;
    for (Job& job : jobs_) {
      std::sort(job.devices.begin(), job.devices.end(),
                [](const NcclTestsDevice& a, const NcclTestsDevice& b) { return a.rank < b.rank; });
      NcclTestsJob finished;
      finished.ranks = static_cast<int>(job.has_rank.size());
      finished.complete = !job.cut && job.devices.size() == job.has_rank.size();
      finished.devices = std::move(job.devices);
      result.push_back(std::move(finished));
    }
    return result;
  }

 private:
  struct Job {
    std::vector<NcclTestsDevice> devices;
    std::vector<bool> has_rank;
    std::string label;
    std::string last_host;
    long last_process = 0;
    bool cut = false;
  };

  static bool lacks(const Job& job, int rank) {
    const auto index = static_cast<std::size_t>(rank);
    return index >= job.has_rank.size() || !job.has_rank[index];
  }

  /// The job that this line goes on with: the one of the same process, else the latest that lacks the rank.
  Job* find_home(const DeviceLine& line) {
    Job* latest = nullptr;
    const std::size_t oldest = jobs_.size() > kOpenJobs ? jobs_.size() - kOpenJobs : 0;
    for (std::size_t i = oldest; i < jobs_.size(); ++i) {
      Job& job = jobs_[i];
      if (!lacks(job, line.device.rank)) continue;
      if (line.process != 0 && job.last_process == line.process && job.last_host == line.device.host) return &job;
      if (line.device.rank != 0) latest = &job;
    }
    return latest;
  }

  static constexpr std::size_t kOpenJobs = 4096;

  std::vector<Job> jobs_;
  std::size_t devices_ = 0;
};

}  // namespace

class NcclTestsParser::State {
 public:
  void feed(std::string_view bytes);
  NcclTestsOutput finish();

 private:
  void add_partial(std::string_view piece);
  void on_line(std::string_view raw, bool terminated);
  void on_clean_line(std::string_view whole_line, bool terminated);
  void on_comment(std::string_view text, std::string_view label);
  void on_settings(std::string_view rest);
  void on_device(std::string_view rest, std::string_view label);
  void on_summary(std::string_view text);
  void note_job_start(std::size_t& rows_at_last_start);
  void on_failure(std::string_view text);
  bool on_row(std::string_view text, bool terminated);
  bool continue_row(std::string_view text);
  void begin_row(NcclTestsRow row, std::string_view rest, bool terminated);
  void close_pending();
  void add_row(const Fragment& fragment);
  NcclTestsSweep& sweep();
  void take_json();
  void adopt_json();

  static constexpr std::size_t kNever = static_cast<std::size_t>(-1);

  NcclTestsOutput output_;
  std::string partial_;    ///< the beginning of a line whose end has not come
  bool dropping_ = false;  ///< the rest of a line beyond kMaxLine
  Layout layout_;
  std::optional<Fragment> pending_;
  bool counts_without_header_ = false;
  std::size_t rows_seen_ = 0;
  JobSorter jobs_;
  int headers_ = 0;
  std::size_t rows_at_header_ = kNever;
  std::size_t rows_at_rank_0_ = kNever;
  std::optional<NcclTestsJsonCollector> json_;
  bool json_is_labelled_ = false;
  std::vector<NcclTestsOutput> documents_;
};

void NcclTestsParser::State::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    if (end == std::string_view::npos) {
      add_partial(bytes);
      return;
    }
    if (partial_.empty() && !dropping_) {
      on_line(bytes.substr(0, end), true);
    } else {
      add_partial(bytes.substr(0, end));
      on_line(partial_, true);
      partial_.clear();
      dropping_ = false;
    }
    bytes.remove_prefix(end + 1);
  }
}

void NcclTestsParser::State::add_partial(std::string_view piece) {
  if (dropping_) return;
  // JSON comes as one line, and its list of results may be long.
  constexpr std::size_t kLongestLabels = 400;
  const bool may_be_json =
      std::string_view(partial_).substr(0, kLongestLabels).find('{') != std::string_view::npos ||
      (partial_.size() < kLongestLabels && piece.substr(0, kLongestLabels).find('{') != std::string_view::npos);
  const std::size_t limit = may_be_json ? NcclTestsJsonCollector::kMaxBytes : kMaxLine;
  const std::size_t room = limit - std::min(limit, partial_.size());
  partial_ += piece.substr(0, room);
  dropping_ = piece.size() > room;
}

void NcclTestsParser::State::on_line(std::string_view raw, bool terminated) {
  raw = trim_right(raw);
  if (std::memchr(raw.data(), '\x1b', raw.size()) != nullptr && raw.size() <= kMaxLine) {
    const std::string clean = without_escapes(raw);
    on_clean_line(clean, terminated);
  } else {
    on_clean_line(raw, terminated);
  }
}

void NcclTestsParser::State::on_clean_line(std::string_view whole_line, bool terminated) {
  const auto [label, text] = strip_labels(whole_line);
  if (text.empty()) return;
  if (json_ && text.front() != '#') {
    // Without labels nothing may be taken off: a list of numbers looks like one.
    if (json_->feed(json_is_labelled_ ? text : whole_line)) take_json();
    return;
  }
  if (json_) take_json();  // no line of JSON begins so: the document was cut
  switch (text.front()) {
    case '#':
      on_comment(text, label);
      return;
    case '{':
      if (!NcclTestsJsonCollector::opens(text)) return;
      json_.emplace();
      json_is_labelled_ = !label.empty();
      if (json_->feed(text)) take_json();
      return;
    default:
      if (!on_row(text, terminated)) on_failure(text);
  }
}

NcclTestsSweep& NcclTestsParser::State::sweep() {
  if (output_.sweeps.empty()) output_.sweeps.emplace_back();
  return output_.sweeps.back();
}

void NcclTestsParser::State::note_job_start(std::size_t& rows_at_last_start) {
  if (rows_at_last_start == rows_seen_) output_.concurrent = true;
  rows_at_last_start = rows_seen_;
}

void NcclTestsParser::State::on_comment(std::string_view text, std::string_view label) {
  std::string_view rest = text.substr(1);
  const std::string_view body = trim_left(rest);
  if (body.starts_with("Rank")) {
    on_device(body, label);
  } else if (body.starts_with("nThread")) {
    on_settings(body);
  } else if (auto layout = read_header(body)) {
    close_pending();
    layout_ = *layout;
  } else {
    on_summary(body);
  }
}

/// `nThread 1 nGpus 2 minBytes 67108864 maxBytes 134217728 step: 2(factor) …`
void NcclTestsParser::State::on_settings(std::string_view rest) {
  close_pending();
  ++headers_;
  note_job_start(rows_at_header_);
  layout_ = Layout();
  if (output_.sweeps.size() < kMaxSweeps) output_.sweeps.emplace_back();
  NcclTestsSweep& current = sweep();
  while (true) {
    const std::string_view name = next_token(rest);
    if (name.empty()) return;
    if (name == "maxBytes") current.max_bytes = whole<std::uint64_t>(next_token(rest));
    if (name == "step:") {
      const std::string_view step = next_token(rest);
      const auto value = whole<std::uint64_t>(step.substr(0, step.find('(')));
      (step.ends_with("(factor)") ? current.step_factor : current.step_bytes) = value.value_or(0);
      return;
    }
  }
}

void NcclTestsParser::State::on_device(std::string_view rest, std::string_view label) {
  auto line = read_device_line(rest);
  if (!line) {
    jobs_.mark_cut();
    return;
  }
  if (line->device.rank == 0) note_job_start(rows_at_rank_0_);
  jobs_.add(std::move(*line), label);
}

/// The number after the colon of a closing line.
std::optional<double> number_after_colon(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view rest = text.substr(colon + 1);
  Value value;
  return take_value(next_token(rest), value) == Taken::whole && value.is_number ? std::optional(value.number)
                                                                                : std::nullopt;
}

void NcclTestsParser::State::on_summary(std::string_view text) {
  if (text.starts_with("Out of bounds values")) {
    const auto count = number_after_colon(text);
    if (!count) return;
    close_pending();
    ++output_.out_of_bounds_lines;
    output_.out_of_bounds += *count;
    sweep().closed = true;
  } else if (text.starts_with("Avg bus bandwidth")) {
    if (const auto average = number_after_colon(text); average && output_.average_busbw_gbps.size() < kMaxSweeps) {
      output_.average_busbw_gbps.push_back(*average);
    }
  } else if (text.starts_with("Collective test starting:")) {
    std::string_view rest = text.substr(text.find(':') + 1);
    const std::string_view path = next_token(rest);
    if (output_.programs.size() < kMaxSweeps) output_.programs.emplace_back(path.substr(path.rfind('/') + 1));
  } else if (text.starts_with("Reducing maxBytes to ")) {
    std::string_view rest = text.substr(std::strlen("Reducing maxBytes to "));
    if (const auto bytes = whole<std::uint64_t>(next_token(rest))) sweep().max_bytes = bytes;
  } else if (text.starts_with("error:")) {
    on_failure(text);
  }
}

/// Remembers nccl-tests' own words when it gives up: `node001: Test NCCL failure all_reduce.cu:44 'unhandled system
/// error …'`.
void NcclTestsParser::State::on_failure(std::string_view text) {
  if (!output_.first_failure.empty()) return;
  constexpr std::size_t kLongest = 400;
  const std::string_view head = text.substr(0, kLongest);
  constexpr std::array<std::string_view, 4> kMarks = {"Test NCCL failure", "Test CUDA failure", "Test failure",
                                                      "error: "};
  const bool is_failure =
      std::any_of(kMarks.begin(), kMarks.begin() + 3,
                  [&](std::string_view mark) { return head.find(mark) != std::string_view::npos; }) ||
      head.starts_with(kMarks[3]);
  if (!is_failure) return;
  output_.first_failure = head;
  // What starts now is another attempt, not a second job beside the first.
  rows_at_header_ = kNever;
  rows_at_rank_0_ = kNever;
}

bool NcclTestsParser::State::on_row(std::string_view text, bool terminated) {
  if (is_digit(text.front())) {
    std::string_view rest = text;
    if (auto row = read_row_head(rest)) {
      begin_row(std::move(*row), rest, terminated);
      return true;
    }
  }
  return continue_row(text);
}

void NcclTestsParser::State::begin_row(NcclTestsRow row, std::string_view rest, bool terminated) {
  close_pending();
  Fragment fragment;
  fragment.row = std::move(row);
  const bool uninterrupted = add_values(rest, fragment);
  fragment.cut_at_end = !uninterrupted && !terminated;
  switch (complete_row(fragment, layout_, /*accept_one_half=*/uninterrupted)) {
    case Completeness::complete:
      add_row(fragment);
      break;
    case Completeness::incomplete:
      pending_ = std::move(fragment);
      break;
    case Completeness::malformed:
      output_.cut_row = true;
      break;
  }
}

/// The rest of a row that another process wrote into.
bool NcclTestsParser::State::continue_row(std::string_view text) {
  if (!pending_ || pending_->cut_at_end) return false;
  Fragment joined = *pending_;
  const std::size_t before = joined.count;
  if (!add_values(text, joined) && joined.count == before) return false;
  const Completeness result = complete_row(joined, layout_, /*accept_one_half=*/false);
  if (result == Completeness::malformed) return false;
  if (result == Completeness::complete) {
    pending_.reset();
    add_row(joined);
  } else {
    pending_ = std::move(joined);
  }
  return true;
}

/// A row that will not be gone on with: as good as complete if its table may have one half only.
void NcclTestsParser::State::close_pending() {
  if (!pending_) return;
  Fragment fragment = std::move(*pending_);
  pending_.reset();
  if (!fragment.cut_at_end && complete_row(fragment, layout_, /*accept_one_half=*/true) == Completeness::complete) {
    add_row(fragment);
  } else {
    output_.cut_row = true;
  }
}

void NcclTestsParser::State::add_row(const Fragment& fragment) {
  ++rows_seen_;
  NcclTestsSweep& current = sweep();
  ++current.rows;
  current.largest_bytes = std::max(current.largest_bytes, fragment.row.bytes);
  if (fragment.row.error_column == ErrorColumn::unknown && layout_.has_error && prints_counts(fragment, layout_)) {
    counts_without_header_ = true;
  }
  if (output_.rows.size() >= NcclTestsOutput::kMaxRows) {
    output_.too_many_rows = true;
    return;
  }
  output_.rows.push_back(fragment.row);
}

void NcclTestsParser::State::take_json() {
  NcclTestsOutput document = json_->take();
  json_.reset();
  if (document.started_jobs > 0 && documents_.size() < kMaxSweeps) documents_.push_back(std::move(document));
}

/// Takes the JSON documents for the result when the text had no rows of its own.
void NcclTestsParser::State::adopt_json() {
  const bool keep_text_shape = !output_.jobs.empty() && documents_.size() <= output_.jobs.size();
  if (!keep_text_shape) {
    output_.jobs.clear();
    output_.started_jobs = std::max(output_.started_jobs, static_cast<int>(documents_.size()));
  }
  output_.sweeps.clear();
  for (NcclTestsOutput& document : documents_) {
    const auto append = [](auto& to, auto& from) {
      to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
    };
    append(output_.rows, document.rows);
    append(output_.sweeps, document.sweeps);
    append(output_.average_busbw_gbps, document.average_busbw_gbps);
    append(output_.programs, document.programs);
    if (!keep_text_shape) append(output_.jobs, document.jobs);
    output_.out_of_bounds_lines += document.out_of_bounds_lines;
    output_.out_of_bounds += document.out_of_bounds;
    output_.cut_row = output_.cut_row || document.cut_row;
    output_.too_many_rows = output_.too_many_rows || document.too_many_rows;
    if (output_.first_failure.empty()) output_.first_failure = document.first_failure;
  }
  if (output_.rows.size() > NcclTestsOutput::kMaxRows) {
    output_.rows.resize(NcclTestsOutput::kMaxRows);
    output_.too_many_rows = true;
  }
}

NcclTestsOutput NcclTestsParser::State::finish() {
  if (!partial_.empty()) on_line(partial_, false);
  if (json_) take_json();
  close_pending();
  for (NcclTestsRow& row : output_.rows) {
    if (row.error_column != ErrorColumn::unknown) continue;
    row.error_column = counts_without_header_ ? ErrorColumn::wrong_elements : ErrorColumn::rounding_error;
  }
  output_.started_jobs = std::max(headers_, jobs_.count());
  output_.concurrent = output_.concurrent || jobs_.labels_differ();
  output_.jobs = jobs_.take();
  if (output_.rows.empty() && !documents_.empty()) adopt_json();
  return std::move(output_);
}

NcclTestsParser::NcclTestsParser() : state_(std::make_unique<State>()) {}
NcclTestsParser::NcclTestsParser(NcclTestsParser&&) noexcept = default;
NcclTestsParser& NcclTestsParser::operator=(NcclTestsParser&&) noexcept = default;
NcclTestsParser::~NcclTestsParser() = default;

void NcclTestsParser::feed(std::string_view bytes) {
  state_->feed(bytes);
}
NcclTestsOutput NcclTestsParser::finish() {
  return state_->finish();
}

NcclTestsOutput parse_nccl_tests(std::string_view text) {
  NcclTestsParser parser;
  parser.feed(text);
  return parser.finish();
}

}  // namespace weft::probes
