#include "probes/collective/measurement_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/error.h"

namespace weft::probes {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

MeasurementTable parse(std::string_view text) {
  return parse_measurement_table(text, "table.csv");
}

ErrorDetail error_of(std::string_view text) {
  try {
    parse(text);
  } catch (const InputError& error) {
    return error.detail();
  }
  ADD_FAILURE() << "accepted: " << text;
  return {};
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
  for (const char* text : {
           "\xef\xbb\xbf"
           "a;b;busbw\r\nn1;n2;50\r\n",
           "a\tb\tbusbw\nn1\tn2\t50",
           "a\tb\tbusbw\trail\nn1\tn2\t50\t\n",
           "busbw,a,b\n 50 , n1 ,\"n2\"\n",
           "A,B,BusBW\nn1,n2,50\n",
           "\"a\",\"b\",\"busbw\"\n\"n1\",\"n2\",\"50\"\n",
           "a,b,busbw,rail,status\nn1,n2,50\n",  // columns at the end left out
           "a,b,busbw,,\nn1,n2,50,,\n,,,,\n\n",  // columns and rows of nothing
           "# pairs\n\n  # of today\na,b,busbw\n# the first\nn1,n2,50\n",
           "members;busbw\nn1,n2;50\n",  // commas are no separators here
           "members\tbusbw\nn1 n2\t50\n",
           "a,b,busbw,status\nn1,n2,5e1,OK\n",
       }) {
    const MeasurementTable table = parse(text);
    ASSERT_EQ(table.measurements.size(), 1U) << text;
    EXPECT_THAT(table.measurements[0].group.nodes, ElementsAre("n1", "n2")) << text;
    EXPECT_DOUBLE_EQ(table.measurements[0].busbw_gbps, 50) << text;
    EXPECT_THAT(table.notes, IsEmpty()) << text;
  }
}

TEST(MeasurementTable, KeepsRoundsAndTheStatusOfWhatGaveNoBandwidth) {
  const MeasurementTable table =
      parse("a,b,busbw,round,status\nn1,n2,50,1,ok\nn1,n2,,2,\nn5,n6,0,2,failed\nn5,n7,,,unreachable\n");
  EXPECT_THAT(table.rounds, ElementsAre(1, 2, 2, 0));
  EXPECT_EQ(table.measurements[1].status, Status::refused) << "not known, never a zero";
  EXPECT_EQ(table.measurements[2].status, Status::failed);
  EXPECT_EQ(table.measurements[3].status, Status::unreachable);
}

TEST(MeasurementTable, ColumnsOfZerosAndOnesArePropertiesOfTheMeasurements) {
  const MeasurementTable table =
      parse("a,b,busbw,crosses_rack,when,empty\nn1,n2,50,,9:00,\nn3,n4,90,0,9:01,\nn5,n6,50,1,9:02,\n");
  ASSERT_EQ(table.properties.size(), 1U);
  EXPECT_THAT(table.properties.at("crosses_rack"), ElementsAre(false, false, true));
  EXPECT_THAT(table.notes, ElementsAre("table.csv: the column \"when\" is ignored."));
}

TEST(MeasurementTable, RefusesWithPlaceAndWhatWasExpected) {
  const struct {
    std::string text, where, what, expected;
  } cases[] = {
      {"", "table.csv", "there is no measurement", "a header with"},
      {"# nothing\n,,\n", "table.csv", "there is no measurement", "a header with"},
      {"a,b,busbw\n", "table.csv:1:1", "no row below the header", "a measurement in each line"},
      {"just words\n", "table.csv:1:1", "neither a header nor a measurement", "a header with members,busbw"},
      {"a,b,bandwidth\nn1,n2,50\n", "table.csv:1:1", "neither a header nor a measurement", "a header with"},
      {"n1,n2,50\n", "table.csv:1:1", "neither a header nor a measurement", "a header with"},
      {"busbw\n50\n", "table.csv:1:1", "neither a header nor a measurement", "a header with"},
      {"a,busbw\nn1,50\n", "table.csv:1:1", "does not say who was measured", "a,b,busbw"},
      {"rail,busbw\n1,50\n", "table.csv:1:1", "does not say who was measured", "members,busbw"},
      {"members,a,b,busbw\nn1,n2,n3,5\n", "table.csv:1:1", "does not say who was measured", ""},
      {"members,a,busbw\nn1,n2,5\n", "table.csv:1:1", "does not say who was measured", ""},
      {"a,b,busbw,busbw\nn1,n2,50,50\n", "table.csv:1:11", R"(the column "busbw" is there twice)", "once"},
      {"a,b,busbw\nn1,n2,fast\n", "table.csv:2:7", R"(the bandwidth is "fast")", "GB/s, a number above 0"},
      {"a,b,busbw\nn1,n2,nan\n", "table.csv:2:7", R"(the bandwidth is "nan")", "above 0"},
      {"a,b,busbw\nn1,n2,inf\n", "table.csv:2:7", R"(the bandwidth is "inf")", "above 0"},
      {"a,b,busbw\nn1,n2,-5\n", "table.csv:2:7", R"(the bandwidth is "-5")", "above 0"},
      {"a,b,busbw\nn1,n2,0\n", "table.csv:2:7", R"(the bandwidth is "0")", "above 0"},
      {"a,b,busbw\nn1,n2,1e9\n", "table.csv:2:7", R"(the bandwidth is "1e9")", "up to 10000"},
      {"a,b,busbw\nn1,n2,1e999\n", "table.csv:2:7", R"(the bandwidth is "1e999")", "up to 10000"},
      {"a,b,busbw\nn1,n2,50 GB/s\n", "table.csv:2:7", R"(the bandwidth is "50 GB/s")", "a number"},
      {"a;b;busbw\nn1;n2;49,5\n", "table.csv:2:7", R"(the bandwidth is "49,5")", "a number"},
      {"a,b,busbw\nn1,n2,0x32\n", "table.csv:2:7", R"(the bandwidth is "0x32")", "a number"},
      {"a,b,busbw\nn1,n2\n", "table.csv:2:6", "ends before its bandwidth", "3 fields"},
      {"a,b,busbw\nn1,n2,50,60\n", "table.csv:2:10", "a field more than the 3 columns", "as many fields"},
      {"members,busbw\nn1,n2,50\n", "table.csv:2:7", "a field more than the 2 columns", "as many fields"},
      {"a,b,busbw\nn1,n1,50\n", "table.csv:2:4", "the node n1 is in its group twice", "each node once"},
      {"members,busbw\n\"n[1-3],n2\",50\n", "table.csv:2:1", "the node n2 is in its group twice", "each node once"},
      {"a,b,busbw\nn1,,50\n", "table.csv:2:1", "no node in the column b", "a node each"},
      {"a,b,busbw\nn1,\"n[2-3]\",50\n", "table.csv:2:4", "b names 2 nodes", "one node"},
      {"members,busbw\n,50\n", "table.csv:2:1", "the row has no members", "a host list"},
      {"members,busbw\n\n  n[1-,50\n", "table.csv:3:3", "members:column 2: `[` is not closed", "`]`"},
      {"members,busbw\nn1 n2/x,50\n", "table.csv:2:1", "members:column 6", ""},
      {"members,busbw\n\"n1,n2,50\n", "table.csv:2:1", "the quote is not closed", "a closing quote"},
      {"members,busbw\n\"n1\"x,50\n", "table.csv:2:5", "text after the closing quote", "the end of the field"},
      {"a,b,busbw,rail\nn1,n2,50,-1\n", "table.csv:2:10", R"(the rail is "-1")", "from 0 to 1023"},
      {"a,b,busbw,rail\nn1,n2,50,mlx5_0\n", "table.csv:2:10", R"(the rail is "mlx5_0")", "a whole number"},
      {"a,b,busbw,round\nn1,n2,50,1.5\n", "table.csv:2:10", R"(the round is "1.5")", "a whole number"},
      {"a,b,busbw,bytes\nn1,n2,50,8G\n", "table.csv:2:10", R"(the bytes is "8G")", "a whole number"},
      {"a,b,busbw,bytes\nn1,n2,50,99999999999999999999\n", "table.csv:2:10", "the bytes is", "a whole number"},
      {"a,b,busbw,ranks\nn1,n2,50,0\n", "table.csv:2:10", R"(the ranks is "0")", "from 1"},
      {"a,b,busbw,status\nn1,n2,50,great\n", "table.csv:2:10", R"(there is no status "great")", "ok, failed, hung"},
      {"n1 n2 50\nn3 n4 fast\n", "table.csv:2:1", "ends in no number", "hosts and a bandwidth"},
      {"n1 n2 50\nn3 n4 -50\n", "table.csv:2:7", R"(the bandwidth is "-50")", "above 0"},
      {"n1 n2 50\n  n3 n3 50\n", "table.csv:2:3", "the node n3 is in its group twice", "each node once"},
      {"n[1-9999999999] 50\n", "table.csv:1:1", "more than 1000000 hosts", ""},
      {std::string("a,b,busbw\nn1,n\0,50\n", 18), "table.csv:2:4", "b:column 2", ""},
      {"\x7f"
       "ELF\x02\x01",
       "table.csv:1:1", "neither a header nor a measurement", ""},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.text);
    const ErrorDetail error = error_of(c.text);
    EXPECT_EQ(error.where, c.where);
    EXPECT_THAT(error.what, HasSubstr(c.what));
    EXPECT_THAT(error.expected, HasSubstr(c.expected));
  }
}

TEST(MeasurementTable, SaysWhatToDoAboutWhatPeopleOftenWrite) {
  EXPECT_THAT(error_of("members,busbw\nn1,n2,50\n").next_step, HasSubstr("in quotes"));
  EXPECT_THAT(error_of("a;b;busbw\nn1;n2;49,5\n").next_step, HasSubstr("after a point"));
  EXPECT_THAT(error_of("a,b,busbw\nn1,\"n[2-3]\",50\n").next_step, HasSubstr("members"));
}

TEST(MeasurementTable, MembersOfAllRowsTogetherAreBounded) {
  std::string text = "members,busbw\n";
  for (int row = 0; row < 41; ++row)
    text += "n[1-100000],50\n";
  const ErrorDetail error = error_of(text);
  EXPECT_EQ(error.where, "table.csv:42:1");
  EXPECT_THAT(error.what, HasSubstr("too many measurements"));
}

TEST(MeasurementTable, EveryBytePrefixOfATableIsReadOrRefused) {
  const std::string text = "members,busbw,rail\n\"n[1-2],n4\",198,3\nn[5-6],97.5,\n";
  std::size_t read = 0;
  for (std::size_t length = 0; length <= text.size(); ++length) {
    try {
      parse(std::string_view(text).substr(0, length));
      ++read;
    } catch (const InputError& error) {
      EXPECT_THAT(error.detail().where, StartsWith("table.csv"));
    }
  }
  EXPECT_GT(read, 0U);
  EXPECT_EQ(parse(text).measurements.size(), 2U);
}

TEST(MeasurementTable, TellsATableByHowItBegins) {
  for (const char* text : {"a,b,busbw\n", "# x\n\nMembers;BusBW\n", "n1 n2 50", "\xef\xbb\xbf n1\t50"})
    EXPECT_TRUE(begins_as_table(text)) << text;
  for (const char* text : {"", "# only this\n", "a,b\n", "node n1 is fine\n", "50\n", "  50\n"})
    EXPECT_FALSE(begins_as_table(text)) << text;
}

}  // namespace
}  // namespace weft::probes
