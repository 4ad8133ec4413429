#include "report/advice.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "topology/hostlist.h"

namespace weft::report {
namespace {

using bisect::Culprit;
using bisect::CulpritKind;

/// Of one kind: as many as a line holds, and how many more.
std::string subject_of(const std::vector<const Culprit*>& culprits) {
  constexpr std::size_t kNamed = 6;
  if (!culprits.front()->node.empty() && culprits.front()->kind != CulpritKind::rail) {
    std::vector<std::string> nodes;
    for (const Culprit* culprit : culprits)
      nodes.push_back(culprit->node);
    return topology::fold_hostlist(nodes);
  }
  std::vector<std::string> names;
  for (const Culprit* culprit : culprits)
    names.push_back(describe(*culprit));
  const std::size_t more = names.size() > kNamed ? names.size() - kNamed : 0;
  names.resize(names.size() - more);
  return fmt::format("{}{}", fmt::join(names, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

bool wants_draining(CulpritKind kind) {
  return kind == CulpritKind::node || kind == CulpritKind::crash || kind == CulpritKind::hang ||
         kind == CulpritKind::corrupt;
}

std::string drain_command(const std::string& nodes, std::int64_t run) {
  return fmt::format("scontrol update nodename={} state=drain reason={}", shell_quoted(nodes),
                     run > 0 ? fmt::format("'weft run {}'", run) : "weft");
}

constexpr const char* kDrain = "Take it out of service; under Slurm:";

std::vector<std::string> steps_for(CulpritKind kind) {
  switch (kind) {
    case CulpritKind::node:
      return {kDrain,
              "Look at its GPUs' clocks and throttle reasons (nvidia-smi -q -d CLOCK,PERFORMANCE,ECC), at the PCIe "
              "width and "
              "speed of GPUs and NICs (lspci -vv, LnkSta), and at what else runs there."};
    case CulpritKind::rail:
      return {"Look at that NIC's port: state, speed, width and error counters (ibstat, mlxlink, ethtool -S).",
              "Reseat, then change, the cable and its optics; measure again after each step."};
    case CulpritKind::leaf:
      return {
          "Look at the switch that serves that rail of the unit: ports that are down or slow, error counters, "
          "temperature, firmware. Every node of the unit waits for it; none of them is to blame."};
    case CulpritKind::uplink:
      return {
          "Look at the links from that leaf to the spines: one that is down, lost lanes, uneven load (hashing, "
          "adaptive routing). No node is to blame.",
          "Until then, keep jobs inside the unit."};
    case CulpritKind::path:
      return {
          "The way between the two units is slow; whose uplink it is takes a third unit to tell. Look at the "
          "leaf-to-spine "
          "links of both."};
    case CulpritKind::pair:
      return {
          "Each is well with others, and they are slow together: look at the route between them (hash collision, one "
          "bad spine "
          "port) and at settings in which the two differ.",
          "Until then, keep them out of one job."};
    case CulpritKind::scale:
      return {
          "No node is to blame: the size is. Look at limits of the launching host (ulimit -n, sshd's MaxStartups), at "
          "neighbour tables (net.ipv4.neigh.default.gc_thresh3), and at the fabric's routing and buffers at that size.",
          "Until then, run jobs below that size."};
    case CulpritKind::crash:
      return {
          kDrain,
          "Read what its probes said, below, then the kernel log there (dmesg: Xid, PCIe and out-of-memory lines)."};
    case CulpritKind::hang:
      return {kDrain, "Read the kernel log there (dmesg: Xid, hung tasks), and see whether nvidia-smi still answers."};
    case CulpritKind::corrupt:
      return {"Take it out of service at once: results of jobs that ran there are in doubt. Under Slurm:",
              "Run the vendor's memory and GPU diagnostics (dcgmi diag -r 3)."};
    case CulpritKind::unreachable:
      return {
          "See whether it is up and takes logins from this host; then measure again, or leave it out with --exclude."};
  }
  return {};
}

constexpr std::array<std::string_view, 4> kNodeFlags{"--hosts", "--hostfile", "--exclude", "--nodes"};

/// The words of a command line that do not choose nodes.
std::vector<std::string> without_nodes(const std::vector<std::string>& command_line) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < command_line.size(); ++i) {
    const std::string_view word = command_line[i];
    if (std::ranges::find(kNodeFlags, word) != kNodeFlags.end()) {
      ++i;  // its value
      continue;
    }
    if (std::ranges::find(kNodeFlags, word.substr(0, word.find('='))) == kNodeFlags.end())
      words.push_back(command_line[i]);
  }
  return words;
}

}  // namespace

std::string shell_quoted(const std::string& word) {
  constexpr std::string_view kSafe = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
  if (!word.empty() && word.find_first_not_of(kSafe) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char byte : word)
    quoted += byte == '\'' ? std::string("'\\''") : std::string(1, byte);
  return quoted + "'";
}

std::vector<Advice> advice_for(const bisect::RunResult& run) {
  std::vector<CulpritKind> order;
  std::map<CulpritKind, std::vector<const Culprit*>> by_kind;
  for (const Culprit& culprit : run.verdict.culprits) {
    if (!by_kind.contains(culprit.kind)) order.push_back(culprit.kind);
    by_kind[culprit.kind].push_back(&culprit);
  }
  std::vector<Advice> advice;
  for (const CulpritKind kind : order) {
    const std::string subject = subject_of(by_kind[kind]);
    advice.push_back(
        {subject, steps_for(kind), wants_draining(kind) ? drain_command(subject, run.info.id) : std::string()});
  }
  return advice;
}

std::string next_probe_command(const bisect::RunInfo& info, const probes::Group& group) {
  std::vector<std::string> words = {"weft", "bisect"};
  if (info.command_line.size() > 1 && info.command_line[1] == "bisect") {
    words = without_nodes(info.command_line);
  } else if (!info.fabric_file.empty()) {
    words.insert(words.end(), {"--fabric", info.fabric_file});
  }
  words.insert(words.begin() + 2, {"--hosts", topology::fold_hostlist(group.nodes)});
  for (std::string& word : words)
    word = shell_quoted(word);
  return fmt::format("{}", fmt::join(words, " "));
}

}  // namespace weft::report
