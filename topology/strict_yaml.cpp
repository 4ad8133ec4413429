#include "topology/strict_yaml.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>

#include "topology/error.h"
#include "topology/hostlist.h"

namespace weft::topology {
namespace {

std::string at(const std::string& file, const YAML::Mark& mark) {
  return mark.is_null() ? file : fmt::format("{}:{}:{}", file, mark.line + 1, mark.column + 1);
}

std::string described(const YAML::Node& value) {
  if (value.IsScalar()) return in_quotes(value.Scalar());
  if (value.IsSequence()) return value.size() == 0 ? "an empty list" : "a list";
  if (value.IsMap()) return value.size() == 0 ? "an empty map" : "a map";
  return "nothing";
}

std::string nearest_of(const std::string& name, YamlKeys known) {
  const std::vector<std::string> names(known.begin(), known.end());
  const std::string nearest = nearest_name(name, names);
  return nearest.empty() ? "" : fmt::format("did you mean {}?", in_quotes(nearest));
}

template <typename Number>
bool parse(const YAML::Node& value, Number& number) {
  if (!value.IsScalar()) return false;
  const std::string& text = value.Scalar();
  // 010 is 8 to some YAML readers and 10 to others.
  if (text.size() > 1 && text[0] == '0' && text[1] != '.') return false;
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  return result.ec == std::errc() && result.ptr == end;
}

/// Takes note of where a document starts and of nothing in it.
class DocumentStart final : public YAML::EventHandler {
 public:
  const YAML::Mark& mark() const { return mark_; }

  void OnDocumentStart(const YAML::Mark& mark) override { mark_ = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  YAML::Mark mark_;
};

/// YAML::Load would ignore everything after the first document, and YAML::LoadAll of yaml-cpp 0.7 never ends for some
/// damaged files (`,!x: y`), of which it reads one empty document after another. So documents are counted up to two.
YAML::Node the_only_document(const std::string& yaml, const std::string& file, const StrictYaml::Format& format) {
  std::istringstream stream(yaml);
  YAML::Parser parser(stream);
  DocumentStart start;
  if (parser.HandleNextDocument(start) && parser.HandleNextDocument(start)) {
    throw InputError({"a second YAML document starts here", at(file, start.mark()), "one document", ""});
  }
  YAML::Node document = YAML::Load(yaml);
  if (document.IsNull()) throw InputError({"declares nothing", file, std::string(format.smallest), ""});
  return document;
}

}  // namespace

std::optional<YamlField> YamlMap::find(std::string_view key) const {
  const auto found = fields.find(key);
  return found == fields.end() ? std::nullopt : std::optional(found->second);
}

StrictYaml::StrictYaml(std::string_view yaml, const std::string& file, const Format& format) : file_(file) {
  try {
    document_ = the_only_document(std::string(yaml), file, format);
  } catch (const YAML::DeepRecursion& error) {
    throw InputError({"nested too deeply", at(file, error.mark), std::string(format.form), ""});
  } catch (const YAML::Exception& error) {
    throw InputError({"not valid YAML: " + in_quotes(error.msg), at(file, error.mark), "",
                      R"(mind that host lists have to be quoted inside { }, such as "gpu[001-032]")"});
  }
}

YamlMap StrictYaml::document(YamlKeys keys) const {
  return map_with_prefix({"the document", YAML::Mark(), document_}, "", keys);
}

YamlMap StrictYaml::map(const YamlField& field, YamlKeys keys) const {
  return map_with_prefix(field, field.path + ".", keys);
}

YamlMap StrictYaml::map_with_prefix(const YamlField& field, const std::string& prefix, YamlKeys keys) const {
  if (!field.value.IsMap()) fail_value(field, fmt::format("a map with the keys {}", fmt::join(keys, ", ")));
  YamlMap map{field, {}};
  for (const auto& entry : field.value) {
    const YamlField key{prefix, entry.first.Mark(), entry.first};
    const std::string name = text(key);
    if (std::ranges::find(keys, name) == keys.end()) fail_unknown_key(key, keys);
    const bool is_new = map.fields.emplace(name, YamlField{prefix + name, key.key, entry.second}).second;
    if (!is_new) fail(key, fmt::format("the key {} is written twice", in_quotes(name)), "each key once");
  }
  return map;
}

YamlField StrictYaml::require(const YamlMap& map, std::string_view key) const {
  if (auto field = map.find(key)) return std::move(*field);
  fail(map.self, fmt::format("{} has no key {}", map.self.path, in_quotes(key)), fmt::format("{}: …", key));
}

std::vector<YamlField> StrictYaml::items(const YamlField& field, std::string_view expected) const {
  if (!field.value.IsSequence()) fail_value(field, std::string(expected));
  std::vector<YamlField> items;
  for (const YAML::Node& item : field.value) {
    items.push_back({fmt::format("{}[{}]", field.path, items.size()), item.IsNull() ? field.key : item.Mark(), item});
  }
  return items;
}

std::size_t StrictYaml::choice(const YamlField& field, YamlKeys names) const {
  const std::string name = text(field);
  const auto found = std::ranges::find(names, name);
  if (found == names.end())
    fail_value(field, fmt::format("one of {}", fmt::join(names, ", ")), nearest_of(name, names));
  return static_cast<std::size_t>(found - names.begin());
}

int StrictYaml::whole_number(const YamlField& field, int lowest, int highest) const {
  int number = 0;
  if (!parse(field.value, number) || number < lowest || number > highest) {
    fail_value(field, fmt::format("a whole number from {} to {}", lowest, highest));
  }
  return number;
}

std::optional<double> StrictYaml::number(const YamlField& field) {
  double number = 0;
  return parse(field.value, number) && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

std::string StrictYaml::text(const YamlField& field) {
  return field.value.IsScalar() ? field.value.Scalar() : "";
}

std::vector<std::string> StrictYaml::hostlist(const YamlField& field) const {
  if (!field.value.IsScalar()) fail_value(field, R"(a host list in quotes, such as "gpu[001-032]")");
  try {
    return expand_hostlist_keeping_repeats(field.value.Scalar(), field.path);
  } catch (const InputError& error) {
    const ErrorDetail& detail = error.detail();
    fail(field, fmt::format("{}: {}", detail.where, detail.what), detail.expected, detail.next_step);
  }
}

void StrictYaml::fail(const YamlField& field, std::string what, std::string expected, std::string next_step) const {
  // yaml-cpp places an empty value at the next token, which can be lines away.
  const YAML::Mark mark = field.value.IsNull() ? field.key : field.value.Mark();
  throw InputError({std::move(what), at(file_, mark), std::move(expected), std::move(next_step)});
}

void StrictYaml::fail_value(const YamlField& field, std::string expected, std::string next_step) const {
  fail(field, fmt::format("{} is {}", field.path, described(field.value)), std::move(expected), std::move(next_step));
}

void StrictYaml::fail_unknown_key(const YamlField& key, YamlKeys known) const {
  const std::string parent = key.path.empty() ? "" : " in " + key.path.substr(0, key.path.size() - 1);
  fail(key, fmt::format("unknown key {}{}", described(key.value), parent),
       fmt::format("one of {}", fmt::join(known, ", ")),
       key.value.IsScalar() ? nearest_of(key.value.Scalar(), known) : "");
}

}  // namespace weft::topology
