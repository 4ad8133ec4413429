#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::probes {

/// What the last column of a half means. Before nccl-tests 2.13 it was the largest rounding error ("error", "res":
/// 2e-07 is healthy); since then it counts wrong elements ("#wrong": anything above 0 is corruption).
enum class ErrorColumn { unknown, rounding_error, wrong_elements };

/// One half (out-of-place or in-place) of a result row, as printed.
struct NcclTestsTiming {
  double time_us = 0;
  double algbw_gbps = 0;
  double busbw_gbps = 0;
  double resolution_gbps = 0;   ///< half a unit of the last printed place of the bandwidths
  std::optional<double> error;  ///< see ErrorColumn; none for N/A (not checked) and where there is no such column
  bool operator==(const NcclTestsTiming&) const = default;
};

struct NcclTestsRow {
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  std::string type;
  std::string redop;  ///< empty where the layout has none
  std::optional<int> root;
  std::optional<NcclTestsTiming> out_of_place;
  std::optional<NcclTestsTiming> in_place;
  ErrorColumn error_column = ErrorColumn::unknown;
  bool operator==(const NcclTestsRow&) const = default;
};

struct NcclTestsDevice {
  int rank = 0;
  int group = 0;     ///< NCCL_TESTS_SPLIT_MASK's colour: ranks of different groups are in different communicators
  std::string host;  ///< nccl-tests cuts the domain off
  bool operator==(const NcclTestsDevice&) const = default;
};

/// One job, known by its list of devices.
struct NcclTestsJob {
  std::vector<NcclTestsDevice> devices;  ///< by rank
  bool complete = true;  ///< false: ranks are missing from the list (nccl-tests cuts long ones; people cut logs)
  int ranks = 0;         ///< at least so many when the list is not complete
};

/// The sizes that one run of a test was to go through, and how far it came.
struct NcclTestsSweep {
  std::optional<std::uint64_t> max_bytes;  ///< from the header
  std::uint64_t step_factor = 0;           ///< 0 when sizes grow by step_bytes
  std::uint64_t step_bytes = 0;
  std::uint64_t largest_bytes = 0;  ///< of the rows seen
  std::size_t rows = 0;
  bool closed = false;  ///< its closing lines were seen
};

/// Everything that a log of nccl-tests says, from any number of runs in it. Nothing is judged here.
struct NcclTestsOutput {
  std::vector<NcclTestsRow> rows;
  std::vector<NcclTestsJob> jobs;
  int started_jobs = 0;     ///< headers or device lists, whichever are more: jobs without a device list are counted too
  bool concurrent = false;  ///< several jobs ran at once instead of one after the other
  std::vector<std::string> programs;  ///< `all_reduce_perf`; only newer versions say it
  std::vector<NcclTestsSweep> sweeps;
  int out_of_bounds_lines = 0;
  double out_of_bounds = 0;  ///< sum over those lines
  std::vector<double> average_busbw_gbps;
  bool cut_row = false;        ///< a row was begun and not ended
  bool too_many_rows = false;  ///< rows beyond kMaxRows were dropped
  std::string first_failure;   ///< nccl-tests' own first error message, such as "Test NCCL failure …"

  static constexpr std::size_t kMaxRows = 100'000;
  static constexpr std::size_t kMaxDevices = 1'000'000;
};

/// Reads the output of nccl-tests, of every layout since 2017, from text that holds other things too: launcher labels
/// (`0: `,
/// `[1,0]<stdout>:`, `[node001:123]`, `node001: `) and time stamps before the lines, NCCL INFO and other foreign lines
/// between and inside rows, CRLF, colours, several runs, an end in the middle of a line. Also reads the JSON that
/// nccl-tests writes with `-J FILE` (version 2 of that format), where it is found in the text; rows of the text, if
/// there are any, win over those of JSON, which repeats them. Never fails and never throws on any input; memory is
/// bounded by the limits above, not by the input.
///
/// Sources: NVIDIA/nccl-tests src/common.cu and src/util.cu (2.0 to 2.17), and logs in the wild.
class NcclTestsParser {
 public:
  NcclTestsParser();
  NcclTestsParser(NcclTestsParser&&) noexcept;
  NcclTestsParser& operator=(NcclTestsParser&&) noexcept;
  ~NcclTestsParser();

  /// The next bytes, cut anywhere.
  void feed(std::string_view bytes);
  /// What was read; call once, at the end.
  NcclTestsOutput finish();

 private:
  class State;
  std::unique_ptr<State> state_;
};

NcclTestsOutput parse_nccl_tests(std::string_view text);

}  // namespace weft::probes
