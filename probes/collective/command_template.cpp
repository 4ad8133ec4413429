#include "probes/collective/command_template.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "probes/child_process.h"
#include "topology/error.h"
#include "topology/hostlist.h"

namespace weft::probes {
namespace {

const std::array<std::string, 8> kPlaceholders = {"hosts",         "hostlist", "hostfile", "nhosts",
                                                  "gpus_per_node", "np",       "rail",     "bytes"};

bool is_known(const std::string& name) {
  return std::find(kPlaceholders.begin(), kPlaceholders.end(), name) != kPlaceholders.end();
}

std::string value_of(const std::string& placeholder, const CommandValues& values) {
  if (placeholder == "hosts") return fmt::format("{}", fmt::join(values.hosts, ","));
  if (placeholder == "hostlist") return topology::fold_hostlist(values.hosts);
  if (placeholder == "hostfile") return values.hostfile;
  if (placeholder == "nhosts") return std::to_string(values.hosts.size());
  if (placeholder == "gpus_per_node") return std::to_string(values.gpus_per_node);
  if (placeholder == "np") return std::to_string(values.ranks);
  if (placeholder == "rail") return values.rail ? std::to_string(*values.rail) : std::string();
  return std::to_string(values.bytes);
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/// Characters that do something in a shell and nothing here; whoever writes them expects a shell.
bool is_shell_operator(char c) {
  return std::string_view("|&;<>`").find(c) != std::string_view::npos;
}

}  // namespace

/// One pass over the text; `at_` is the next byte to read.
class CommandTemplate::Parser {
 public:
  Parser(std::string_view text, Use use, std::string_view origin) : text_(text), use_(use), origin_(origin) {}

  std::vector<Word> parse() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (is_blank(c)) {
        end_word();
        ++at_;
      } else if (c == '\'' || c == '"') {
        read_quoted(c);
      } else {
        read_plain(c);
      }
    }
    end_word();
    return std::move(words_);
  }

 private:
  [[noreturn]] void fail(std::size_t at, std::string what, std::string expected, std::string next_step = {}) const {
    throw InputError({.what = std::move(what),
                      .where = fmt::format("{}:column {}", origin_, at + 1),
                      .expected = std::move(expected),
                      .next_step = std::move(next_step)});
  }

  void add(char c) {
    in_word_ = true;
    if (word_.empty() || word_.back().is_placeholder) word_.push_back({});
    word_.back().text += c;
  }

  void end_word() {
    if (in_word_) words_.push_back(std::move(word_));
    word_ = {};
    in_word_ = false;
  }

  void read_quoted(char quote) {
    const std::size_t opened_at = at_++;
    in_word_ = true;
    while (at_ < text_.size() && text_[at_] != quote) {
      const char c = text_[at_];
      const bool escapes = quote == '"' && c == '\\' && at_ + 1 < text_.size() &&
                           std::string_view("\\\"$`\n").find(text_[at_ + 1]) != std::string_view::npos;
      if (escapes) {
        add(text_[at_ + 1]);
        at_ += 2;
      } else {
        read_text(c);
      }
    }
    if (at_ == text_.size()) fail(opened_at, fmt::format("quote {} is not closed", quote), "a closing quote");
    ++at_;
  }

  void read_plain(char c) {
    if (c == '\\') {
      if (at_ + 1 == text_.size()) fail(at_, "backslash at the end", "a character after it");
      add(text_[at_ + 1]);
      at_ += 2;
      return;
    }
    const bool is_variable = c == '$' && at_ + 1 < text_.size() &&
                             (std::isalpha(static_cast<unsigned char>(text_[at_ + 1])) != 0 || text_[at_ + 1] == '{' ||
                              text_[at_ + 1] == '(' || text_[at_ + 1] == '_');
    if (is_shell_operator(c) || is_variable) {
      fail(at_, fmt::format("'{}' needs a shell, and the command runs without one", c), "a program and its arguments",
           "put the command into a script and call that, or quote the character if it is meant as such");
    }
    read_text(c);
  }

  /// A literal character, a doubled brace, or a placeholder.
  void read_text(char c) {
    if ((c == '{' || c == '}') && at_ + 1 < text_.size() && text_[at_ + 1] == c) {
      add(c);
      at_ += 2;
    } else if (c == '{') {
      read_placeholder();
    } else if (c == '}') {
      fail(at_, "'}' without '{'", "a placeholder such as {hosts}, or }} for a brace");
    } else {
      add(c);
      ++at_;
    }
  }

  void read_placeholder() {
    const std::size_t close = text_.find('}', at_);
    if (close == std::string_view::npos)
      fail(at_, "'{' is not closed", "a placeholder such as {hosts}, or {{ for a brace");
    std::string name(text_.substr(at_ + 1, close - at_ - 1));
    if (!is_known(name)) fail_unknown(name);
    if (name == "rail" && use_ == Use::nodes) {
      fail(at_, "{rail} has no value in a probe of whole nodes", "{rail} only in the template for rails",
           "give the template that pins one rail as --rail-command");
    }
    in_word_ = true;
    word_.push_back({.text = std::move(name), .is_placeholder = true});
    at_ = close + 1;
  }

  [[noreturn]] void fail_unknown(const std::string& name) const {
    const std::string nearest = nearest_name(name, kPlaceholders);
    fail(at_, fmt::format("unknown placeholder {{{}}}", name),
         fmt::format("one of {{{}}}", fmt::join(kPlaceholders, "}, {")),
         nearest.empty() ? "write {{ and }} for braces" : fmt::format("did you mean {{{}}}?", nearest));
  }

  std::string_view text_;
  Use use_;
  std::string_view origin_;
  std::size_t at_ = 0;
  std::vector<Word> words_;
  Word word_;
  bool in_word_ = false;
};

CommandTemplate::CommandTemplate(std::string_view text, Use use, std::string_view origin)
    : text_(text), origin_(origin), words_(Parser(text, use, origin).parse()) {
  if (text.find('\0') != std::string_view::npos) {
    throw InputError({.what = "the command holds a zero byte", .where = origin_, .expected = "text", .next_step = {}});
  }
  if (words_.empty()) {
    throw InputError({.what = "the command is empty",
                      .where = origin_,
                      .expected = "a program and its arguments, such as mpirun -H {hosts} …",
                      .next_step = {}});
  }
  if (!uses("hosts") && !uses("hostlist") && !uses("hostfile")) {
    throw InputError({.what = "the command does not say on which hosts to run: every probe would be the same",
                      .where = origin_,
                      .expected = "one of {hosts}, {hostlist}, {hostfile}",
                      .next_step = "for mpirun: -H {hosts}; for srun: --nodelist {hostlist}"});
  }
  if (use == Use::rail && !uses("rail")) {
    throw InputError({.what = "the command does not say which rail to use: every rail's probe would be the same",
                      .where = origin_,
                      .expected = "{rail} somewhere",
                      .next_step = "for example: -x NCCL_IB_HCA=mlx5_{rail}"});
  }
}

std::vector<std::string> CommandTemplate::expand(const CommandValues& values) const {
  std::vector<std::string> arguments;
  for (const Word& word : words_) {
    std::string argument;
    for (const Piece& piece : word)
      argument += piece.is_placeholder ? value_of(piece.text, values) : piece.text;
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

void CommandTemplate::require_program() const {
  const Word& word = words_.front();
  std::string program;
  for (const Piece& piece : word) {
    if (piece.is_placeholder) {
      throw InputError({.what = fmt::format("the program itself depends on {{{}}}", piece.text),
                        .where = origin_,
                        .expected = "a program as the first word",
                        .next_step = {}});
    }
    program += piece.text;
  }
  if (find_program(program)) return;
  const bool is_assignment = program.find('=') != std::string::npos;
  throw InputError({.what = fmt::format("program '{}' not found or not executable", program),
                    .where = origin_,
                    .expected = "a program in PATH, or the path of one",
                    .next_step = is_assignment ? fmt::format("to set a variable write: env {} …", program)
                                               : "load its module, or give the full path"});
}

bool CommandTemplate::uses(std::string_view placeholder) const {
  return std::any_of(words_.begin(), words_.end(), [&](const Word& word) {
    return std::any_of(word.begin(), word.end(),
                       [&](const Piece& piece) { return piece.is_placeholder && piece.text == placeholder; });
  });
}

bool CommandTemplate::uses_hostfile() const {
  return uses("hostfile");
}

}  // namespace weft::probes
