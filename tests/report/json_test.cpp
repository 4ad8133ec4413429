#include "report/json.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/report/sample_runs.h"

namespace weft::report {
namespace {

using json = nlohmann::ordered_json;

TEST(Json, IsTheDocumentThatScriptsRelyOn) {
  const json document = bisect_json(degraded_run());
  EXPECT_EQ(document.at("schema"), "weft.bisect/1");
  EXPECT_EQ(document.at("run"), 42);
  EXPECT_EQ(document.at("verdict"), "degraded");
  EXPECT_EQ(document.at("culprits"), json::parse(R"([{"kind": "node", "node": "gpu007", "measured_gbps": 152.0,
      "expected_gbps": 372.0, "slowdown": 2.447, "confidence": 0.99}])"));
  EXPECT_EQ(document.at("baseline"), json::parse(R"({"busbw_gbps": 372.0, "source": "fabric"})"));
  EXPECT_EQ(document.at("unresolved"), json::array());
  EXPECT_EQ(document.at("asked"), 64);
  EXPECT_EQ(document.at("measured"), 64);
  EXPECT_EQ(document.at("skipped"), 0);
  EXPECT_EQ(document.at("failed"), 0);
  EXPECT_EQ(document.at("rounds"), 4);
  EXPECT_EQ(document.at("probes"), 7);
  EXPECT_EQ(document.at("wall_s"), 38.24);
  EXPECT_EQ(document.at("node_seconds"), 64 * 4.1 + 5 * 2 * 1.5 + 63 * 1.5);
  EXPECT_EQ(document.at("findings"), json::array());
  EXPECT_EQ(document.at("interrupted"), false);
}

TEST(Json, EveryKindOfCulpritHasTheFieldsOfItsKind) {
  const std::vector<std::string> expected = {
      R"({"kind": "node", "node": "gpu007"})",
      R"({"kind": "node", "node": "gpu009"})",
      R"({"kind": "rail", "node": "gpu011", "rail": 3})",
      R"({"kind": "leaf", "unit": "su1", "rail": 2})",
      R"({"kind": "uplink", "unit": "su2", "rail": 2})",
      R"({"kind": "path", "units": ["su1", "su2"]})",
      R"({"kind": "pair", "nodes": ["gpu001", "gpu013"]})",
      R"({"kind": "scale", "min_nodes": 48})",
      R"({"kind": "crash", "node": "gpu050"})",
      R"({"kind": "hang", "node": "gpu051"})",
      R"({"kind": "corrupt", "node": "gpu052"})",
      R"({"kind": "unreachable", "node": "gpu053"})",
  };
  json culprits = bisect_json(crowded_run()).at("culprits");
  ASSERT_EQ(culprits.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    for (const char* field : {"measured_gbps", "expected_gbps", "slowdown", "confidence"})
      EXPECT_EQ(culprits[i].erase(field), 1U) << expected[i];
    EXPECT_EQ(culprits[i], json::parse(expected[i]));
  }
}

TEST(Json, UnresolvedSetsSayTheNextProbe) {
  const json unresolved = bisect_json(crowded_run()).at("unresolved");
  EXPECT_EQ(unresolved.at(0).at("next_probe"), json({"gpu001", "gpu011"}));
  EXPECT_EQ(unresolved.at(0).at("next_probe_rail"), 3);
  EXPECT_EQ(unresolved.at(0).at("candidates").at(0), json::parse(R"({"kind": "pair", "nodes": ["gpu001", "gpu013"]})"));
  EXPECT_EQ(unresolved.at(1).at("next_probe"), nullptr);
  EXPECT_FALSE(unresolved.at(1).contains("next_probe_rail"));
}

TEST(Json, WhatIsNotKnownIsNull) {
  bisect::RunResult run;
  run.wall_s = std::nan("");
  run.verdict.rest_gbps = HUGE_VAL;
  run.verdict.culprits = {bisect::Culprit{}};
  const json document = bisect_json(run);
  for (const char* field : {"run", "baseline", "whole_gbps", "rest_gbps", "wall_s"})
    EXPECT_EQ(document.at(field), nullptr) << field;
  for (const char* field : {"measured_gbps", "expected_gbps", "slowdown"})
    EXPECT_EQ(document.at("culprits").at(0).at(field), nullptr) << field;
}

TEST(Json, KeepsSixDigitsOfSmallBandwidthsToo) {
  bisect::RunResult run;
  run.verdict.whole_gbps = 0.0248123456789;
  run.verdict.rest_gbps = 371.987654321;
  const json document = bisect_json(run);
  EXPECT_EQ(document.at("whole_gbps").dump(), "0.0248123");
  EXPECT_EQ(document.at("rest_gbps").dump(), "371.988");
}

TEST(Json, BytesThatAreNotUtf8DoNotThrow) {
  const json document = bisect_json(crowded_run());
  EXPECT_EQ(document.at("findings").at(0).at("summary"), "said \x1b[2J\x07 and \"\uFFFD\"");
  EXPECT_NO_THROW((void)document.dump());
}

TEST(Json, AnalyzeSharesTheDocument) {
  json bisect = bisect_json(degraded_run());
  const json analyze = bisect_json(degraded_run(), kAnalyzeSchema);
  EXPECT_EQ(analyze.at("schema"), "weft.analyze/1");
  bisect["schema"] = "weft.analyze/1";
  EXPECT_EQ(analyze, bisect);
}

}  // namespace
}  // namespace weft::report
