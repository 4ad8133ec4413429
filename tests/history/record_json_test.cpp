#include "history/record_json.h"

#include <cmath>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/history/sample_run.h"
#include "topology/error.h"

namespace weft::history {
namespace {

using json = nlohmann::ordered_json;

template <typename Value>
json through_text(const Value& value) {
  return json::parse(to_line(encode(value)));
}

TEST(RecordJson, EveryFieldComesBack) {
  const bisect::RunResult run = sample_run();
  EXPECT_EQ(encode(decode_run_info(through_text(run.info))), encode(run.info));
  EXPECT_EQ(encode(decode_verdict(through_text(run.verdict))), encode(run.verdict));
  for (const bisect::RoundResult& round : run.rounds)
    EXPECT_EQ(encode(decode_round(through_text(round))), encode(round));
}

TEST(RecordJson, DoublesComeBackBitForBit) {
  const bisect::RoundResult round = sample_round(1, {sample_ok({"a", "b"}, 1.0 / 3)});
  const bisect::RoundResult back = decode_round(through_text(round));
  EXPECT_EQ(back.measurements[0].iteration_s, round.measurements[0].iteration_s);
  EXPECT_EQ(back.measurements[0].busbw_gbps, 1.0 / 3);
}

TEST(RecordJson, NumbersThatAreNotFiniteAreNullAndComeBackAsZero) {
  probes::Measurement measurement = sample_ok({"a"}, std::nan(""));
  measurement.iteration_s = {HUGE_VAL};
  const json document = through_text(sample_round(1, {measurement}));
  EXPECT_TRUE(document.at("measurements").at(0).at("busbw_gbps").is_null());
  EXPECT_EQ(decode_round(document).measurements[0].iteration_s, std::vector<double>{0.0});
}

TEST(RecordJson, BytesThatAreNotUtf8AreReplaced) {
  EXPECT_EQ(strings_from_line(strings_to_line({"a\xff"
                                               "b",
                                               "ü"})),
            (std::vector<std::string>{"a\uFFFDb", "ü"}));
}

TEST(RecordJson, RefusesNamesItDoesNotKnow) {
  json document = through_text(sample_failed_round(1));
  document["measurements"][0]["status"] = "sideways";
  EXPECT_THROW(decode_round(document), RunError);
  EXPECT_THROW(decode_round(json::object()), json::exception);
}

}  // namespace
}  // namespace weft::history
