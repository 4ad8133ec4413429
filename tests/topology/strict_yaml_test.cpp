#include "topology/strict_yaml.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/error.h"

namespace weft::topology {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr auto kKeys = std::to_array<std::string_view>({"speed", "names", "parts"});
constexpr auto kPartKeys = std::to_array<std::string_view>({"size", "colour"});
constexpr auto kColours = std::to_array<std::string_view>({"red", "green"});
constexpr StrictYaml::Format kFormat{"a box as in docs/box.md", "a box with at least a name"};
const std::string kFile = "box.yaml";

struct Part {
  int size = 0;
  std::size_t colour = 0;
};

struct Box {
  std::optional<double> speed;
  std::vector<std::string> names;
  std::vector<Part> parts;
};

/// A small format that uses everything that StrictYaml offers.
Box read_box(std::string_view text) {
  const StrictYaml yaml(text, kFile, kFormat);
  const YamlMap document = yaml.document(kKeys);
  Box box;
  if (const auto speed = document.find("speed")) box.speed = StrictYaml::number(*speed);
  if (const auto names = document.find("names")) box.names = yaml.hostlist(*names);
  const auto parts = document.find("parts");
  if (!parts) return box;
  for (const YamlField& item : yaml.items(*parts, "a list of parts")) {
    const YamlMap part = yaml.map(item, kPartKeys);
    box.parts.push_back({yaml.whole_number(yaml.require(part, "size"), 1, 8), 0});
    if (const auto colour = part.find("colour")) box.parts.back().colour = yaml.choice(*colour, kColours);
  }
  return box;
}

ErrorDetail error_of(std::string_view text) {
  try {
    read_box(text);
  } catch (const InputError& error) {
    return error.detail();
  }
  ADD_FAILURE() << "accepted: " << text;
  return {};
}

TEST(StrictYaml, ReadsFieldsOfEveryKind) {
  const Box box = read_box("speed: 2.5e1\nnames: 'n[1-2],n1'\nparts:\n  - {size: 8, colour: green}\n");
  EXPECT_EQ(box.speed, 25.0);
  EXPECT_THAT(box.names, ElementsAre("n1", "n2", "n1")) << "positions may mean something";
  ASSERT_EQ(box.parts.size(), 1U);
  EXPECT_EQ(box.parts[0].size, 8);
  EXPECT_EQ(box.parts[0].colour, 1U);
}

TEST(StrictYaml, WhatIsNoNumberIsNone) {
  for (const char* text : {"010", "0x10", "1e999", ".inf", "inf", "nan", "~", "[1]", "{a: 1}", "4 GB", "1_000", "''"})
    EXPECT_FALSE(read_box("speed: " + std::string(text)).speed) << text;
  for (const char* text : {"0", "0.5", "-3", "1e3", "'7'"})
    EXPECT_TRUE(read_box("speed: " + std::string(text)).speed) << text;
}

TEST(StrictYaml, RefusesWithPlacePathAndWhatWasExpected) {
  const struct {
    std::string yaml, where, what, expected, next_step;
  } cases[] = {
      {"", "box.yaml", "declares nothing", "a box with at least a name", ""},
      {"# a comment\n---\n", "box.yaml", "declares nothing", "a box with at least a name", ""},
      {"- a\n", "box.yaml:1:1", "the document is a list", "a map with the keys speed, names, parts", ""},
      {"a\n", "box.yaml:1:1", R"(the document is "a")", "a map with the keys", ""},
      {"names: n1\nname: n2\n", "box.yaml:2:1", R"(unknown key "name")", "one of speed, names, parts",
       R"(did you mean "names"?)"},
      {"parts: [{sise: 1}]\n", "box.yaml:1:10", R"(unknown key "sise" in parts[0])", "one of size, colour",
       R"(did you mean "size"?)"},
      {"? [a]\n: b\n", "box.yaml:1:3", "unknown key a list", "one of speed", ""},
      {"speed: 1\nspeed: 2\n", "box.yaml:2:1", R"(the key "speed" is written twice)", "each key once", ""},
      {"parts: {}\n", "box.yaml:1:8", "parts is an empty map", "a list of parts", ""},
      {"parts:\n", "box.yaml:1:1", "parts is nothing", "a list of parts", ""},
      {"parts:\n  - {size: 1}\n  -\nspeed: 1\n", "box.yaml:1:1", "parts[1] is nothing", "a map with the keys", ""},
      {"parts: [3]\n", "box.yaml:1:9", R"(parts[0] is "3")", "a map with the keys size, colour", ""},
      {"parts: [{colour: red}]\n", "box.yaml:1:9", R"(parts[0] has no key "size")", "size: …", ""},
      {"parts: [{size: 9}]\n", "box.yaml:1:16", R"(parts[0].size is "9")", "a whole number from 1 to 8", ""},
      {"parts: [{size: 08}]\n", "box.yaml:1:16", R"(parts[0].size is "08")", "a whole number from 1 to 8", ""},
      {"parts: [{size: 1.5}]\n", "box.yaml:1:16", R"(parts[0].size is "1.5")", "a whole number from 1 to 8", ""},
      {"parts: [{size: 1, colour: gren}]\n", "box.yaml:1:27", R"(parts[0].colour is "gren")", "one of red, green",
       R"(did you mean "green"?)"},
      {"names: [n1]\n", "box.yaml:1:8", "names is a list", "a host list in quotes", ""},
      {"names: 'n[1-'\n", "box.yaml:1:8", "names:column 2: `[` is not closed", "", ""},
      {"names: n[1-2]x: 3\n", "box.yaml:1:15", "not valid YAML", "", "mind that host lists have to be quoted"},
      {"speed: 1\n---\nspeed: 2\n", "box.yaml:2:1", "a second YAML document", "one document", ""},
      {"parts: " + std::string(10'000, '['), "box.yaml:1:", "nested too deeply", "a box as in docs/box.md", ""},
      {"speed: 1\n\"\\e[31m\": 2\n", "box.yaml:2:1", R"(unknown key "\x1b[31m")", "one of speed", ""},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.yaml.substr(0, 60));
    const ErrorDetail error = error_of(c.yaml);
    EXPECT_THAT(error.where, StartsWith(c.where));
    EXPECT_THAT(error.what, HasSubstr(c.what));
    EXPECT_THAT(error.expected, HasSubstr(c.expected));
    EXPECT_THAT(error.next_step, HasSubstr(c.next_step));
  }
}

}  // namespace
}  // namespace weft::topology
