#include "probes/collective/launcher_faults.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace weft::probes {
namespace {

struct Crash {
  int rank = -1;
  std::string_view node;
  std::string what;
};

/// What stands after `mark`; none when `text` does not hold it.
std::optional<std::string_view> after(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  return text.substr(at + mark.size());
}

std::optional<int> leading_number(std::string_view text) {
  int number = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc()) return std::nullopt;
  return number;
}

std::string_view word(std::string_view text) {
  return text.substr(0, text.find_first_of(" \t\r"));
}

/// mpirun noticed that process rank 3 with PID 811 on node node003 exited on signal 11 (Segmentation fault).
std::optional<Crash> read_mpirun(std::string_view line) {
  const auto rank_text = after(line, "process rank ");
  if (!rank_text) return std::nullopt;
  const auto node_text = after(*rank_text, " on node ");
  const auto signal_text = after(*rank_text, "exited on signal ");
  if (!node_text || !signal_text) return std::nullopt;
  const auto signal = leading_number(*signal_text);
  constexpr std::array<int, 3> kOfOthers = {2, 9, 15};  // sent by somebody, not raised by a crash
  if (!signal || std::find(kOfOthers.begin(), kOfOthers.end(), *signal) != kOfOthers.end()) return std::nullopt;
  std::string_view what = *signal_text;
  what = what.substr(0, std::min(what.find(')'), what.size() - 1) + 1);
  return Crash{leading_number(*rank_text).value_or(-1), word(*node_text), fmt::format("killed by signal {}", what)};
}

/// srun: error: node003: task 3: Segmentation fault (core dumped)
std::optional<Crash> read_srun(std::string_view line) {
  constexpr std::array<std::string_view, 6> kCrashes = {
      "Segmentation fault", "Bus error", "Aborted", "Illegal instruction", "Floating point exception", "Out Of Memory"};
  const auto node_text = after(line, "srun: error: ");
  if (!node_text) return std::nullopt;
  const std::size_t colon = node_text->find(": task");
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view task = node_text->substr(colon);
  for (const std::string_view crash : kCrashes) {
    if (task.find(crash) == std::string_view::npos) continue;
    const std::size_t digits = task.find_first_of("0123456789");
    const int rank = digits == std::string_view::npos ? -1 : leading_number(task.substr(digits)).value_or(-1);
    return Crash{rank, node_text->substr(0, colon), std::string(crash)};
  }
  return std::nullopt;
}

bool same_host(std::string_view a, std::string_view b) {
  a = a.substr(0, a.find('.'));
  b = b.substr(0, b.find('.'));
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

std::vector<NodeFault> launcher_faults(std::string_view log, std::span<const std::string> nodes) {
  std::vector<NodeFault> faults;
  while (!log.empty()) {
    const std::size_t end = std::min(log.find('\n'), log.size());
    const std::string_view line = log.substr(0, end);
    log.remove_prefix(std::min(end + 1, log.size()));
    std::optional<Crash> crash = read_mpirun(line);
    if (!crash) crash = read_srun(line);
    if (!crash) continue;
    const auto node =
        std::find_if(nodes.begin(), nodes.end(), [&](const std::string& name) { return same_host(name, crash->node); });
    if (node == nodes.end()) continue;
    const bool known =
        std::any_of(faults.begin(), faults.end(), [&](const NodeFault& fault) { return fault.node == *node; });
    if (!known) faults.push_back({.node = *node, .rank = crash->rank, .stage = Stage::run, .what = crash->what});
  }
  return faults;
}

}  // namespace weft::probes
