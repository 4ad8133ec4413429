#include "probes/collective/measurement_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/error.h"

namespace weft::probes {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

MeasurementTable parse(std::string_view text) {
  return parse_measurement_table(text, "table.csv");
}

std::string refusal(std::string_view text) {
  try {
    parse(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(MeasurementTable, ReadsPairs) {
  const MeasurementTable table = parse("a,b,busbw\nn2,n1,49.5\nn1,n3,97\n");
  ASSERT_EQ(table.measurements.size(), 2U);
  EXPECT_THAT(table.measurements[0].group.nodes, ElementsAre("n2", "n1"));
  EXPECT_DOUBLE_EQ(table.measurements[0].busbw_gbps, 49.5);
  EXPECT_EQ(table.measurements[0].status, Status::ok);
  EXPECT_THAT(table.nodes, ElementsAre("n2", "n1", "n3"));
  EXPECT_THAT(table.notes, IsEmpty());
}

TEST(MeasurementTable, ReadsHostListsWithOptionalColumnsAndNotesTheRest) {
  const MeasurementTable table = parse(
      "members,rack,busbw,rail,bytes,ranks,status\n\"n[1-2],n4\",r1,198,3,1024,24,\nn[5-6],r2,,,,,hung\nn[7-8],r2,,,,,"
      "\n");
  ASSERT_EQ(table.measurements.size(), 3U);
  EXPECT_THAT(table.measurements[0].group.nodes, ElementsAre("n1", "n2", "n4"));
  EXPECT_EQ(table.measurements[0].group.rail, 3);
  EXPECT_EQ(table.measurements[0].bytes, 1024U);
  EXPECT_EQ(table.measurements[0].ranks, 24);
  EXPECT_EQ(table.measurements[1].status, Status::hung);
  EXPECT_EQ(table.measurements[2].status, Status::refused) << "no bandwidth is no zero";
  EXPECT_THAT(table.notes, ElementsAre(HasSubstr("rack")));
}

TEST(MeasurementTable, ReadsLinesOfHostsAndABandwidth) {
  const MeasurementTable table = parse("# trials\nn01 n03 n04 n08 479.89\n\nn01 n[05-06]\t478.5\n");
  ASSERT_EQ(table.measurements.size(), 2U);
  EXPECT_THAT(table.measurements[1].group.nodes, ElementsAre("n01", "n05", "n06"));
  EXPECT_DOUBLE_EQ(table.measurements[1].busbw_gbps, 478.5);
}

TEST(MeasurementTable, ReadsWhatSpreadsheetsWrite) {
  for (const char* text : {"\xef\xbb\xbf"
                           "a;b;busbw\r\nn1;n2;50\r\n",
                           "a\tb\tbusbw\nn1\tn2\t50", "busbw,a,b\n 50 , n1 ,\"n2\"\n"}) {
    const MeasurementTable table = parse(text);
    ASSERT_EQ(table.measurements.size(), 1U) << text;
    EXPECT_THAT(table.measurements[0].group.nodes, ElementsAre("n1", "n2"));
    EXPECT_DOUBLE_EQ(table.measurements[0].busbw_gbps, 50);
  }
}

TEST(MeasurementTable, RefusesWithFileLineAndWhatWasExpected) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "there is no measurement"},
      {"a,b,busbw\n", "table.csv:1"},
      {"a,b,busbw\nn1,n2,fast\n", "table.csv:2: the bandwidth \"fast\""},
      {"a,b,busbw\nn1,n2,nan\n", "nan"},
      {"a,b,busbw\nn1,n2,-5\n", "-5"},
      {"a,b,busbw\nn1,n2,0\n", "above 0"},
      {"a,b,busbw\nn1,n2,1e9\n", "up to"},
      {"a,b,busbw\nn1,n1,50\n", "twice"},
      {"a,b,busbw\nn1,,50\n", "table.csv:2"},
      {"a,b,busbw\nn[1-,n2,50\n", "table.csv:2"},
      {"a,b,busbw,busbw\nn1,n2,50,50\n", "'busbw' is there twice"},
      {"a,busbw\nn1,50\n", "who was measured"},
      {"members,a,b,busbw\nn1,n2,n3,5\n", "who was measured"},
      {"a,b,busbw,rail\nn1,n2,50,-1\n", "rail"},
      {"a,b,busbw,status\nn1,n2,50,great\n", "there is no status"},
      {"just words\n", "words"},
      {"n[1-9999999999] 50\n", "table.csv:1"},
  };
  for (const auto& [text, said] : cases)
    EXPECT_THAT(refusal(text), HasSubstr(said)) << text;
}

TEST(MeasurementTable, EveryBytePrefixOfATableIsReadOrRefused) {
  const std::string text = "members,busbw,rail\n\"n[1-2],n4\",198,3\nn[5-6],97.5,\n";
  for (std::size_t length = 0; length <= text.size(); ++length)
    (void)refusal(text.substr(0, length));
  EXPECT_EQ(refusal(text), "accepted");
}

}  // namespace
}  // namespace weft::probes
