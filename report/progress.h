#pragma once

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>

#include "bisect/run.h"

namespace weft::report {

/// What goes on, while it goes on: on a terminal one line that is rewritten in place (round, purpose, groups done,
/// slowest so far, elapsed); elsewhere one line at the end of each round, so that a log stays short. Has no clock:
/// whoever calls passes the seconds since the run began. Not thread safe. The stream outlives it.
class Progress {
 public:
  Progress(std::ostream& output, bool is_terminal, int width);
  ~Progress();  ///< finishes
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void begin_round(const bisect::Round& round, double elapsed_s);
  void probe_done(const probes::Measurement& measurement, double elapsed_s);
  /// Nothing happened, but time went by: keeps the live line's clock going.
  void tick(double elapsed_s);
  void end_round(const bisect::RoundResult& round, double elapsed_s);
  /// Takes the live line away, so that something else can be printed; the next call draws it again.
  void clear();
  /// Takes the live line away for good.
  void finish();

 private:
  void draw(double elapsed_s);

  std::ostream& output_;
  bool is_terminal_;
  std::size_t width_;
  bool drawn_ = false;
  int round_ = 0;
  std::string purpose_;
  std::size_t groups_ = 0;
  std::size_t done_ = 0;
  std::size_t not_ok_ = 0;
  std::optional<double> slowest_gbps_;
  std::string slowest_group_;
};

}  // namespace weft::report
