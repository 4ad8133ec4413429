#include "history/sqlite.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/history/scratch.h"

namespace weft::history {
namespace {

using std::chrono::milliseconds;

Database open_in(const Scratch& scratch) {
  return {scratch / "test.db", Database::Mode::read_write, milliseconds(100)};
}

TEST(Sqlite, GivesBackWhatWasBound) {
  const Scratch scratch;
  Database database = open_in(scratch);
  database.execute("CREATE TABLE t (a INTEGER, b REAL, c TEXT, d REAL, e INTEGER)");
  const std::string bytes("a\0b\n\"'", 6);
  database.prepare("INSERT INTO t VALUES (?,?,?,?,?)")
      .run(std::numeric_limits<std::int64_t>::min(), 0.1, bytes, std::optional<double>(), std::optional<int>(7));
  Statement select = database.prepare("SELECT a, b, c, d, e FROM t");
  ASSERT_TRUE(select.step());
  EXPECT_EQ(select.integer(0), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(select.real(1), 0.1);
  EXPECT_EQ(select.text(2), bytes);
  EXPECT_FALSE(select.optional_real(3));
  EXPECT_EQ(select.optional_integer(4), 7);
  EXPECT_FALSE(select.step());
}

TEST(Sqlite, StoresNumbersThatAreNotFiniteAsNull) {
  const Scratch scratch;
  Database database = open_in(scratch);
  database.execute("CREATE TABLE t (a REAL)");
  Statement insert = database.prepare("INSERT INTO t VALUES (?)");
  for (const double value : {std::nan(""), HUGE_VAL, -HUGE_VAL})
    insert.run(value);
  EXPECT_EQ(database.integer("SELECT count(*) FROM t WHERE a IS NULL"), 3);
}

TEST(Sqlite, EmptyTextIsNotNull) {
  const Scratch scratch;
  Database database = open_in(scratch);
  database.execute("CREATE TABLE t (a TEXT NOT NULL)");
  database.prepare("INSERT INTO t VALUES (?)").run(std::string_view());
  EXPECT_EQ(database.integer("SELECT count(*) FROM t WHERE a = ''"), 1);
}

TEST(Sqlite, ATransactionThatIsNotCommittedLeavesNothing) {
  const Scratch scratch;
  Database database = open_in(scratch);
  database.execute("CREATE TABLE t (a INTEGER)");
  {
    const Transaction transaction(database);
    database.execute("INSERT INTO t VALUES (1)");
  }
  EXPECT_EQ(database.integer("SELECT count(*) FROM t"), 0);
  Transaction transaction(database);
  database.execute("INSERT INTO t VALUES (1)");
  transaction.commit();
  EXPECT_EQ(database.integer("SELECT count(*) FROM t"), 1);
}

TEST(Sqlite, FilesAreTheirOwnersAlone) {
  const Scratch scratch;
  const mode_t before = ::umask(0);
  const Database database = open_in(scratch);
  ::umask(before);
  struct stat state {};
  ASSERT_EQ(::stat((scratch / "test.db").c_str(), &state), 0);
  EXPECT_EQ(state.st_mode & 0777, 0600U);
}

TEST(Sqlite, SaysThatTheFileIsFull) {
  const Scratch scratch;
  Database database = open_in(scratch);
  database.execute("CREATE TABLE t (a TEXT); PRAGMA max_page_count = 3");
  const ErrorDetail detail =
      thrown_by<RunError>([&] { database.prepare("INSERT INTO t VALUES (?)").run(std::string(100'000, 'x')); });
  EXPECT_EQ(detail.what, "cannot write to it: the disk is full");
  EXPECT_EQ(detail.where, scratch / "test.db");
  EXPECT_FALSE(detail.next_step.empty());
}

TEST(Sqlite, SaysHowLongItWaitedForALock) {
  const Scratch scratch;
  Database first = open_in(scratch);
  Database second = open_in(scratch);
  const Transaction held(first);
  const ErrorDetail detail = thrown_by<RunError>([&] { const Transaction transaction(second); });
  EXPECT_EQ(detail.what, "cannot use it: another program has kept the history locked for more than 0.1 s");
  EXPECT_TRUE(second.was_busy());
}

TEST(Sqlite, ReadsAnImmutableFileWhoseNameHasSpecialCharacters) {
  const Scratch scratch;
  const std::string path = scratch / "50% of #1?.db";
  Database(path, Database::Mode::read_write, milliseconds(100)).execute("CREATE TABLE t (a); INSERT INTO t VALUES (5)");
  Database database(path, Database::Mode::immutable, milliseconds(100));
  EXPECT_EQ(database.integer("SELECT a FROM t"), 5);
}

}  // namespace
}  // namespace weft::history
