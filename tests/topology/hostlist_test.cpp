#include "topology/hostlist.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/error.h"

namespace weft::topology {
namespace {

using Hosts = std::vector<std::string>;
using HostSet = std::set<std::string>;
using ::testing::HasSubstr;

Hosts words(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

HostSet as_set(const Hosts& hosts) {
  return {hosts.begin(), hosts.end()};
}

ErrorDetail error_of(const std::string& expression) {
  try {
    expand_hostlist(expression);
  } catch (const InputError& error) {
    return error.detail();
  }
  ADD_FAILURE() << "accepted: " << expression;
  return {};
}

TEST(Hostlist, ExpandsWhatSlurmAndClusterShellWrite) {
  const struct {
    std::string expression, hosts;
  } cases[] = {
      {"gpu7", "gpu7"},
      {"gpu[001-003,007]", "gpu001 gpu002 gpu003 gpu007"},
      {"r[1-2]n[01-03]", "r1n01 r1n02 r1n03 r2n01 r2n02 r2n03"},
      {"n[1-3]-ib0", "n1-ib0 n2-ib0 n3-ib0"},
      {"n[0-10/2]", "n0 n2 n4 n6 n8 n10"},
      {"n[00-10/5]", "n00 n05 n10"},
      {"n[1-6/4]", "n1 n5"},
      {"n[1-6/999999999]", "n1"},
      {"n[3-3]", "n3"},
      {"n[0]", "n0"},
      {"[1-2][3-4]", "13 14 23 24"},
      {"[123-124]", "123 124"},
      {"a,b c\td\ne", "a b c d e"},
      {" a , b ", "a b"},
      {"b,a,b,a", "b a"},
      {"[1,11][11,1]", "111 11 1111"},
      {"n[9-11].example.net", "n9.example.net n10.example.net n11.example.net"},
      {"a_b-c.D", "a_b-c.D"},
      {"n[3,1-2]", "n3 n1 n2"},
      {"spine1.example.net.", "spine1.example.net."},
  };
  for (const auto& c : cases)
    EXPECT_EQ(expand_hostlist(c.expression), words(c.hosts)) << c.expression;
}

TEST(Hostlist, KeepsNamesAsTheyAreWritten) {
  const struct {
    std::string expression, hosts;
  } cases[] = {
      {"serv01,serv3,serv2", "serv01 serv3 serv2"},
      {"data[001-006],data07", "data001 data002 data003 data004 data005 data006 data07"},
      {"k09,k010", "k09 k010"},
      {"a1.example.net,a01.example.net", "a1.example.net a01.example.net"},
      {"n[1-2]c[08-10]", "n1c08 n1c09 n1c10 n2c08 n2c09 n2c10"},
      {"node[8-11]", "node8 node9 node10 node11"},
      {"node[08-11]", "node08 node09 node10 node11"},
  };
  for (const auto& c : cases) {
    const Hosts hosts = expand_hostlist(c.expression);
    EXPECT_EQ(hosts, words(c.hosts)) << c.expression;
    EXPECT_EQ(as_set(expand_hostlist(fold_hostlist(hosts))), as_set(hosts)) << c.expression;
  }
}

TEST(Hostlist, ExcludesWhereverTheExclusionStands) {
  const struct {
    std::string expression, hosts;
  } cases[] = {
      {"gpu[1-5],!gpu3", "gpu1 gpu2 gpu4 gpu5"}, {"!gpu3 gpu[1-5]", "gpu1 gpu2 gpu4 gpu5"},
      {"gpu[1-5]!gpu[2-4]", "gpu1 gpu5"},        {"gpu[1-3],!gpu03", "gpu1 gpu2 gpu3"},
      {"gpu[1-3],!gpu[2,9]", "gpu1 gpu3"},
  };
  for (const auto& c : cases)
    EXPECT_EQ(expand_hostlist(c.expression), words(c.hosts)) << c.expression;
}

TEST(Hostlist, NumbersMayHaveAnyNumberOfDigits) {
  const struct {
    std::string expression, hosts;
  } cases[] = {
      {"n[9223372036854775807-9223372036854775807]", "n9223372036854775807"},
      {"n[9223372036854775807-9223372036854775808]", "n9223372036854775807 n9223372036854775808"},
      {"n[18446744073709551615-18446744073709551616]", "n18446744073709551615 n18446744073709551616"},
      {"n[99999999999999999999999-100000000000000000000000]", "n99999999999999999999999 n100000000000000000000000"},
      {"n[00000000000000000000000008-00000000000000000000000009]",
       "n00000000000000000000000008 n00000000000000000000000009"},
      {"n99999999999999999999999999999999", "n99999999999999999999999999999999"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(expand_hostlist(c.expression), words(c.hosts)) << c.expression;
    EXPECT_EQ(expand_hostlist(fold_hostlist(words(c.hosts))), words(c.hosts)) << c.expression;
  }
}

TEST(Hostlist, RefusesWhatIsNoHostListAtItsColumn) {
  const std::string long_name(256, 'x');
  const struct {
    std::string expression;
    int column;
    std::string what;
  } cases[] = {
      {"", 1, "empty"},
      {"  \t", 1, "empty"},
      {"gpu1,!gpu1", 1, "all are excluded"},
      {"!gpu1", 1, "all are excluded"},
      {",a", 1, "empty item"},
      {"a,,b", 3, "empty item"},
      {"a, ,b", 4, "empty item"},
      {"a,", 2, "nothing after the last comma"},
      {"a , ", 4, "nothing after the last comma"},
      {"gpu[1-3", 4, "not closed"},
      {"gpu[", 4, "not closed"},
      {"gpu[1-", 4, "not closed"},
      {"gpu[1-3 gpu5", 4, "not closed"},
      {"gpu[1, 3]", 4, "not closed"},
      {"gpu1-3]", 7, "`]` without a `[`"},
      {"gpu[1-[2]]", 7, "a bracket inside a bracket"},
      {"gpu[[1-2]]", 5, "a bracket inside a bracket"},
      {"gpu[]", 5, "a number is missing"},
      {"gpu[1,]", 7, "a number is missing"},
      {"gpu[,1]", 5, "a number is missing"},
      {"gpu[-3]", 5, "a number is missing"},
      {"gpu[1-]", 7, "the end of the range is missing"},
      {"gpu[1-,2]", 7, "the end of the range is missing"},
      {"gpu[1--3]", 7, "the end of the range is missing"},
      {"gpu[1-3-5]", 8, "illegal character \"-\" inside brackets"},
      {"gpu[a-c]", 5, "illegal character \"a\" inside brackets"},
      {"gpu[1-c]", 7, "illegal character \"c\" inside brackets"},
      {"gpu[5-3]", 5, "runs backwards"},
      {"gpu[7,12-11]", 7, "runs backwards"},
      {"gpu[10-09]", 5, "runs backwards"},
      {"node[541-0570]", 6, "width changes"},
      {"node[08-111]", 6, "width changes"},
      {"node[8-011]", 6, "width changes"},
      {"node[0-00]", 6, "width changes"},
      {"gpu[0-9/0]", 9, "a step of \"0\""},
      {"gpu[0-9/000]", 9, "a step of \"000\""},
      {"gpu[0-9/1000000000]", 9, "a step of"},
      {"gpu[0-9/]", 9, "the step is missing"},
      {"gpu[0-9/2/2]", 10, "illegal character \"/\" inside brackets"},
      {"gpu[5/2]", 6, "a step without a range"},
      {"a,-x", 3, "starts with `-`"},
      {"-[1-2]", 1, "starts with `-`"},
      {"!-x a", 1, "starts with `-`"},
      {"..", 1, "starts with `.`"},
      {"!", 1, "`!` without a host"},
      {"a ! b", 3, "`!` without a host"},
      {"a!!b", 2, "`!` without a host"},
      {"a;b", 2, "illegal character \";\""},
      {"@group", 1, "illegal character \"@\""},
      {"gpu*", 4, "illegal character \"*\""},
      {"$(id)", 1, "illegal character \"$\""},
      {"::1", 1, "illegal character \":\""},
      {"a,b\x1b[31m", 4, R"(illegal character "\x1b")"},
      {std::string("a\0b", 3), 2, R"(illegal character "\x00")"},
      {"gpu[1–8]", 6, R"(illegal character "\xe2\x80\x93" inside)"},
      {"nöde", 2, R"(illegal character "\xc3\xb6")"},
      {"a " + long_name, 3, "256 or more characters"},
      {long_name.substr(3) + "[1-1000]", 1, "or more characters"},
  };
  for (const auto& c : cases) {
    const ErrorDetail error = error_of(c.expression);
    EXPECT_EQ(error.where, "host list:column " + std::to_string(c.column)) << c.expression;
    EXPECT_THAT(error.what, HasSubstr(c.what)) << c.expression;
    EXPECT_FALSE(error.expected.empty()) << c.expression;
  }
}

TEST(Hostlist, NamesTheTextInItsErrors) {
  try {
    expand_hostlist("a,,b", "--hosts");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "--hosts:column 3: an empty item; expected a host name between the commas");
  }
}

TEST(Hostlist, LongestNameIsAllowed) {
  EXPECT_EQ(expand_hostlist(std::string(255, 'x')).size(), 1U);
}

TEST(Hostlist, RefusesMoreThanAMillionHostsBeforeBuildingThem) {
  std::string many_brackets;
  for (int i = 0; i < 80; ++i)
    many_brackets += "[0-9]";
  std::string many_numbers = "n[0";
  for (int i = 0; i < 1'000'000; ++i)
    many_numbers += ",0";
  const struct {
    std::string expression;
    int column;
  } cases[] = {
      {"n[1-1000001]", 1},
      {"n[1-9999999999]", 1},
      {"n[0-2000000000]", 1},
      {"n[0-9223372036854775807]", 1},
      {"n[0-18446744073709551615]", 1},
      {"n[0-99999999999999999999999999999999999999]", 1},
      {"n[0-99999999999999999999999999999999999999/999999999]", 1},
      {"a[1-100000]b[1-100000]", 1},
      {"x,y,a[1-2000]b[1-501]", 5},
      {"n[1-600000],m[1-600000]", 13},
      {"n[1-600000,1-600000]", 1},
      {"a,!n[1-9999999999]", 3},
      {many_brackets, 1},
      {many_numbers + "]", 2},
  };
  for (const auto& c : cases) {
    const ErrorDetail error = error_of(c.expression);
    EXPECT_EQ(error.where, "host list:column " + std::to_string(c.column)) << c.expression.substr(0, 60);
    EXPECT_THAT(error.what, HasSubstr("more than 1000000 hosts"));
  }
}

TEST(Hostlist, AcceptsAMillionHosts) {
  const Hosts hosts = expand_hostlist("n[0000000-0999999]");
  ASSERT_EQ(hosts.size(), kMaxHosts);
  EXPECT_EQ(hosts.front(), "n0000000");
  EXPECT_EQ(hosts.back(), "n0999999");
  EXPECT_EQ(expand_hostlist("n[0-99999999990000/999999999]").size(), 100'001U);
}

TEST(Hostlist, KeepsRepeatsWherePositionsMeanSomething) {
  EXPECT_EQ(expand_hostlist_keeping_repeats("leaf[0-1],leaf0"), words("leaf0 leaf1 leaf0"));
  EXPECT_EQ(expand_hostlist_keeping_repeats("a,a,b,!b"), words("a a"));
}

TEST(Hostlist, FoldsForPrint) {
  const struct {
    std::string hosts, folded;
  } cases[] = {
      {"", ""},
      {"gpu1", "gpu1"},
      {"login", "login"},
      {"gpu001 gpu002 gpu003 gpu007", "gpu[001-003,007]"},
      {"gpu1 gpu2", "gpu[1-2]"},
      {"gpu2 gpu1 gpu2", "gpu[1-2]"},
      {"n8 n9 n10 n11", "n[8-11]"},
      {"n08 n09 n10 n11", "n[08-11]"},
      {"n99 n100 n101", "n[99-101]"},
      {"n099 n100 n101", "n[099-101]"},
      {"n1 n01 n001", "n1,n01,n001"},
      {"n8 n9 n08 n09 n10 n11", "n[8-9],n[08-11]"},
      {"n08 n09 n10 n100 n101", "n[08-10],n[100-101]"},
      {"serv01 serv3 serv2", "serv01,serv[2-3]"},
      {"k09 k010", "k09,k010"},
      {"r1n01 r1n02 r2n01 r2n02", "r1n[01-02],r2n[01-02]"},
      {"n1-ib0 n2-ib0 n3-ib0", "n[1-3]-ib0"},
      {"n1-ib0 n1-ib1 n2-ib0 n3-ib0", "n1-ib[0-1],n[2-3]-ib0"},
      {"a1.example.net a2.example.net", "a[1-2].example.net"},
      {"10 11 12", "[10-12]"},
      {"gpu1 login gpu2 gpu5", "gpu[1-2,5],login"},
      {"login gpu2 gpu1", "login,gpu[1-2]"},
      {"vma414bbc00005I vma414bbc00005J", "vma414bbc00005I,vma414bbc00005J"},
      {"n9223372036854775807 n9223372036854775808", "n[9223372036854775807-9223372036854775808]"},
  };
  for (const auto& c : cases)
    EXPECT_EQ(fold_hostlist(words(c.hosts)), c.folded) << c.hosts;
}

/// Names of every kind that one list may mix: few prefixes and numbers, so that many of them meet in a bracket.
std::string random_name(std::mt19937& random) {
  const auto one_of = [&](const std::vector<std::string>& choices) {
    return choices[std::uniform_int_distribution<std::size_t>(0, choices.size() - 1)(random)];
  };
  const auto number = [&] {
    std::string digits = std::to_string(std::uniform_int_distribution<int>(0, 120)(random));
    const auto width = std::uniform_int_distribution<std::size_t>(0, 4)(random);
    if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
    if (std::uniform_int_distribution<int>(0, 19)(random) == 0) digits.insert(0, "99999999999999999999");
    return digits;
  };
  switch (std::uniform_int_distribution<int>(0, 5)(random)) {
    case 0:
      return one_of({"login", "gpu", "a.b", "x-", "y_"});
    case 1:
      return one_of({"gpu", "n", "", "rack-"}) + number();
    case 2:
      return one_of({"n", "r"}) + number() + one_of({"-ib0", "-ib", ".example.net", "x", ".pod1."});
    case 3:
      return "r" + number() + "n" + number();
    case 4:
      return number() + "-" + number() + "." + number();
    default:
      return "su" + number() + one_of({".pod", "-"}) + number() + "c";
  }
}

TEST(Hostlist, FoldingAndExpandingAreInverse) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 2000; ++round) {
    Hosts hosts;
    const int size = std::uniform_int_distribution<int>(1, 60)(random);
    for (int i = 0; i < size; ++i)
      hosts.push_back(random_name(random));
    const std::string folded = fold_hostlist(hosts);
    const Hosts expanded = expand_hostlist(folded);
    ASSERT_EQ(as_set(expanded), as_set(hosts)) << folded;
    ASSERT_EQ(expanded.size(), as_set(hosts).size()) << "a host is in two groups of " << folded;
    ASSERT_EQ(fold_hostlist(expanded), folded);
    std::shuffle(hosts.begin(), hosts.end(), random);
    ASSERT_EQ(as_set(expand_hostlist(fold_hostlist(hosts))), as_set(expanded));
  }
}

TEST(Hostlist, ExcludesAndDropsRepeatsInOrder) {
  EXPECT_EQ(exclude_hosts(words("c a b a"), words("a d")), words("c b"));
  EXPECT_EQ(exclude_hosts(words("a"), words("a")), Hosts{});
  EXPECT_EQ(exclude_hosts(words("gpu1 gpu01"), words("gpu01")), words("gpu1"));
  EXPECT_EQ(without_repeats(words("c a c b a")), words("c a b"));
  EXPECT_EQ(without_repeats(words("c a b")), words("c a b"));
}

// Expressions of Slurm's own tests. Its lists keep duplicates, weft's do not.
TEST(Hostlist, ExpandsAndFoldsSlurmsCases) {
  const std::string path = WEFT_SOURCE_DIR "/../shared/data/hostlist/slurm_hostlist_cases.tsv";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "needs " << path;
  struct Count {
    std::size_t written, distinct;
  };
  // The second row's own count, 13, is one too high: 4 + 1 + 2 + 3 + 2.
  const std::map<std::string, Count> with_duplicates = {
      {"node0,node3,node4,node8,linux,linux2,linux5,node4", {8, 7}},
      {"node[0,3-4,8],linux,linux[2,5],node[4,12,15],linux[8,23]", {12, 11}}};
  const std::map<std::string, std::string> folded_across_the_list = {
      {"node[0,3-4,8],linux,linux[2,5],node[4,12,15],linux[8,23]", "node[0,3-4,8,12,15],linux,linux[2,5,8,23]"}};
  std::ifstream file(path);
  int rows = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#') || line.empty()) continue;
    SCOPED_TRACE(line);
    ++rows;
    std::vector<std::string> columns;
    std::istringstream stream(line);
    for (std::string column; std::getline(stream, column, '\t');)
      columns.push_back(column);
    ASSERT_GE(columns.size(), 2U);
    if (columns[1] == "LIMIT") {
      EXPECT_THAT(error_of(columns[0]).what, HasSubstr("more than 1000000 hosts"));
      continue;
    }
    ASSERT_GE(columns.size(), 5U);
    const Hosts hosts = expand_hostlist(columns[0]);
    const auto found = with_duplicates.find(columns[0]);
    const std::size_t in_file = std::stoul(columns[1]);
    const Count count = found == with_duplicates.end() ? Count{in_file, in_file} : found->second;
    EXPECT_EQ(hosts.size(), count.distinct);
    EXPECT_EQ(hosts.front(), columns[2]);
    const Hosts with_repeats = expand_hostlist_keeping_repeats(columns[0]);
    EXPECT_EQ(with_repeats.size(), count.written);
    EXPECT_EQ(with_repeats.back(), columns[3]);
    const std::string folded = fold_hostlist(hosts);
    EXPECT_EQ(as_set(expand_hostlist(folded)), as_set(hosts));
    const auto across = folded_across_the_list.find(columns[0]);
    const bool is_a_list = columns[4].find_first_of("( ") == std::string::npos;
    if (across != folded_across_the_list.end()) {
      EXPECT_EQ(folded, across->second);
    } else if (is_a_list) {
      EXPECT_EQ(folded, columns[4]);
    }
  }
  EXPECT_EQ(rows, 15);
}

}  // namespace
}  // namespace weft::topology
