#include "history/filesystem.h"

#include <vector>

#include <gtest/gtest.h>

#include "history/history.h"
#include "tests/history/sample_run.h"
#include "tests/history/scratch.h"

namespace weft::history {
namespace {

struct Row {
  std::uint32_t magic;
  const char* name;
  bool shared;
};

const std::vector<Row> kRows = {
    {0x00006969, "NFS", true},  {0x0BD00BD0, "Lustre", true}, {0x47504653, "GPFS", true}, {0x19830326, "BeeGFS", true},
    {0x0000517B, "SMB", true},  {0xFF534D42, "CIFS", true},   {0xFE534D42, "SMB2", true}, {0x00C36400, "CephFS", true},
    {0x65735546, "FUSE", true}, {0x0000EF53, "", false},  // ext4
    {0x58465342, "", false},                              // xfs
    {0x9123683E, "", false},                              // btrfs
    {0x01021994, "", false},                              // tmpfs
    {0x794C7630, "", false},                              // overlayfs
};

TEST(Filesystem, KnowsWhichOnesSeveralHostsMayShare) {
  for (const Row& row : kRows) {
    const Filesystem filesystem = filesystem_of_magic(row.magic);
    EXPECT_EQ(filesystem.name, row.name) << std::hex << row.magic;
    EXPECT_EQ(filesystem.shared, row.shared) << std::hex << row.magic;
  }
}

TEST(Filesystem, OfAPathThatDoesNotExistIsThatOfItsNearestParent) {
  EXPECT_EQ(filesystem_of("/proc/none/of/this").magic, 0x9FA0U);  // procfs
  EXPECT_EQ(filesystem_of("/none/of/this").magic, filesystem_of("/").magic);
}

TEST(Filesystem, DecidesTheJournal) {
  for (const Row& row : kRows) {
    const Scratch scratch;
    const std::string path = scratch / "weft.db";
    HistoryOptions options;
    options.filesystem = [&](const std::string& asked) {
      EXPECT_EQ(asked, path);
      return filesystem_of_magic(row.magic);
    };
    History history = History::open(path, options);
    history.begin_run(sample_info());

    Database database(path, Database::Mode::read_only, std::chrono::seconds(1));
    EXPECT_EQ(database.text("PRAGMA journal_mode"), row.shared ? "delete" : "wal") << std::hex << row.magic;
    EXPECT_EQ(std::filesystem::exists(path + ".lock"), row.shared) << std::hex << row.magic;
    ASSERT_EQ(history.notes().size(), row.shared ? 1U : 0U) << std::hex << row.magic;
    if (row.shared) {
      EXPECT_NE(history.notes()[0].find(row.name), std::string::npos) << history.notes()[0];
      EXPECT_NE(history.notes()[0].find(path + ".lock"), std::string::npos) << history.notes()[0];
    }
  }
}

TEST(Filesystem, AHistoryThatMovesToASharedOneLosesItsWriteAheadLogAndNothingElse) {
  const Scratch scratch;
  const std::string path = scratch / "weft.db";
  History::open(path).begin_run(sample_info());
  HistoryOptions shared;
  shared.filesystem = [](const std::string&) { return filesystem_of_magic(0x6969); };
  {
    History history = History::open(path, shared);
    EXPECT_EQ(history.list(10).size(), 1U);
  }
  EXPECT_FALSE(std::filesystem::exists(path + "-wal"));
  EXPECT_FALSE(std::filesystem::exists(path + ".lock")) << "released at the end";
  Database database(path, Database::Mode::read_only, std::chrono::seconds(1));
  EXPECT_EQ(database.text("PRAGMA journal_mode"), "delete");
}

}  // namespace
}  // namespace weft::history
