#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <yaml-cpp/yaml.h>

namespace weft::topology {

using YamlKeys = std::span<const std::string_view>;

/// A value in a YAML file with the key it belongs to. `path` is how messages call it, such as `units[1].nodes`.
struct YamlField {
  std::string path;
  YAML::Mark key;
  YAML::Node value;
};

/// A YAML map whose keys are known, each written once.
struct YamlMap {
  YamlField self;
  std::map<std::string, YamlField, std::less<>> fields;

  std::optional<YamlField> find(std::string_view key) const;
};

/// A YAML file that a person wrote and of which every word counts: one document, keys that are known and written once,
/// numbers in range. YAML itself, and yaml-cpp, let typing slips pass that would cost a night: an unknown key is
/// ignored, of two equal ones the first wins, everything past the first document is dropped, 010 is 8.
///
/// The reader of a format asks for its fields and gets values; whatever is not as it should be throws InputError with
/// `file:line:column`, the path of the field, what was expected and, for an unknown name, the nearest known one. The
/// cost is bounded by the size of the file as long as fields are read once: aliases are shared, not copied, and nesting
/// that is too deep is refused.
class StrictYaml {
 public:
  /// How messages name the format.
  struct Format {
    std::string_view form;      ///< "a fabric as in docs/fabric.md"
    std::string_view smallest;  ///< what an empty file lacks: "a fabric with at least the key units"
  };

  /// Throws InputError for what is not valid YAML, for more than one document, and for one that says nothing. `file`
  /// outlives the reader.
  StrictYaml(std::string_view yaml, const std::string& file, const Format& format);

  /// The whole document, a map with these keys.
  YamlMap document(YamlKeys keys) const;
  YamlMap map(const YamlField& field, YamlKeys keys) const;
  YamlField require(const YamlMap& map, std::string_view key) const;
  /// The items of a list; `expected` describes it.
  std::vector<YamlField> items(const YamlField& field, std::string_view expected) const;

  /// One of `names`; the index.
  std::size_t choice(const YamlField& field, YamlKeys names) const;
  int whole_number(const YamlField& field, int lowest, int highest) const;
  /// A finite number; nothing for everything else.
  static std::optional<double> number(const YamlField& field);
  /// The text of a scalar, of whatever kind it looks; empty for everything else.
  static std::string text(const YamlField& field);
  /// A host list, repeats kept.
  std::vector<std::string> hostlist(const YamlField& field) const;

  [[noreturn]] void fail(const YamlField& field, std::string what, std::string expected,
                         std::string next_step = "") const;
  /// The field is not what was expected: says what it is.
  [[noreturn]] void fail_value(const YamlField& field, std::string expected, std::string next_step = "") const;

 private:
  [[noreturn]] void fail_unknown_key(const YamlField& key, YamlKeys known) const;
  YamlMap map_with_prefix(const YamlField& field, const std::string& prefix, YamlKeys keys) const;

  const std::string& file_;
  YAML::Node document_;
};

}  // namespace weft::topology
