#include "probes/collective/nccl_tests_judgement.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "topology/hostlist.h"

namespace weft::probes {
namespace {

/// Why a log is not a measurement.
struct Objection {
  std::string kind;
  std::string reason;
};

std::string in_units(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.4g} {}", value, kUnits[unit]);
}

std::string plural(int count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

/// --- Which measure of a row counts ----------------------------------------------------------------------------

const NcclTestsTiming& judged_half(const NcclTestsRow& row) {
  return row.out_of_place ? *row.out_of_place : *row.in_place;
}

/// Two decimals are coarse for slow fabrics (0.02 GB/s): where size and time give a finer figure that rounds to what
/// was printed, it is used.
NcclTestsTiming refined(const NcclTestsRow& row) {
  constexpr double kFineEnoughGbps = 10;
  NcclTestsTiming timing = judged_half(row);
  if (timing.busbw_gbps >= kFineEnoughGbps || !(timing.time_us > 0)) return timing;
  const double algbw = static_cast<double>(row.bytes) / timing.time_us / 1e3;
  if (std::fabs(algbw - timing.algbw_gbps) > timing.resolution_gbps * 1.01) return timing;
  timing.algbw_gbps = algbw;
  return timing;
}

bool is_absurd(const NcclTestsTiming& timing) {
  const auto credible = [](double gbps) { return gbps >= 0 && gbps < kAbsurdGbps; };
  return !(timing.time_us >= 0) || std::isinf(timing.time_us) || !credible(timing.algbw_gbps) ||
         !credible(timing.busbw_gbps);
}

/// --- The shape of the job ---------------------------------------------------------------------------------------

std::string describe_jobs(const NcclTestsOutput& output) {
  std::set<int> sizes;
  for (const NcclTestsJob& job : output.jobs)
    sizes.insert(job.ranks);
  const std::string jobs = plural(output.started_jobs, "job");
  if (sizes.empty()) return jobs;
  const std::string ranks =
      sizes.size() == 1 ? plural(*sizes.begin(), "rank") : fmt::format("{} ranks", fmt::join(sizes, ", "));
  return fmt::format("{} of {}", jobs, ranks);
}

std::string describe_request(int ranks) {
  return ranks > 0 ? fmt::format("1 job of {} asked", ranks) : std::string("1 job at a time can be judged");
}

Objection split(const NcclTestsOutput& output, const NcclTestsRequest& request) {
  return {kSplitLaunch, fmt::format("{}, {}", describe_jobs(output), describe_request(request.ranks))};
}

/// The factor between the two bandwidths gives the number of ranks away: 2(n-1)/n for all_reduce, (n-1)/n for
/// all_gather, reduce_scatter and alltoall, 1 for broadcast and sendrecv.
bool ratio_fits(const NcclTestsTiming& timing, double factor) {
  const double rounding = timing.resolution_gbps * (1 + factor) * 1.01 + 1e-6 * timing.busbw_gbps;
  return std::fabs(timing.busbw_gbps - timing.algbw_gbps * factor) <= rounding;
}

/// The row that shows the factor best: the one with the largest figures.
const NcclTestsTiming* most_telling(const NcclTestsOutput& output) {
  const NcclTestsTiming* best = nullptr;
  for (const NcclTestsRow& row : output.rows) {
    const NcclTestsTiming& timing = judged_half(row);
    if (is_absurd(timing) || timing.algbw_gbps < 20 * timing.resolution_gbps) continue;
    if (best == nullptr || timing.algbw_gbps > best->algbw_gbps) best = &timing;
  }
  return best;
}

/// What the test that ran is called, as far as the log says it: "all_reduce" of "all_reduce_perf".
std::string program_op(const NcclTestsOutput& output) {
  if (output.programs.empty()) return "";
  const std::string& name = output.programs.front();
  return name.substr(0, name.rfind("_perf"));
}

/// Looks for another number of ranks than asked in the factor between the bandwidths; used where no full device list
/// tells.
std::optional<Objection> object_to_ratio(const NcclTestsOutput& output, const NcclTestsRequest& request) {
  const NcclTestsTiming* timing = most_telling(output);
  if (timing == nullptr || request.ranks < 2) return std::nullopt;
  const double n = request.ranks;
  const std::string program = program_op(output);
  const bool may_be_all_reduce = program.empty() || program == "all_reduce";
  const bool expects_all_reduce = may_be_all_reduce && request.op.value_or(Op::all_reduce) == Op::all_reduce;
  if (may_be_all_reduce && ratio_fits(*timing, 2 * (n - 1) / n)) return std::nullopt;
  if (program != "all_reduce" && ratio_fits(*timing, (n - 1) / n)) return std::nullopt;
  if (!expects_all_reduce && ratio_fits(*timing, 1)) return std::nullopt;
  const double ratio = timing->busbw_gbps / timing->algbw_gbps;
  const double shown = ratio >= 0.999 ? 2 / (2 - ratio) : 1 / (1 - ratio);
  if (!(shown > 0) || !(shown < 1e6)) return std::nullopt;
  return Objection{
      kSplitLaunch,
      fmt::format("bus bandwidth is {:.3g} of algorithm bandwidth, which is that of {:.0f} ranks; 1 job of {} asked",
                  ratio, shown, request.ranks)};
}

std::string host_label(std::string_view host) {
  std::string label(host.substr(0, host.find('.')));
  std::transform(label.begin(), label.end(), label.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return label;
}

bool is_address(std::string_view host) {
  return host.find(':') != std::string_view::npos ||
         std::all_of(host.begin(), host.end(), [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
}

std::vector<std::string> hosts_of(const NcclTestsJob& job) {
  std::vector<std::string> hosts;
  std::set<std::string_view> seen;
  for (const NcclTestsDevice& device : job.devices) {
    if (seen.insert(device.host).second) hosts.push_back(device.host);
  }
  return hosts;
}

std::optional<Objection> object_to_hosts(const NcclTestsJob& job, const std::vector<std::string>& asked) {
  if (asked.empty()) return std::nullopt;
  const std::vector<std::string> hosts = hosts_of(job);
  // Containers that all call themselves so: neither names nor their number say anything.
  if (std::find(hosts.begin(), hosts.end(), "localhost") != hosts.end()) return std::nullopt;
  if (job.complete && hosts.size() != asked.size()) {
    return Objection{kSplitLaunch,
                     fmt::format("ranks ran on {} ({}), {} asked", plural(static_cast<int>(hosts.size()), "host"),
                                 topology::fold_hostlist(hosts), asked.size())};
  }
  std::set<std::string> known;
  for (const std::string& host : asked) {
    if (is_address(host)) return std::nullopt;  // addresses cannot be compared with names
    known.insert(host_label(host));
  }
  std::vector<std::string> strangers;
  for (const std::string& host : hosts) {
    if (!known.contains(host_label(host))) strangers.push_back(host);
  }
  if (strangers.empty()) return std::nullopt;
  return Objection{kSplitLaunch, fmt::format("ranks ran on {}, which was not asked for; asked: {}",
                                             topology::fold_hostlist(strangers), topology::fold_hostlist(asked))};
}

std::optional<Objection> object_to_groups(const NcclTestsJob& job, const NcclTestsRequest& request) {
  std::set<int> groups;
  for (const NcclTestsDevice& device : job.devices)
    groups.insert(device.group);
  if (groups.size() < 2) return std::nullopt;
  return Objection{kSplitLaunch, fmt::format("{} ranks split into {} communicators (NCCL_TESTS_SPLIT_MASK), {}",
                                             job.ranks, groups.size(), describe_request(request.ranks))};
}

/// Two ranks at least, or there is no bus.
std::optional<Objection> object_to_single_rank(const NcclTestsOutput& output) {
  const Objection alone{"", "1 rank: bus bandwidth is undefined"};
  if (output.started_jobs > 1) return std::nullopt;
  if (!output.jobs.empty()) {
    const NcclTestsJob& job = output.jobs.front();
    return job.complete && job.ranks == 1 ? std::optional(alone) : std::nullopt;
  }
  const NcclTestsTiming* timing = most_telling(output);
  return timing != nullptr && timing->busbw_gbps == 0 ? std::optional(alone) : std::nullopt;
}

std::optional<Objection> object_to_shape(const NcclTestsOutput& output, const NcclTestsRequest& request) {
  if (output.concurrent && output.started_jobs > 1) return split(output, request);
  if (auto objection = object_to_single_rank(output)) return objection;
  bool listed = !output.jobs.empty();
  for (const NcclTestsJob& job : output.jobs) {
    listed = listed && job.complete;
    const bool wrong_count = job.complete ? job.ranks != request.ranks : job.ranks > request.ranks;
    if (request.ranks > 0 && wrong_count) return split(output, request);
    if (auto objection = object_to_groups(job, request)) return objection;
    if (auto objection = object_to_hosts(job, request.hosts)) return objection;
  }
  return listed ? std::nullopt : object_to_ratio(output, request);
}

/// --- The data ---------------------------------------------------------------------------------------------------

std::optional<Objection> object_to_data(const NcclTestsOutput& output) {
  double wrong = 0;
  std::set<std::uint64_t> sizes;
  std::string halves;
  const auto count = [&](const NcclTestsRow& row, const std::optional<NcclTestsTiming>& half, const char* name) {
    if (!half || !half->error || !(*half->error > 0)) return;
    wrong += *half->error;
    sizes.insert(row.bytes);
    if (halves.find(name) == std::string::npos) halves += halves.empty() ? name : fmt::format(" and {}", name);
  };
  for (const bool out_of_place : {true, false}) {
    for (const NcclTestsRow& row : output.rows) {
      if (row.error_column != ErrorColumn::wrong_elements) continue;
      out_of_place ? count(row, row.out_of_place, "out-of-place") : count(row, row.in_place, "in-place");
    }
  }
  const auto values = [](double number) { return fmt::format("{:.0f} wrong value{}", number, number == 1 ? "" : "s"); };
  if (!sizes.empty()) {
    const std::string more =
        sizes.size() > 1 ? fmt::format(" and {}", plural(static_cast<int>(sizes.size()) - 1, "larger size")) : "";
    return Objection{kWrongData, fmt::format("{} at {} B ({}){}, {}", values(wrong), *sizes.begin(),
                                             in_units(*sizes.begin()), more, halves)};
  }
  if (output.out_of_bounds > 0) return Objection{kWrongData, values(output.out_of_bounds) + " (out of bounds)"};
  return std::nullopt;
}

/// Whether anything was compared with what it should be.
bool was_verified(const NcclTestsOutput& output) {
  bool errors_printed = false;
  bool counted = false;
  for (const NcclTestsRow& row : output.rows) {
    for (const auto* half : {&row.out_of_place, &row.in_place}) {
      if (!*half || !(*half)->error) continue;
      errors_printed = true;
      counted = counted || row.error_column == ErrorColumn::wrong_elements;
    }
  }
  return counted || (errors_printed && output.out_of_bounds_lines > 0);
}

/// --- The numbers --------------------------------------------------------------------------------------------------

std::optional<Objection> object_to_numbers(const NcclTestsOutput& output) {
  const NcclTestsRow* worst = nullptr;
  const NcclTestsTiming* half_of_worst = nullptr;
  for (const NcclTestsRow& row : output.rows) {
    for (const auto* half : {&row.out_of_place, &row.in_place}) {
      if (!*half || !is_absurd(**half)) continue;
      if (worst != nullptr && worst->bytes >= row.bytes) continue;
      worst = &row;
      half_of_worst = &**half;
    }
  }
  if (worst == nullptr) return std::nullopt;
  return Objection{"", fmt::format("impossible numbers at {} B: {} us, algbw {} GB/s, busbw {} GB/s", worst->bytes,
                                   half_of_worst->time_us, half_of_worst->algbw_gbps, half_of_worst->busbw_gbps)};
}

std::optional<Objection> object_to_cut_sweep(const NcclTestsOutput& output) {
  constexpr double kRounding = 0.99;  // sizes are rounded down to multiples of the rank count
  for (const NcclTestsSweep& sweep : output.sweeps) {
    if (sweep.closed || !sweep.max_bytes) continue;
    const double largest = static_cast<double>(sweep.largest_bytes);
    const double next = sweep.step_factor > 1 ? largest * static_cast<double>(sweep.step_factor)
                                              : largest + static_cast<double>(sweep.step_bytes);
    if (sweep.rows == 0 || (next > largest && next <= kRounding * static_cast<double>(*sweep.max_bytes))) {
      return Objection{"", fmt::format("output ends at {} of the {} that were to be measured",
                                       in_units(sweep.largest_bytes), in_units(*sweep.max_bytes))};
    }
  }
  return std::nullopt;
}

std::vector<const NcclTestsRow*> largest_first(const NcclTestsOutput& output) {
  std::vector<const NcclTestsRow*> rows;
  for (const NcclTestsRow& row : output.rows) {
    if (row.bytes >= kSmallestJudgedBytes) rows.push_back(&row);
  }
  std::sort(rows.begin(), rows.end(), [](const NcclTestsRow* a, const NcclTestsRow* b) {
    const auto key = [](const NcclTestsRow* row) { return std::pair(row->bytes, judged_half(*row).busbw_gbps); };
    return key(a) > key(b);
  });
  return rows;
}

double finest_busbw(const NcclTestsRow& row, const NcclTestsRequest& request, int ranks) {
  const NcclTestsTiming printed = judged_half(row);
  const NcclTestsTiming fine = refined(row);
  const double factor = bus_factor(request.op.value_or(Op::all_reduce), ranks);
  if (fine.algbw_gbps == printed.algbw_gbps || factor <= 0) return printed.busbw_gbps;
  const double busbw = fine.algbw_gbps * factor;
  return std::fabs(busbw - printed.busbw_gbps) <= printed.resolution_gbps * 1.01 ? busbw : printed.busbw_gbps;
}

/// Median of what the rows of the largest size reached: the figure that smaller sizes must agree with.
double reference_busbw(const std::vector<const NcclTestsRow*>& rows, const NcclTestsRequest& request, int ranks) {
  std::vector<double> reached;
  for (const NcclTestsRow* row : rows) {
    if (row->bytes == rows.front()->bytes) reached.push_back(finest_busbw(*row, request, ranks));
  }
  return median_of(std::move(reached));
}

std::optional<Plateau> find_plateau(const NcclTestsOutput& output, const NcclTestsRequest& request, int ranks) {
  const std::vector<const NcclTestsRow*> rows = largest_first(output);
  if (rows.empty()) return std::nullopt;
  const double reference = reference_busbw(rows, request, ranks);
  std::vector<double> busbw;
  std::vector<double> algbw;
  std::vector<double> time_us;
  Plateau plateau{.largest_bytes = rows.front()->bytes};
  for (const NcclTestsRow* row : rows) {
    const double reached = finest_busbw(*row, request, ranks);
    const bool is_largest = row->bytes == plateau.largest_bytes;
    if (!is_largest && std::fabs(reached - reference) > kPlateauTolerance * reference) break;
    busbw.push_back(reached);
    algbw.push_back(refined(*row).algbw_gbps);
    if (is_largest) time_us.push_back(judged_half(*row).time_us);
    plateau.smallest_bytes = row->bytes;
  }
  const auto [slowest, fastest] = std::minmax_element(busbw.begin(), busbw.end());
  plateau.rows = static_cast<int>(busbw.size());
  plateau.spread_gbps = (*fastest - *slowest) / 2;
  plateau.busbw_gbps = median_of(busbw);
  plateau.algbw_gbps = median_of(algbw);
  plateau.time_s = median_of(time_us) / 1e6;
  return plateau;
}

/// Without closing lines and header nobody can say whether the largest sizes are there; a plateau of several sizes says
/// so.
std::optional<Objection> object_to_missing_end(const NcclTestsOutput& output, const Plateau& plateau) {
  if (output.out_of_bounds_lines > 0) return std::nullopt;
  const bool announced = std::any_of(output.sweeps.begin(), output.sweeps.end(),
                                     [](const NcclTestsSweep& sweep) { return sweep.max_bytes.has_value(); });
  if (announced) return std::nullopt;
  const bool several_sizes = std::any_of(output.rows.begin(), output.rows.end(),
                                         [&](const NcclTestsRow& row) { return row.bytes != plateau.largest_bytes; });
  const bool flat = plateau.smallest_bytes != plateau.largest_bytes;
  if (flat || (!several_sizes && !output.cut_row)) return std::nullopt;
  return Objection{"", fmt::format("output ends without its closing lines at {}, before the bandwidth levels off",
                                   in_units(plateau.largest_bytes))};
}

void add_notes(const NcclTestsOutput& output, NcclTestsJudgement& judgement) {
  if (!was_verified(output)) judgement.notes.emplace_back("data not verified");
  if (output.out_of_bounds_lines == 0) judgement.notes.emplace_back("closing lines missing: the output may be cut");
  if (!output.average_busbw_gbps.empty()) {
    judgement.notes.push_back(
        fmt::format("average over all sizes (not judged): {:.6g} GB/s", output.average_busbw_gbps.front()));
  }
}

NcclTestsJudgement refuse(NcclTestsJudgement judgement, Objection objection) {
  judgement.status = Status::refused;
  judgement.kind = std::move(objection.kind);
  judgement.reason = std::move(objection.reason);
  return judgement;
}

}  // namespace

NcclTestsJudgement judge(const NcclTestsOutput& output, const NcclTestsRequest& request) {
  NcclTestsJudgement judgement;
  if (!output.jobs.empty()) {
    judgement.hosts = hosts_of(output.jobs.front());
    if (output.jobs.front().complete) judgement.ranks = output.jobs.front().ranks;
  }
  const std::optional<Objection> wrong_data = object_to_data(output);
  if (auto objection = object_to_shape(output, request)) {
    if (wrong_data) judgement.notes.push_back(wrong_data->reason);
    return refuse(std::move(judgement), std::move(*objection));
  }
  if (output.rows.empty()) return refuse(std::move(judgement), {"", "0 result rows"});
  const int ranks = judgement.ranks > 0 ? judgement.ranks : request.ranks;
  judgement.plateau = find_plateau(output, request, ranks);
  if (wrong_data) {
    judgement.status = Status::corrupt;
    judgement.kind = wrong_data->kind;
    judgement.reason = wrong_data->reason;
    return judgement;
  }
  std::optional<Objection> objection = object_to_numbers(output);
  if (!objection && output.too_many_rows) {
    objection = Objection{"", fmt::format("more than {} result rows", NcclTestsOutput::kMaxRows)};
  }
  if (!objection) objection = object_to_cut_sweep(output);
  if (!objection && judgement.plateau) objection = object_to_missing_end(output, *judgement.plateau);
  if (!objection && judgement.plateau && !(judgement.plateau->busbw_gbps > 0)) {
    objection =
        Objection{"", fmt::format("bus bandwidth at {} is printed as 0", in_units(judgement.plateau->largest_bytes))};
  }
  if (objection) {
    judgement.plateau.reset();
    return refuse(std::move(judgement), std::move(*objection));
  }
  judgement.status = Status::ok;
  if (!judgement.plateau)
    judgement.notes.emplace_back("connectivity only: no message of 1 MiB or more, no bandwidth judged");
  add_notes(output, judgement);
  return judgement;
}

}  // namespace weft::probes
