#include <fstream>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "history/history.h"
#include "history/schema.h"
#include "tests/history/sample_run.h"
#include "tests/history/scratch.h"

namespace weft::history {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

template <typename Refusal = RunError>
std::string open_refusal(const std::string& path) {
  const ErrorDetail detail = thrown_by<Refusal>([&] { History::open(path); });
  EXPECT_EQ(detail.where, path);
  EXPECT_FALSE(detail.next_step.empty()) << detail.what;
  return detail.what;
}

template <typename Refusal = RunError>
std::string read_refusal(const std::string& path) {
  const ErrorDetail detail = thrown_by<Refusal>([&] { History::open_to_read(path); });
  EXPECT_EQ(detail.where, path);
  return detail.what;
}

void store_many(const std::string& path, int runs) {
  History history = History::open(path);
  for (int i = 0; i < runs; ++i) {
    const std::int64_t id = history.begin_run(sample_info());
    history.record_round(id, sample_failed_round(1));
    history.finish_run(id, sample_run());
  }
}

TEST(HistoryErrors, ADirectory) {
  const Scratch scratch;
  EXPECT_EQ(open_refusal<InputError>(scratch.path()), "the history is a directory");
  EXPECT_EQ(read_refusal<InputError>(scratch.path()), "the history is a directory");
}

TEST(HistoryErrors, ADeviceOrAFifo) {
  const Scratch scratch;
  ASSERT_EQ(::mkfifo((scratch / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(open_refusal<InputError>(scratch / "fifo"), "the history is not a plain file");
  EXPECT_EQ(open_refusal<InputError>("/dev/null"), "the history is not a plain file");
}

TEST(HistoryErrors, NoFileToRead) {
  const Scratch scratch;
  const ErrorDetail detail = thrown_by<InputError>([&] { History::open_to_read(scratch / "weft.db"); });
  EXPECT_EQ(detail.what, "there is no history");
  EXPECT_FALSE(fs::exists(scratch / "weft.db")) << "reading makes nothing";
}

TEST(HistoryErrors, AReadOnlyFile) {
  const Scratch scratch;
  store_many(scratch / "weft.db", 1);
  fs::permissions(scratch.path(), fs::perms(0777));
  fs::permissions(scratch / "weft.db", fs::perms(0444));
  const Unprivileged unprivileged;
  EXPECT_THAT(open_refusal(scratch / "weft.db"), HasSubstr("not writable"));
}

TEST(HistoryErrors, AReadOnlyDirectory) {
  const Scratch scratch;
  fs::permissions(scratch.path(), fs::perms(0555));
  const Unprivileged unprivileged;
  EXPECT_EQ(open_refusal(scratch / "weft.db"), "cannot make the history: Permission denied");
}

TEST(HistoryErrors, AWritableFileInAReadOnlyDirectory) {
  const Scratch scratch;
  store_many(scratch / "weft.db", 1);
  fs::permissions(scratch / "weft.db", fs::perms(0666));
  fs::permissions(scratch.path(), fs::perms(0555));
  const Unprivileged unprivileged;
  EXPECT_NE(open_refusal(scratch / "weft.db"), "");
}

TEST(HistoryErrors, NotADatabase) {
  const Scratch scratch;
  const std::string text(5000, 'x');
  std::ofstream(scratch / "notes.txt") << text;
  EXPECT_THAT(open_refusal(scratch / "notes.txt"), HasSubstr("not a weft history"));
  EXPECT_THAT(read_refusal(scratch / "notes.txt"), HasSubstr("not a weft history"));
  EXPECT_EQ(fs::file_size(scratch / "notes.txt"), text.size()) << "left as it was";
}

TEST(HistoryErrors, AnotherProgramsDatabase) {
  const Scratch scratch;
  Database(scratch / "other.db", Database::Mode::read_write, std::chrono::seconds(1))
      .execute("CREATE TABLE cookies (a)");
  EXPECT_THAT(open_refusal(scratch / "other.db"), HasSubstr("another program's"));
  EXPECT_THAT(read_refusal(scratch / "other.db"), HasSubstr("another program's"));
}

TEST(HistoryErrors, AnEmptyFileBecomesAHistory) {
  const Scratch scratch;
  std::ofstream(scratch / "weft.db").flush();
  EXPECT_TRUE(History::open(scratch / "weft.db").list(10).empty());
}

TEST(HistoryErrors, WrittenByANewerWeft) {
  const Scratch scratch;
  store_many(scratch / "weft.db", 1);
  Database(scratch / "weft.db", Database::Mode::read_write, std::chrono::seconds(1))
      .execute("PRAGMA user_version = 99");
  const std::string expected = "the history was written by a newer weft (schema 99; this weft knows up to 1)";
  EXPECT_EQ(open_refusal(scratch / "weft.db"), expected);
  EXPECT_EQ(read_refusal(scratch / "weft.db"), expected);
}

TEST(HistoryErrors, ADamagedHeader) {
  const Scratch scratch;
  store_many(scratch / "weft.db", 1);
  std::fstream file(scratch / "weft.db", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(100);  // the first page's tree, which holds the schema
  file << std::string(2000, '\xff');
  file.close();
  EXPECT_THAT(open_refusal(scratch / "weft.db"), HasSubstr("damaged"));
}

TEST(HistoryErrors, DamagedInTheMiddle) {
  const Scratch scratch;
  store_many(scratch / "weft.db", 50);
  const auto size = fs::file_size(scratch / "weft.db");
  std::fstream file(scratch / "weft.db", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(4096);
  file << std::string(size - 4096, '\xff');
  file.close();
  const ErrorDetail detail = thrown_by<RunError>([&] { History::open_to_read(scratch / "weft.db").list(10); });
  EXPECT_THAT(detail.what, HasSubstr("damaged"));
  EXPECT_THAT(detail.next_step, HasSubstr(".recover"));
}

TEST(HistoryErrors, CutShort) {
  const Scratch scratch;
  store_many(scratch / "weft.db", 50);
  fs::resize_file(scratch / "weft.db", fs::file_size(scratch / "weft.db") / 2);
  const ErrorDetail detail = thrown_by<RunError>([&] {
    History history = History::open(scratch / "weft.db");
    for (const RunSummary& run : history.list(1000))
      history.load(run.id);
  });
  EXPECT_THAT(detail.what, HasSubstr("damaged"));
}

TEST(HistoryErrors, ARowThatNoWeftWrote) {
  const Scratch scratch;
  store_many(scratch / "weft.db", 1);
  Database database(scratch / "weft.db", Database::Mode::read_write, std::chrono::seconds(1));
  for (const char* sql : {"UPDATE probe SET status = 'sideways'", "UPDATE run SET notes = '{oops'",
                          "UPDATE run SET unresolved = '[{}]'", "UPDATE finding SET evidence = '[{\"where\": 5}]'"}) {
    database.execute("SAVEPOINT before");
    database.execute(sql);
    database.execute("RELEASE before");
    const ErrorDetail detail = thrown_by<RunError>([&] { History::open_to_read(scratch / "weft.db").load(1); });
    EXPECT_THAT(detail.what, HasSubstr("damaged")) << sql;
  }
}

TEST(HistoryErrors, LockedForTooLong) {
  const Scratch scratch;
  HistoryOptions options;
  options.busy_timeout = std::chrono::milliseconds(50);
  History history = History::open(scratch / "weft.db", options);
  Database other(scratch / "weft.db", Database::Mode::read_write, std::chrono::seconds(1));
  const Transaction held(other);
  const ErrorDetail detail = thrown_by<RunError>([&] { history.begin_run(sample_info()); });
  EXPECT_THAT(detail.what, HasSubstr("locked for more than 0.05 s"));
  EXPECT_EQ(detail.where, scratch / "weft.db");
}

/// A file system of a few pages, where we may mount one.
class SmallDisk {
 public:
  explicit SmallDisk(const std::string& size)
      : mounted_(::mount("tmpfs", scratch_.path().c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0) {}
  ~SmallDisk() {
    if (mounted_) ::umount2(scratch_.path().c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool mounted() const { return mounted_; }
  bool make_read_only() { return ::mount("", scratch_.path().c_str(), "", MS_REMOUNT | MS_RDONLY, "") == 0; }
  std::string operator/(const std::string& name) const { return scratch_ / name; }

 private:
  Scratch scratch_;
  bool mounted_;
};

TEST(HistoryErrors, AFullDisk) {
  const SmallDisk disk("400k");
  if (!disk.mounted()) GTEST_SKIP() << "may not mount a file system here";
  const ErrorDetail detail = thrown_by<RunError>([&] {
    for (int i = 0; i < 1000; ++i)
      store_many(disk / "weft.db", 1);
  });
  EXPECT_THAT(detail.what, HasSubstr("the disk is full"));
  EXPECT_EQ(detail.where, disk / "weft.db");
  History history = History::open_to_read(disk / "weft.db");
  EXPECT_FALSE(history.list(1000).empty()) << "what was written before is still there";
}

TEST(HistoryErrors, ADiskThatIsFullFromTheStart) {
  const SmallDisk disk("16k");
  if (!disk.mounted()) GTEST_SKIP() << "may not mount a file system here";
  std::ofstream(disk / "filler") << std::string(64'000, 'x');
  EXPECT_THAT(open_refusal(disk / "weft.db"), testing::AnyOf(HasSubstr("disk is full"), HasSubstr("No space left")));
}

TEST(HistoryErrors, AReadOnlyFileSystemCanBeRead) {
  SmallDisk disk("1m");
  if (!disk.mounted()) GTEST_SKIP() << "may not mount a file system here";
  store_many(disk / "weft.db", 1);
  ASSERT_TRUE(disk.make_read_only());
  EXPECT_EQ(History::open_to_read(disk / "weft.db").list(10).size(), 1U);
  EXPECT_NE(open_refusal(disk / "weft.db"), "");
}

}  // namespace
}  // namespace weft::history
