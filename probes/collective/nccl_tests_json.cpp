#include "probes/collective/nccl_tests_json.h"

#include <algorithm>
#include <charconv>

#include <nlohmann/json.hpp>

namespace weft::probes {
namespace {

using nlohmann::json;

/// The resolution of printf's %lf.
constexpr double kJsonResolutionGbps = 5e-7;

const json* member(const json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

/// Numbers, and the strings that nccl-tests writes for some of them ("nan", "    -1").
std::optional<double> number(const json* value) {
  if (value == nullptr) return std::nullopt;
  if (value->is_number()) return value->get<double>();
  if (!value->is_string()) return std::nullopt;
  const std::string& text = value->get_ref<const std::string&>();
  const char* begin = text.data() + std::min(text.find_first_not_of(' '), text.size());
  double parsed = 0;
  const auto result = std::from_chars(begin, text.data() + text.size(), parsed);
  if (result.ec != std::errc()) return std::nullopt;
  return parsed;
}

std::uint64_t whole_number(const json* value) {
  if (value == nullptr) return 0;
  const double parsed = number(value).value_or(0);
  if (!(parsed >= 0) || parsed > 1e18) return 0;
  if (value->is_number_unsigned()) return value->get<std::uint64_t>();
  return static_cast<std::uint64_t>(parsed);
}

int small_number(const json* value, int fallback) {
  const double parsed = number(value).value_or(fallback);
  return parsed >= -1e9 && parsed <= 1e9 ? static_cast<int>(parsed) : fallback;
}

std::string text(const json* value) {
  return value != nullptr && value->is_string() ? value->get<std::string>() : "";
}

std::optional<NcclTestsTiming> read_timing(const json* half) {
  if (half == nullptr) return std::nullopt;
  const json* time = member(*half, "time");
  const auto time_us = number(time != nullptr ? time : member(*half, "cpu_time"));
  const auto algbw = number(member(*half, "alg_bw"));
  const auto busbw = number(member(*half, "bus_bw"));
  if (!time_us || !algbw || !busbw) return std::nullopt;
  return NcclTestsTiming{.time_us = *time_us,
                         .algbw_gbps = *algbw,
                         .busbw_gbps = *busbw,
                         .resolution_gbps = kJsonResolutionGbps,
                         .error = number(member(*half, "nwrong"))};
}

void read_rows(const json& document, NcclTestsOutput& output) {
  NcclTestsSweep& sweep = output.sweeps.back();
  const json* results = member(document, "results");
  if (results == nullptr || !results->is_array()) return;
  for (const json& result : *results) {
    NcclTestsRow row;
    row.bytes = whole_number(member(result, "size"));
    row.count = whole_number(member(result, "count"));
    row.type = text(member(result, "type"));
    row.redop = text(member(result, "redop"));
    if (const json* root = member(result, "root")) row.root = small_number(root, -1);
    row.out_of_place = read_timing(member(result, "out_of_place"));
    row.in_place = read_timing(member(result, "in_place"));
    row.error_column = ErrorColumn::wrong_elements;
    if (!row.out_of_place && !row.in_place) {
      output.cut_row = true;
      continue;
    }
    sweep.largest_bytes = std::max(sweep.largest_bytes, row.bytes);
    ++sweep.rows;
    if (output.rows.size() < NcclTestsOutput::kMaxRows) {
      output.rows.push_back(std::move(row));
    } else {
      output.too_many_rows = true;
    }
  }
}

/// nccl-tests lists only the first device of every process there; the others follow from the configuration.
void read_job(const json& config, NcclTestsOutput& output) {
  const json* devices = member(config, "devices");
  if (devices == nullptr || !devices->is_array() || devices->empty()) return;
  NcclTestsJob job;
  for (const json& device : *devices) {
    job.devices.push_back({.rank = small_number(member(device, "rank"), 0),
                           .group = small_number(member(device, "group"), 0),
                           .host = text(member(device, "hostname"))});
  }
  const int per_process = std::clamp(small_number(member(config, "nthreads"), 1), 1, 1024) *
                          std::clamp(small_number(member(config, "ngpus"), 1), 1, 1024);
  job.ranks = static_cast<int>(std::min(job.devices.size(), NcclTestsOutput::kMaxDevices / 1024)) * per_process;
  output.jobs.push_back(std::move(job));
}

void read_summary(const json& document, NcclTestsOutput& output) {
  if (const json* bounds = member(document, "out_of_bounds")) {
    ++output.out_of_bounds_lines;
    output.out_of_bounds += number(member(*bounds, "count")).value_or(0);
    output.sweeps.back().closed = true;
  }
  if (const json* average = member(document, "average_bus_bandwidth")) {
    if (const auto bandwidth = number(member(*average, "bandwidth"))) output.average_busbw_gbps.push_back(*bandwidth);
  }
  if (const json* errors = member(document, "errors"); errors != nullptr && errors->is_array() && !errors->empty()) {
    output.first_failure = text(&errors->front());
  }
}

std::string program_name(const json* arguments) {
  if (arguments == nullptr || !arguments->is_array() || arguments->empty()) return "";
  const std::string path = text(&arguments->front());
  return path.substr(path.rfind('/') + 1);
}

NcclTestsOutput read_document(const json& document) {
  NcclTestsOutput output;
  if (member(document, "results") == nullptr) return output;
  output.started_jobs = 1;
  NcclTestsSweep sweep;
  if (const json* config = member(document, "config")) {
    if (const json* maximum = member(*config, "maximum_bytes")) sweep.max_bytes = whole_number(maximum);
    if (const json* factor = member(*config, "step_factor")) sweep.step_factor = whole_number(factor);
    if (const json* bytes = member(*config, "step_bytes")) sweep.step_bytes = whole_number(bytes);
    read_job(*config, output);
  }
  output.sweeps.push_back(sweep);
  if (std::string program = program_name(member(document, "args")); !program.empty()) {
    output.programs.push_back(std::move(program));
  }
  read_rows(document, output);
  read_summary(document, output);
  return output;
}

}  // namespace

bool NcclTestsJsonCollector::opens(std::string_view line) {
  if (line.empty() || line.front() != '{') return false;
  line.remove_prefix(1);
  const std::size_t next = line.find_first_not_of(" \t");
  if (next == std::string_view::npos) return true;
  return line.substr(next).starts_with("\"version\"");
}

void NcclTestsJsonCollector::feed_structure(char byte) {
  if (byte == '"') in_string_ = true;
  if (byte == '{' || byte == '[') open_.push_back(byte);
  if ((byte == '}' || byte == ']') && !open_.empty()) {
    open_.pop_back();
    if (byte == '}' && open_.size() == 2) last_row_end_ = text_.size() + 1;
  }
  // printf writes infinity as a bare word, which is no JSON.
  if (byte == 'i' && !text_.empty() && text_.back() == '-') text_.pop_back();
  if (byte == 'i') text_ += '"';
  text_ += byte;
  if (byte == 'f' && text_.ends_with("\"inf")) text_ += '"';
}

bool NcclTestsJsonCollector::feed(std::string_view line) {
  for (const char byte : line) {
    if (!in_string_) {
      feed_structure(byte);
      if (open_.empty()) return true;
      continue;
    }
    text_ += byte;
    if (!escaped_ && byte == '"') in_string_ = false;
    escaped_ = !escaped_ && byte == '\\';
  }
  text_ += '\n';
  return text_.size() > kMaxBytes;
}

NcclTestsOutput NcclTestsJsonCollector::take() {
  const bool cut = !open_.empty();
  // Everything up to the last complete row is well formed once list and document are closed.
  std::string document = cut ? text_.substr(0, last_row_end_) + "]}" : text_;
  *this = NcclTestsJsonCollector();
  const json parsed = json::parse(document, nullptr, /*allow_exceptions=*/false);
  if (parsed.is_discarded()) return {};
  NcclTestsOutput output = read_document(parsed);
  output.cut_row = output.cut_row || (cut && output.started_jobs > 0);
  return output;
}

}  // namespace weft::probes
