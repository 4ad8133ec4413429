#include "probes/collective/measurement_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "topology/error.h"

namespace weft::probes {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

/// A folder of its own for each test, gone with it.
class MeasurementFiles : public testing::Test {
 protected:
  MeasurementFiles()
      : folder_(fs::path(testing::TempDir()) / ("weft-files-" + std::to_string(getpid()) + "-" +
                                                testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::create_directory(folder_);
  }
  ~MeasurementFiles() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string folder() const { return folder_.string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return path(name);
  }
  ErrorDetail error_of(const std::vector<std::string>& paths) const {
    try {
      load_measurements(paths);
    } catch (const InputError& error) {
      return error.detail();
    }
    ADD_FAILURE() << "accepted";
    return {};
  }

 private:
  fs::path folder_;
};

/// What two ranks of nccl-tests on each of these hosts print, at this bus bandwidth.
std::string log_of(const std::vector<std::string>& hosts, const std::string& busbw, const std::string& wrong = "0") {
  std::string text =
      "# nThread 1 nGpus 1 minBytes 1073741824 maxBytes 1073741824 step: 2(factor) warmup iters: 5 iters: 20\n"
      "#\n# Using devices\n";
  int rank = 0;
  for (const std::string& host : hosts) {
    for (int device = 0; device < 2; ++device, ++rank) {
      text += "#  Rank  " + std::to_string(rank) + " Group  0 Pid  " + std::to_string(4000 + rank) + " on " + host +
              " device  " + std::to_string(device) + " [0x1b] NVIDIA H100\n";
    }
  }
  text +=
      "#\n"
      "#                                                              out-of-place                       in-place\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
      "#wrong\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n"
      "  1073741824     268435456     float     sum      -1   7000.0  153.39  " +
      busbw + "      " + wrong + "   7000.0  153.39  " + busbw + "      " + wrong +
      "\n# Out of bounds values : 0 OK\n# Avg bus bandwidth    : " + busbw + "\n#\n";
  return text;
}

TEST_F(MeasurementFiles, ReadsLogsWhoseDeviceLinesNameTheHosts) {
  write("1.log", log_of({"n1", "n2"}, "230.09"));
  write("2.log", log_of({"n3", "n4"}, "115.50"));
  const MeasurementTable table = load_measurements({folder()});
  ASSERT_EQ(table.measurements.size(), 2U);
  EXPECT_THAT(table.measurements[0].group.nodes, ElementsAre("n1", "n2"));
  EXPECT_DOUBLE_EQ(table.measurements[0].busbw_gbps, 230.09);
  EXPECT_EQ(table.measurements[0].bytes, 1073741824U);
  EXPECT_EQ(table.measurements[0].ranks, 4);
  EXPECT_DOUBLE_EQ(table.measurements[1].busbw_gbps, 115.5);
  EXPECT_THAT(table.nodes, ElementsAre("n1", "n2", "n3", "n4"));
  EXPECT_THAT(table.notes, IsEmpty());
}

TEST_F(MeasurementFiles, ALogWithWrongDataIsACorruptMeasurement) {
  const MeasurementTable table = load_measurements({write("a.log", log_of({"n1", "n2"}, "230.09", "17"))});
  ASSERT_EQ(table.measurements.size(), 1U);
  EXPECT_EQ(table.measurements[0].status, Status::corrupt);
  EXPECT_DOUBLE_EQ(table.measurements[0].busbw_gbps, 0);
}

TEST_F(MeasurementFiles, ALogThatIsNoMeasurementBecomesANoteWithItsReason) {
  write("a.log", log_of({"n1", "n2"}, "230.09"));
  // Two jobs at once, where one of two nodes was wanted: rows of both after the headers of both.
  const std::string one = log_of({"n1"}, "230.09");
  const std::string other = log_of({"n2"}, "230.09");
  const std::size_t half = one.find("#\n#  ");
  write("split.log", one.substr(0, half) + other.substr(0, half) + one.substr(half) + other.substr(half));
  write("crashed.log",
        "# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor)\nn1: Test NCCL failure common.cu:303 "
        "'unhandled system error'\n");
  write("notes.md", "Runs of last night, before the firmware.\n");
  write("empty.log", "");
  write(".hidden", "a,b,busbw\nn8,n9,not a number\n");
  fs::create_directory(path("older"));
  const MeasurementTable table = load_measurements({folder()});
  EXPECT_EQ(table.measurements.size(), 1U);
  EXPECT_THAT(table.notes, ElementsAre(AllOf(StartsWith(path("crashed.log")), HasSubstr("left out: ")),
                                       AllOf(StartsWith(path("empty.log")), HasSubstr("neither a table")),
                                       AllOf(StartsWith(path("notes.md")), HasSubstr("neither a table")),
                                       AllOf(StartsWith(path("split.log")), HasSubstr("left out: 2 jobs of 2 ranks"))));
}

TEST_F(MeasurementFiles, JobsThatRanOneAfterTheOtherAreAMeasurementEach) {
  const MeasurementTable table = load_measurements(
      {write("pairs.log", "starting\n" + log_of({"n1", "n2"}, "230.09") + "next\n" + log_of({"n3", "n4"}, "115.50") +
                              log_of({"n1", "n2"}, "229.00") + "# nThread 1 nGpus 1 minBytes 8 maxBytes 8\n")});
  ASSERT_EQ(table.measurements.size(), 3U);
  EXPECT_THAT(table.measurements[0].group.nodes, ElementsAre("n1", "n2"));
  EXPECT_DOUBLE_EQ(table.measurements[0].busbw_gbps, 229);
  EXPECT_DOUBLE_EQ(table.measurements[1].busbw_gbps, 230.09);
  EXPECT_THAT(table.measurements[2].group.nodes, ElementsAre("n3", "n4"));
  EXPECT_THAT(table.notes, ElementsAre(HasSubstr("pairs.log: job 4: left out: 0 result rows.")));
}

TEST_F(MeasurementFiles, AFileNamedTwiceIsReadOnce) {
  const std::string file = write("pairs.csv", "a,b,busbw\nn1,n2,50\nn1,n2,50\n");
  fs::create_symlink(file, path("link.csv"));
  EXPECT_EQ(load_measurements({file, file, folder(), path("link.csv")}).measurements.size(), 2U)
      << "rows may repeat, files may not";
}

TEST_F(MeasurementFiles, AnyOrderOfFilesAndRowsGivesTheSame) {
  std::vector<std::string> rows = {"n2,n1,50,1,,",  "n1,n3,97,,1,",   "n1,n3,97,0,1,",    "n4,n5,,,2,hung",
                                   "n1,n3,98,1,2,", "n2,n4,49.9,,1,", "n2,n4,,,2,failed", "n1,n2,50,1,,"};
  constexpr unsigned kSeed = 11;
  std::mt19937 random(kSeed);
  std::optional<MeasurementTable> first;
  for (int shuffle = 0; shuffle < 20; ++shuffle) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << " shuffle " << shuffle);
    std::string text = "a,b,busbw,fresh,round,status\n";
    for (const std::string& row : rows)
      text += row + "\n";
    std::vector<std::string> files = {write("a.csv", text), write("b.txt", "n7 n8 97.5\n"),
                                      write("c.csv", "members,busbw,when\nn9,60,noon\n"),
                                      write("d.log", "# nThread 1 nGpus 1 minBytes 8\n")};
    std::shuffle(files.begin(), files.end(), random);
    std::shuffle(rows.begin(), rows.end(), random);
    const MeasurementTable table = load_measurements(files);
    if (!first) first = table;
    ASSERT_EQ(table.measurements.size(), first->measurements.size());
    for (std::size_t i = 0; i < table.measurements.size(); ++i) {
      EXPECT_EQ(table.measurements[i].group, first->measurements[i].group) << i;
      EXPECT_EQ(table.measurements[i].status, first->measurements[i].status) << i;
      EXPECT_DOUBLE_EQ(table.measurements[i].busbw_gbps, first->measurements[i].busbw_gbps) << i;
    }
    EXPECT_EQ(table.rounds, first->rounds);
    EXPECT_EQ(table.properties, first->properties);
    EXPECT_EQ(table.nodes, first->nodes);
    EXPECT_EQ(table.notes, first->notes);
  }
}

TEST_F(MeasurementFiles, RefusesWhatCannotBeRead) {
  EXPECT_THAT(error_of({path("no-such.csv")}).what, HasSubstr("No such file"));
  EXPECT_THAT(error_of({folder()}).what, HasSubstr("the folder has no files"));
  EXPECT_THAT(error_of({"/dev/zero"}).what, HasSubstr("goes on past"));
  EXPECT_THAT(error_of({write("notes.md", "Runs of last night.\n")}).what, HasSubstr("neither a header"))
      << "a file that was named is wanted";
  write("pairs.csv", "a,b,busbw\nn1,n2,fast\n");
  EXPECT_EQ(error_of({folder()}).where, path("pairs.csv") + ":2:7") << "a table with a slip in it is not left out";
}

TEST_F(MeasurementFiles, ReadsOrRefusesEveryLogOfTheWild) {
  const std::string logs = WEFT_SOURCE_DIR "/../shared/data/nccl-tests";
  if (!fs::is_directory(logs)) GTEST_SKIP() << logs << " is not there";
  const MeasurementTable table = load_measurements({logs});
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(logs))
    files += entry.is_regular_file();
  EXPECT_GE(table.measurements.size() + table.notes.size(), files) << "a measurement or a reason for each";
  EXPECT_THAT(table.measurements, Not(IsEmpty()));
}

}  // namespace
}  // namespace weft::probes
