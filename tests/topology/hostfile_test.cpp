#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <streambuf>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/error.h"
#include "topology/hostlist.h"

namespace weft::topology {
namespace {

using Hosts = std::vector<std::string>;
using ::testing::HasSubstr;

Hosts parse(const std::string& text) {
  std::istringstream input(text);
  return parse_hostfile(input, "hosts.txt");
}

Hosts words(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

ErrorDetail error_of(const std::string& text) {
  try {
    parse(text);
  } catch (const InputError& error) {
    return error.detail();
  }
  ADD_FAILURE() << "accepted: " << text;
  return {};
}

/// A file that is gone when the test is.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text)
      : path_(::testing::TempDir() + "weft-hostfile-" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(Hostfile, ReadsTheFormsPeopleAndMpiWrite) {
  const struct {
    std::string text, hosts;
  } cases[] = {
      {"gpu001\ngpu002\n", "gpu001 gpu002"},
      {"gpu001", "gpu001"},
      {"\n\n  gpu001  \n\n", "gpu001"},
      {"gpu[001-003]\n", "gpu001 gpu002 gpu003"},
      {"gpu001 gpu002,gpu003\n", "gpu001 gpu002 gpu003"},
      {"# all of su1\ngpu001 # rack 7\ngpu002#x\n", "gpu001 gpu002"},
      {"gpu001 slots=8\ngpu002 slots=8 max_slots=16\ngpu003 max-slots=8\n", "gpu001 gpu002 gpu003"},
      {"gpu001 slots = 8\ngpu002 slots= 8\ngpu003 slots =8\n", "gpu001 gpu002 gpu003"},
      {"gpu001 slots=8 gpu002 slots=8\n", "gpu001 gpu002"},
      {"gpu001:8\ngpu[002-003]:8\ngpu004:8,gpu005:8\n", "gpu001 gpu002 gpu003 gpu004 gpu005"},
      {"gpu001\r\ngpu002 slots=8\r\n", "gpu001 gpu002"},
      {"\xEF\xBB\xBFgpu001\n", "gpu001"},
      {"gpu001\ngpu001\ngpu002\n", "gpu001 gpu002"},
      {"gpu[001-003]\n!gpu002\n", "gpu001 gpu003"},
      {"!gpu002\ngpu[001-003]\n", "gpu001 gpu003"},
      {"slots\nslots1 slots=2\nmax_slots\n", "slots slots1 max_slots"},
      {"\nvma414bbc00005I\nvma414bbc00005J\n", "vma414bbc00005I vma414bbc00005J"},
  };
  for (const auto& c : cases)
    EXPECT_EQ(parse(c.text), words(c.hosts)) << c.text;
}

TEST(Hostfile, RefusesABadLineAtItsColumn) {
  const struct {
    std::string text, where, what;
  } cases[] = {
      {"gpu001\ngpu002 gpu[1-\n", "hosts.txt:2:11", "not closed"},
      {"gpu001 slots=8 gpu;2\n", "hosts.txt:1:19", "illegal character \";\""},
      {"gpu001:8 gpu002,,gpu003\n", "hosts.txt:1:17", "empty item"},
      {"\xEF\xBB\xBF,gpu001\n", "hosts.txt:1:1", "empty item"},
      {"gpu001\n\n# x\nslots=8\n", "hosts.txt:4:1", "slots without a host"},
      {"gpu001 slots=x\n", "hosts.txt:1:14", "not a number of slots"},
      {"gpu001 slots=\n", "hosts.txt:1:14", "not a number of slots"},
      {"gpu001 slots=8x\n", "hosts.txt:1:14", "not a number of slots"},
      {"gpu001 slots=-1\n", "hosts.txt:1:14", "not a number of slots"},
      {"gpu001 slotz=8\n", "hosts.txt:1:13", "illegal character \"=\""},
      {"gpu001:\n", "hosts.txt:1:7", "`:`"},
      {"gpu001:x\n", "hosts.txt:1:7", "`:`"},
      {":8\n", "hosts.txt:1:1", "`:`"},
      {"gpu001,:8\n", "hosts.txt:1:8", "`:`"},
      {"gpu001:8:8\n", "hosts.txt:1:7", "`:`"},
      {"fe80::1\n", "hosts.txt:1:5", "`:`"},
      {"gpu001\n-oProxyCommand=x\n", "hosts.txt:2:15", "illegal character \"=\""},
      {"gpu001\n-rf\n", "hosts.txt:2:1", "starts with `-`"},
      {std::string("gpu001\n\0\n", 9), "hosts.txt:2:1", R"("\x00")"},
      {"\xFF\xFEg", "hosts.txt:1:1", R"("\xff")"},
      {"n[1-600000]\nm[1-600000]\n", "hosts.txt:2:1", "more than 1000000 hosts"},
      {"", "hosts.txt", "names no host"},
      {"\n# nobody\n", "hosts.txt", "names no host"},
      {"gpu1\n!gpu1\n", "hosts.txt", "names no host"},
  };
  for (const auto& c : cases) {
    const ErrorDetail error = error_of(c.text);
    EXPECT_EQ(error.where, c.where) << c.text;
    EXPECT_THAT(error.what, HasSubstr(c.what)) << c.text;
    EXPECT_FALSE(error.expected.empty()) << c.text;
  }
}

TEST(Hostfile, ReadsAFile) {
  const TemporaryFile file("gpu[1-2]\n");
  EXPECT_EQ(read_hostfile(file.path()), words("gpu1 gpu2"));
}

TEST(Hostfile, NamesTheFileInItsErrors) {
  const TemporaryFile file("gpu1\ngpu[\n");
  try {
    read_hostfile(file.path());
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(error.detail().where, file.path() + ":2:4");
  }
}

TEST(Hostfile, ReadsStandardInput) {
  std::istringstream input("gpu[1-2]\n");
  std::streambuf* const before = std::cin.rdbuf(input.rdbuf());
  const Hosts hosts = read_hostfile("-");
  std::cin.rdbuf(before);
  std::cin.clear();
  EXPECT_EQ(hosts, words("gpu1 gpu2"));
}

TEST(Hostfile, RefusesWhatIsNoReadableFile) {
  const struct {
    std::string path, what;
  } cases[] = {
      {::testing::TempDir() + "weft-no-such-hostfile", "No such file"},
      {::testing::TempDir(), "is a directory"},
      {"", "No such file"},
      {"/dev/null", "names no host"},
  };
  for (const auto& c : cases) {
    try {
      read_hostfile(c.path);
      ADD_FAILURE() << "accepted: " << c.path;
    } catch (const InputError& error) {
      EXPECT_EQ(error.detail().where, c.path);
      EXPECT_THAT(error.detail().what, HasSubstr(c.what));
    }
  }
}

TEST(Hostfile, RefusesAFileWithoutEnd) {
  try {
    read_hostfile("/dev/zero");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "/dev/zero: goes on past 64 MiB; expected a text file that a person could have written");
  }
}

TEST(Hostfile, ReadsAHostFileOfABenchmarkSuite) {
  const std::string path = WEFT_SOURCE_DIR "/../shared/data/hostlist/superbench_hostfile.txt";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "needs " << path;
  const Hosts hosts = read_hostfile(path);
  ASSERT_EQ(hosts.size(), 10U);
  EXPECT_EQ(hosts.front(), "vma414bbc00005I");
  EXPECT_EQ(hosts.back(), "vma414bbc00005R");
  EXPECT_EQ(expand_hostlist(fold_hostlist(hosts)), hosts);
}

}  // namespace
}  // namespace weft::topology
