#include "report/table.h"

#include <gtest/gtest.h>

namespace weft::report {
namespace {

TEST(Table, AlignsNumbersRightAndTextLeft) {
  EXPECT_EQ(format_table({{"n", true, false}, {"what", false, true}, {"x", true, false}},
                         {{"1", "whole set", "4"}, {"10", "ä", ""}}, 80, 2),
            "   n  what       x\n"
            "   1  whole set  4\n"
            "  10  ä\n");
}

TEST(Table, ElasticColumnsGiveWayWidestFirst) {
  EXPECT_EQ(format_table({{"a", false, true}, {"b", false, true}, {"c", true, false}},
                         {{"0123456789", "0123456789abcdefghij", "1000"}}, 30),
            "a           b                c\n"
            "0123456789  0123456789a…  1000\n");
}

TEST(Table, WrapsAtWordsAndKeepsLongOnesWhole) {
  EXPECT_EQ(wrapped("one two three four", 9), "one two\nthree\nfour\n");
  EXPECT_EQ(wrapped("a\nb  c", 80, 2), "  a b c\n");
  EXPECT_EQ(wrapped("averyveryverylongword b", 5), "averyveryverylongword\nb\n");
  EXPECT_EQ(wrapped("", 10), "\n");
}

TEST(Table, AHeadStandsOnceAndIndentsTheRest) {
  EXPECT_EQ(wrapped_after("Note: ", "one two three", 13), "Note: one two\n      three\n");
}

}  // namespace
}  // namespace weft::report
