#include "history/host_lock.h"

#include <fstream>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "history/history.h"
#include "history/process.h"
#include "tests/history/sample_run.h"
#include "tests/history/scratch.h"

namespace weft::history {
namespace {

long dead_pid() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

HistoryOptions on_nfs() {
  HistoryOptions options;
  options.filesystem = [](const std::string&) { return filesystem_of_magic(0x6969); };
  return options;
}

TEST(HostLock, SaysWhoHoldsItAndGoesAway) {
  const Scratch scratch;
  {
    HostLock lock(scratch / "weft.db");
    EXPECT_FALSE(read_lock(lock.path())) << "held from the first write on";
    lock.hold();
    lock.hold();
    const auto holder = read_lock(scratch / "weft.db.lock");
    ASSERT_TRUE(holder);
    EXPECT_EQ(holder->host, host_name());
    EXPECT_EQ(holder->pid, ::getpid());
    EXPECT_EQ(holder->since.size(), std::string("2026-01-01T00:00:00Z").size());
  }
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path())) << "neither lock nor draft stays";
}

TEST(HostLock, OfADeadProcessOfThisHostIsTakenOver) {
  const Scratch scratch;
  ASSERT_TRUE(create_lock(scratch / "weft.db.lock", {host_name(), dead_pid(), "2026-01-01T00:00:00Z"}));
  {
    HostLock lock(scratch / "weft.db");
    lock.hold();
    EXPECT_EQ(read_lock(lock.path())->pid, ::getpid());
  }
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path()));
}

TEST(HostLock, OfALivingProcessOfThisHostIsSharedAndLeftAlone) {
  const Scratch scratch;
  const LockHolder other{host_name(), ::getppid(), "2026-01-01T00:00:00Z"};
  ASSERT_TRUE(create_lock(scratch / "weft.db.lock", other));
  {
    HostLock lock(scratch / "weft.db");
    lock.hold();
  }
  EXPECT_EQ(read_lock(scratch / "weft.db.lock"), other);
}

TEST(HostLock, OfAnotherHostIsRefusedWithTwoRemedies) {
  const Scratch scratch;
  ASSERT_TRUE(create_lock(scratch / "weft.db.lock", {"login2", 4711, "2026-01-01T00:00:00Z"}));
  const ErrorDetail detail = thrown_by<InputError>([&] { History::open(scratch / "weft.db", on_nfs()); });
  EXPECT_EQ(detail.where, scratch / "weft.db.lock");
  EXPECT_NE(detail.what.find("process 4711 on \"login2\" since 2026-01-01T00:00:00Z"), std::string::npos)
      << detail.what;
  EXPECT_NE(detail.next_step.find("wait"), std::string::npos);
  EXPECT_NE(detail.next_step.find("--db"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(scratch / "weft.db")) << "nothing was changed";
}

TEST(HostLock, ThatSaysNothingIsNotBroken) {
  for (const char* text : {"", "garbage\n", "[]", R"({"host":5})"}) {
    const Scratch scratch;
    std::ofstream(scratch / "weft.db.lock") << text;
    const ErrorDetail detail = thrown_by<InputError>([&] { HostLock(scratch / "weft.db").hold(); });
    EXPECT_NE(detail.what.find("does not say by whom"), std::string::npos) << text;
    EXPECT_TRUE(std::filesystem::exists(scratch / "weft.db.lock"));
  }
}

TEST(HostLock, IsLookedAtBeforeEveryWrite) {
  const Scratch scratch;
  const std::string lock = scratch / "weft.db.lock";
  History history = History::open(scratch / "weft.db", on_nfs());
  const std::int64_t id = history.begin_run(sample_info());
  std::filesystem::remove(lock);
  history.record_round(id, sample_failed_round(1));
  EXPECT_TRUE(std::filesystem::exists(lock)) << "the host's first holder has left, and we are still here";

  std::filesystem::remove(lock);
  ASSERT_TRUE(create_lock(lock, {"login2", 1, "2026-01-01T00:00:00Z"}));
  EXPECT_THROW(history.record_round(id, sample_failed_round(2)), InputError);
  EXPECT_EQ(history.load(id).result.rounds.size(), 1U);
}

TEST(HostLock, TwoHistoriesOfOneHostOnASharedFileSystemBothWrite) {
  const Scratch scratch;
  History first = History::open(scratch / "weft.db", on_nfs());
  History second = History::open(scratch / "weft.db", on_nfs());
  const std::int64_t a = first.begin_run(sample_info());
  const std::int64_t b = second.begin_run(sample_info());
  first.record_round(a, sample_failed_round(1));
  second.record_round(b, sample_failed_round(1));
  EXPECT_NE(a, b);
  EXPECT_EQ(first.list(10).size(), 2U);
}

TEST(HostLock, InADirectoryThatCannotBeWrittenSaysSo) {
  const Scratch scratch;
  std::filesystem::permissions(scratch.path(), std::filesystem::perms(0555));
  const Unprivileged unprivileged;
  const ErrorDetail detail = thrown_by<RunError>([&] { HostLock(scratch / "weft.db").hold(); });
  EXPECT_EQ(detail.what, "cannot write the lock file: Permission denied");
}

}  // namespace
}  // namespace weft::history
