#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "probes/collective/command_template.h"
#include "probes/collective/prober.h"

namespace weft::probes {

struct ExecOptions {
  CommandTemplate command;
  std::optional<CommandTemplate> rail_command;  ///< without it rails cannot be probed
  int max_concurrency = 16;                     ///< commands at once; further groups wait
  int gpus_per_node = 1;                        ///< the same as ProbeSpec's
  /// Where the output of probes that gave no measurement is kept, one file each, named in their reasons. Empty:
  /// nowhere.
  std::filesystem::path log_directory;
  /// Off where device lines name other hosts than the ones asked for on purpose (aliases): only their number is
  /// compared then.
  bool check_host_names = true;
};

/// Measures groups with the site's own command, which prints what nccl-tests print. Each group is one run of the
/// command with ProbeSpec::gpus_per_node ranks a node, or one rank a node in rail probes. The time limit of a probe is
/// StageTimeouts::run_s: what a command does in which stage cannot be seen from here.
///
/// Of each probe at most some hundred KiB of output are held, however much is printed. Only means are known, so
/// `iteration_s` stays empty.
class ExecProber : public Prober {
 public:
  /// Throws InputError when a program is missing or an option has no sense.
  explicit ExecProber(ExecOptions options);

  std::vector<Measurement> measure(std::span<const Group> groups, const ProbeSpec& spec,
                                   const std::atomic<bool>& cancel,
                                   const std::function<void(const Measurement&)>& on_done) override;

  std::string name() const override { return "exec"; }
  Scaling scaling() const override { return Scaling::unknown; }
  bool can_pin_rails() const override { return options_.rail_command.has_value(); }
  bool can_probe_single_nodes() const override { return options_.gpus_per_node > 1; }

 private:
  ExecOptions options_;
};

}  // namespace weft::probes
