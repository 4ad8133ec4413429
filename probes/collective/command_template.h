#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::probes {

/// What a command template's placeholders stand for in one probe.
struct CommandValues {
  std::vector<std::string> hosts;
  std::string hostfile;  ///< path of a file with one host a line
  int gpus_per_node = 1;
  int ranks = 1;
  std::optional<int> rail;
  std::uint64_t bytes = 0;
};

/// A site's own command with placeholders for the nodes to run on:
///
///     mpirun -np {np} -H {hosts} --map-by ppr:{gpus_per_node}:node all_reduce_perf -b {bytes} -e {bytes}
///
/// `{hosts}` comma list, `{hostlist}` folded, `{hostfile}` path, `{nhosts}`, `{gpus_per_node}`, `{np}` ranks,
/// `{bytes}`, and
/// `{rail}` in the template for rails. `{{` and `}}` are braces. Words are split as a shell does (blanks, '…', "…",
/// backslash), but before placeholders are filled in and by us: no shell ever sees the text, and a value, whatever it
/// holds, is always one argument or part of one.
class CommandTemplate {
 public:
  enum class Use { nodes, rail };

  /// Throws InputError (with `origin` and column, from 1) for an unknown placeholder, unbalanced quotes or braces, a
  /// template that names no hosts, `{rail}` in a template for nodes or its absence in one for rails, and for what only
  /// a shell could do (pipes, redirections, variables).
  CommandTemplate(std::string_view text, Use use, std::string_view origin = "--command");

  std::vector<std::string> expand(const CommandValues& values) const;

  /// Throws InputError when the program is not in PATH or may not be executed.
  void require_program() const;

  bool uses_hostfile() const;
  const std::string& text() const { return text_; }

 private:
  /// A placeholder, or literal text when `is_placeholder` is false.
  struct Piece {
    std::string text;
    bool is_placeholder = false;
  };
  using Word = std::vector<Piece>;
  class Parser;

  bool uses(std::string_view placeholder) const;

  std::string text_;
  std::string origin_;
  std::vector<Word> words_;
};

}  // namespace weft::probes
