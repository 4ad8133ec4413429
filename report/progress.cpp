#include "report/progress.h"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>

#include "report/printable.h"
#include "report/units.h"
#include "topology/hostlist.h"

namespace weft::report {
namespace {

constexpr const char* kEraseLine = "\r\x1b[K";

}  // namespace

Progress::Progress(std::ostream& output, bool is_terminal, int width)
    : output_(output), is_terminal_(is_terminal), width_(static_cast<std::size_t>(std::max(width, 20))) {}

Progress::~Progress() {
  clear();
}

void Progress::begin_round(const bisect::Round& round, double elapsed_s) {
  round_ = round.number;
  purpose_ = printable(round.purpose);
  groups_ = round.groups.size();
  done_ = 0;
  not_ok_ = 0;
  slowest_gbps_.reset();
  slowest_group_.clear();
  draw(elapsed_s);
}

void Progress::probe_done(const probes::Measurement& measurement, double elapsed_s) {
  ++done_;
  if (measurement.status != probes::Status::ok) {
    ++not_ok_;
  } else if (measurement.busbw_gbps > 0 && (!slowest_gbps_ || measurement.busbw_gbps < *slowest_gbps_)) {
    slowest_gbps_ = measurement.busbw_gbps;
    slowest_group_ = printable(topology::fold_hostlist(measurement.group.nodes));
    if (measurement.group.rail) slowest_group_ += fmt::format(" rail {}", *measurement.group.rail);
  }
  draw(elapsed_s);
}

void Progress::tick(double elapsed_s) {
  draw(elapsed_s);
}

void Progress::end_round(const bisect::RoundResult& round, double elapsed_s) {
  clear();
  if (is_terminal_) return;
  std::string line = fmt::format("round {} {}: {}", round_, purpose_,
                                 counted(static_cast<std::int64_t>(round.measurements.size()), "probe"));
  if (not_ok_ > 0) line += fmt::format(", {} without a figure", not_ok_);
  if (slowest_gbps_) line += fmt::format(", slowest {} ({})", format_bandwidth(*slowest_gbps_), slowest_group_);
  output_ << elided(line, width_)
          << fmt::format(", {}, {} in all\n", format_seconds(round.wall_s), format_seconds(elapsed_s)) << std::flush;
}

void Progress::clear() {
  if (!drawn_) return;
  output_ << kEraseLine << std::flush;
  drawn_ = false;
}

void Progress::finish() {
  clear();
  round_ = 0;
}

void Progress::draw(double elapsed_s) {
  if (!is_terminal_ || round_ == 0) return;
  std::string line = fmt::format("round {} {}  {}/{}", round_, purpose_, done_, groups_);
  if (not_ok_ > 0) line += fmt::format("  {} without a figure", not_ok_);
  if (slowest_gbps_) line += fmt::format("  slowest {} {}", format_bandwidth(*slowest_gbps_), slowest_group_);
  const std::string clock = "  " + format_seconds(elapsed_s);
  // One column is left free: a full line would make some terminals begin a new one.
  output_ << kEraseLine << elided(line, width_ - 1 - columns_of(clock)) << clock << std::flush;
  drawn_ = true;
}

}  // namespace weft::report
