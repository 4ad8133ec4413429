#include "probes/collective/measurement_files.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <numeric>
#include <set>
#include <system_error>
#include <tuple>
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

constexpr std::size_t kMostBytes = std::size_t{64} << 20;
constexpr std::size_t kMostFiles = 100'000;

/// The marks of nccl-tests that no table has. Its rows may look like hosts and a bandwidth, so this is asked first.
bool is_nccl_tests_log(const NcclTestsOutput& output) {
  return !output.jobs.empty() || !output.rows.empty();
}

/// A log that ended before its first row.
bool is_broken_log(const NcclTestsOutput& output) {
  return output.started_jobs > 0 || output.cut_row || !output.first_failure.empty();
}

std::string left_out(const std::string& file, const std::string& reason) {
  std::string_view sentence = reason;
  while (sentence.ends_with('.'))
    sentence.remove_suffix(1);
  return fmt::format("{}: left out: {}.", file, sentence);
}

/// The text of each job: a header of nccl-tests begins one.
std::vector<std::string_view> jobs_in(std::string_view text) {
  constexpr std::string_view kHeader = "# nThread";
  std::vector<std::string_view> jobs;
  std::size_t begin = 0;
  for (auto next = text.find(kHeader); next != std::string_view::npos;) {
    next = text.find(kHeader, next + kHeader.size());
    const auto end = next == std::string_view::npos ? text.size() : text.rfind('\n', next) + 1;
    jobs.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return jobs;
}

bool are_of_different_hosts(const std::vector<NcclTestsJob>& jobs) {
  const auto hosts = [](const NcclTestsJob& job) {
    std::set<std::string_view> names;
    for (const NcclTestsDevice& device : job.devices)
      names.insert(device.host);
    return names;
  };
  return std::any_of(jobs.begin(), jobs.end(),
                     [&](const NcclTestsJob& job) { return hosts(job) != hosts(jobs.front()); });
}

/// One job's measurement into `table`, or a note why it is none. `name` is how notes call the job.
void add_job(const NcclTestsOutput& output, const std::string& name, MeasurementTable& table) {
  NcclTestsJudgement judgement = judge(output, {});
  std::string objection;
  if (judgement.status == Status::refused) {
    objection = judgement.reason;
  } else if (judgement.status == Status::ok && !judgement.plateau) {
    objection = "small messages only, no bandwidth to judge";
  } else if (judgement.hosts.empty()) {
    objection = "it does not name its hosts";
  } else if (output.jobs.size() > 1 && are_of_different_hosts(output.jobs)) {
    objection = "jobs over different hosts that cannot be told apart";
  }
  if (!objection.empty()) {
    table.notes.push_back(left_out(name, objection));
    return;
  }
  Measurement measurement;
  measurement.group.nodes = topology::without_repeats(std::move(judgement.hosts));
  measurement.status = judgement.status;
  measurement.reason = std::move(judgement.reason);
  measurement.ranks = judgement.ranks;
  measurement.notes = std::move(judgement.notes);
  measurement.finding_kind = std::move(judgement.kind);
  if (judgement.plateau && measurement.status == Status::ok) {
    measurement.bytes = judgement.plateau->largest_bytes;
    measurement.time_s = judgement.plateau->time_s;
    measurement.busbw_gbps = judgement.plateau->busbw_gbps;
    measurement.algbw_gbps = judgement.plateau->algbw_gbps;
  }
  table.nodes.insert(table.nodes.end(), measurement.group.nodes.begin(), measurement.group.nodes.end());
  table.measurements.push_back(std::move(measurement));
  table.rounds.push_back(0);
}

/// Jobs that ran one after the other, as a loop over pairs writes them, are a measurement each.
MeasurementTable from_log(std::string_view text, const NcclTestsOutput& output, const std::string& file) {
  MeasurementTable table;
  const std::vector<std::string_view> jobs = jobs_in(text);
  const bool one_after_the_other = !output.concurrent && jobs.size() > 1 &&
                                   jobs.size() == static_cast<std::size_t>(std::max(0, output.started_jobs));
  if (!one_after_the_other) {
    add_job(output, file, table);
    return table;
  }
  for (std::size_t i = 0; i < jobs.size(); ++i)
    add_job(parse_nccl_tests(jobs[i]), fmt::format("{}: job {}", file, i + 1), table);
  return table;
}

struct Source {
  std::string path;
  bool in_folder = false;  ///< somebody else's choice: what it holds may be anything
};

/// The files of a folder that are not hidden.
std::vector<Source> files_in(const std::string& folder) {
  std::error_code error;
  std::vector<Source> files;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code no_file;
    if (entry->path().filename().string().starts_with('.') || !entry->is_regular_file(no_file)) continue;
    files.push_back({entry->path().string(), true});
    if (files.size() > kMostFiles) {
      throw InputError({"the folder holds too many files", folder, fmt::format("at most {}", kMostFiles), ""});
    }
  }
  if (error) throw InputError({error.message(), folder, "a folder that can be read", ""});
  if (files.empty()) throw InputError({"the folder has no files", folder, "tables, or logs of nccl-tests", ""});
  return files;
}

/// Every file once, in the order of their names.
std::vector<Source> sources_of(const std::vector<std::string>& paths) {
  std::vector<Source> sources;
  for (const std::string& path : paths) {
    std::error_code error;
    if (path != "-" && fs::is_directory(path, error)) {
      std::vector<Source> files = files_in(path);
      std::move(files.begin(), files.end(), std::back_inserter(sources));
    } else {
      sources.push_back({path, false});
    }
  }
  // A file that was named comes before the same one found in a folder.
  std::sort(sources.begin(), sources.end(), [](const Source& a, const Source& b) {
    return std::tie(a.in_folder, a.path) < std::tie(b.in_folder, b.path);
  });
  std::set<std::string> known;
  std::erase_if(sources, [&](const Source& source) {
    std::error_code error;
    const fs::path canonical = fs::canonical(source.path, error);
    return !known.insert(error ? source.path : canonical.string()).second;
  });
  return sources;
}

MeasurementTable read(const Source& source) {
  const bool is_stdin = source.path == "-";
  const std::string name = is_stdin ? "standard input" : source.path;
  const std::string text =
      is_stdin ? topology::read_text(std::cin, name, kMostBytes) : topology::read_text_file(source.path, kMostBytes);
  const NcclTestsOutput output = parse_nccl_tests(text);
  if (is_nccl_tests_log(output)) return from_log(text, output, name);
  if (begins_as_table(text)) return parse_measurement_table(text, name);
  if (is_broken_log(output)) return from_log(text, output, name);
  if (!source.in_folder) return parse_measurement_table(text, name);  // which says what is wrong with it
  MeasurementTable table;
  table.notes.push_back(left_out(name, "neither a table of measurements nor a log of nccl-tests"));
  return table;
}

void append(MeasurementTable& all, MeasurementTable more) {
  std::move(more.nodes.begin(), more.nodes.end(), std::back_inserter(all.nodes));
  std::move(more.measurements.begin(), more.measurements.end(), std::back_inserter(all.measurements));
  std::move(more.notes.begin(), more.notes.end(), std::back_inserter(all.notes));
  const std::size_t before = all.rounds.size();
  all.rounds.insert(all.rounds.end(), more.rounds.begin(), more.rounds.end());
  for (auto& [name, values] : more.properties) {
    all.properties[name].resize(before, false);
    all.properties[name].insert(all.properties[name].end(), values.begin(), values.end());
  }
  for (auto& [name, values] : all.properties)
    values.resize(all.rounds.size(), false);
}

void sort_and_drop_repeats(std::vector<std::string>& names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

/// What was measured does not depend on the order in which it was written down, and neither must what follows from it.
void put_in_order(MeasurementTable& table) {
  sort_and_drop_repeats(table.nodes);
  sort_and_drop_repeats(table.notes);
  const auto key = [&](std::size_t i) {
    const Measurement& m = table.measurements[i];
    return std::tie(table.rounds[i], m.group.nodes, m.group.rail, m.bytes, m.ranks, m.status, m.busbw_gbps, m.reason);
  };
  const auto properties_of = [&](std::size_t i) {
    std::vector<bool> values;
    for (const auto& [name, of_all] : table.properties)
      values.push_back(of_all[i]);
    return values;
  };
  std::vector<std::size_t> order(table.measurements.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
    if (key(i) != key(j)) return key(i) < key(j);
    return properties_of(i) < properties_of(j);
  });
  MeasurementTable sorted;
  sorted.nodes = std::move(table.nodes);
  sorted.notes = std::move(table.notes);
  for (std::size_t i : order) {
    sorted.rounds.push_back(table.rounds[i]);
    for (const auto& [name, values] : table.properties)
      sorted.properties[name].push_back(values[i]);
    sorted.measurements.push_back(std::move(table.measurements[i]));
  }
  table = std::move(sorted);
}

}  // namespace

MeasurementTable load_measurements(const std::vector<std::string>& paths) {
  MeasurementTable all;
  std::size_t members = 0;
  for (const Source& source : sources_of(paths)) {
    MeasurementTable table = read(source);
    for (const Measurement& measurement : table.measurements)
      members += measurement.group.nodes.size();
    if (all.measurements.size() + table.measurements.size() > kMostTableRows || members > kMostTableMembers) {
      throw InputError({"too many measurements in all files together", source.path,
                        fmt::format("at most {} with {} members", kMostTableRows, kMostTableMembers), ""});
    }
    append(all, std::move(table));
  }
  put_in_order(all);
  return all;
}

}  // namespace weft::probes
