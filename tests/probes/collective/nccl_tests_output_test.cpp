#include "probes/collective/nccl_tests_output.h"

#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/probes/collective/nccl_tests_samples.h"

namespace weft::probes {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

/// A row as a line of numbers, so that tables of tests can say what they expect.
struct Read {
  std::uint64_t bytes = 0;
  double time_us = 0;
  double busbw = 0;
  std::optional<double> error;
  std::optional<double> in_place_busbw;
  bool operator==(const Read&) const = default;
};

void PrintTo(const Read& read, std::ostream* out) {
  *out << read.bytes << " B " << read.time_us << " us " << read.busbw << " GB/s error "
       << (read.error ? std::to_string(*read.error) : "N/A") << " in-place "
       << (read.in_place_busbw ? std::to_string(*read.in_place_busbw) : "none");
}

std::vector<Read> rows_of(const NcclTestsOutput& output) {
  std::vector<Read> rows;
  for (const NcclTestsRow& row : output.rows) {
    Read read;
    read.bytes = row.bytes;
    const auto& half = row.out_of_place ? row.out_of_place : row.in_place;
    read.time_us = half->time_us;
    read.busbw = half->busbw_gbps;
    read.error = half->error;
    if (row.in_place) read.in_place_busbw = row.in_place->busbw_gbps;
    rows.push_back(read);
  }
  return rows;
}

TEST(NcclTestsOutput, ReadsRowsOfEveryLayout) {
  const struct {
    const char* layout;
    std::string text;
    Read expected;
  } cases[] = {
      {"count, reduction and root",
       "  4194304  1048576  float  sum  -1  93.73  44.75  83.90  0  93.15  45.03  84.43  0\n",
       {4194304, 93.73, 83.90, 0.0, 84.43}},
      {"no root",
       "  4194304  1048576  float  sum  93.73  44.75  83.90  2e-07  93.15  45.03  84.43  1e-06\n",
       {4194304, 93.73, 83.90, 2e-07, 84.43}},
      {"no reduction, no root",
       "4294967296 134217728 float 29122 129.05 129.05 1e+00 29169 128.84 128.84 1e+00\n",
       {4294967296, 29122, 129.05, 1.0, 128.84}},
      {"no reduction, blank column",
       "  32  1  float             89.00    0.00    0.00    N/A    85.13    0.00    0.00    N/A\n",
       {32, 89.00, 0.0, std::nullopt, 0.0}},
      {"broadcast's root",
       "  1048576  262144  float  none  0  43.8  23.95  23.95  0  43.9  23.90  23.90  0\n",
       {1048576, 43.8, 23.95, 0.0, 23.90}},
      {"out-of-place only",
       "  1048576  262144  float  sum  -1  43.8  23.95  44.90  0\n",
       {1048576, 43.8, 44.90, 0.0, std::nullopt}},
      {"in-place only",
       "     1048576        262144     float     sum      -1                                     43.9   23.90   44.81  "
       "    0\n",
       {1048576, 43.9, 44.81, 0.0, 44.81}},
      {"alltoall: in place not checked",
       " 1048576  131072  float  none  -1  43.8  23.95  20.95  0  43.9  23.90  20.91  N/A\n",
       {1048576, 43.8, 20.95, 0.0, 20.91}},
      {"time stamp",
       " 1048576  262144  float  sum  -1  43.8  23.95  44.90  0  43.9  23.90  44.81  0  2026-03-01 12:00:00\n",
       {1048576, 43.8, 44.90, 0.0, 44.81}},
      {"many wrong elements",
       " 1048576  262144  half  sum  -1  43.8  23.95  44.90  1.04858e+06  43.9  23.90  44.81  0\n",
       {1048576, 43.8, 44.90, 1048580.0, 44.81}},
      {"RCCL's mark",
       " 1048576  262144  half  sum  43.8  23.95  44.90  1e+00*  43.9  23.90  44.81  0e+00\n",
       {1048576, 43.8, 44.90, 1.0, 44.81}},
      {"wide numbers",
       "536870912 134217728 float sum -1 2202.2 243.79 0.00 0 0.51 1747057.96 0.00 0\n",
       {536870912, 2202.2, 0.0, 0.0, 0.0}},
      {"bfloat16, prod",
       " 1048576  524288  bfloat16  prod  -1  43.8  23.95  44.90  0  43.9  23.90  44.81  0\n",
       {1048576, 43.8, 44.90, 0.0, 44.81}},
      {"per-iteration columns",
       "# size count type redop root time algbw busbw #wrong i_min i_max i_p99 i_cv% time algbw busbw #wrong i_min "
       "i_max i_p99 i_cv%\n"
       " 1048576 262144 float sum -1 43.8 23.95 44.90 0 41.0 50.1 49.9 2.10 43.9 23.90 44.81 3 41.1 50.2 49.8 2.20\n",
       {1048576, 43.8, 44.90, 0.0, 44.81}},
      {"no error column",
       "#  size  count  type  redop  time  algbw  busbw  time  algbw  busbw\n 1048576 262144 float sum 43.8 23.95 "
       "44.90 43.9 23.90 44.81\n",
       {1048576, 43.8, 44.90, std::nullopt, 44.81}},
      {"the oldest header",
       "#   bytes   N   type   op   time   algbw   busbw   res   time   algbw   busbw   res\n"
       " 1048576 262144 float sum 0.438 2.39 4.49 1e-06 0.439 2.39 4.48 1e-06\n",
       {1048576, 0.438, 4.49, 1e-06, 4.48}},
  };
  for (const auto& c : cases) {
    const NcclTestsOutput output = parse_nccl_tests(c.text);
    EXPECT_THAT(rows_of(output), ElementsAre(c.expected)) << c.layout;
    EXPECT_FALSE(output.cut_row) << c.layout;
  }
}

TEST(NcclTestsOutput, SeesThroughWhatLaunchersWriteBeforeLines) {
  const std::string labels[] = {"",
                                "0: ",
                                " 0: ",
                                "[0] ",
                                "[1,0]<stdout>:",
                                "[1,0]<stdout>: ",
                                "[prterun-node001-4711@1,0]<stdout>: ",
                                "[1,0]:",
                                "[node001:123] ",
                                "node001: ",
                                "node001.example.org: ",
                                "[pod/launcher-x7k2p/mpi] ",
                                "2026-03-01T12:00:00.123456789Z ",
                                "2026-03-01 12:00:00 ",
                                "2026-03-01T12:00:00Z [1,0]<stdout>:",
                                "\x1b[32m[1,0]<stdout>:\x1b[0m",
                                "node001: 0: "};
  for (const std::string& label : labels) {
    std::string text;
    for (const std::string& line : lines_of(kHealthyRun))
      text += label + line + "\r\n";
    const NcclTestsOutput output = parse_nccl_tests(text);
    EXPECT_EQ(rows_of(output), rows_of(parse_nccl_tests(kHealthyRun))) << label;
    ASSERT_THAT(output.jobs, SizeIs(1)) << label;
    EXPECT_EQ(output.jobs[0].ranks, 4) << label;
    EXPECT_TRUE(output.jobs[0].complete) << label;
    EXPECT_EQ(output.out_of_bounds_lines, 1) << label;
    EXPECT_FALSE(output.concurrent) << label;
  }
}

TEST(NcclTestsOutput, ReadsRowsThatOtherProcessesWroteInto) {
  const std::vector<Read> expected = {{1048576, 43.8, 44.90, 0.0, 44.81}, {2097152, 64.3, 61.20, 0.0, 61.08}};
  const struct {
    const char* kind;
    std::string text;
  } cases[] = {
      {"foreign lines between", R"(node001:22:28 [0] NCCL INFO Launch mode Parallel
     1048576        262144     float     sum      -1      43.8   23.95   44.90      0      43.9   23.90   44.81      0
srun: warning: can't run 1 processes on 2 nodes, setting nnodes to 1
12 34 errors found
     2097152        524288     float     sum      -1      64.3   32.64   61.20      0      64.4   32.57   61.08      0
)"},
      {"glued to the root column",
       R"(     1048576        262144     float     sum      -1node001:22:28 [0] NCCL INFO Launch mode Parallel
      43.8   23.95   44.90      0      43.9   23.90   44.81      0
     2097152        524288     float     sum      -1      64.3   32.64   61.20      0      64.4   32.57   61.08      0
)"},
      {"between the halves",
       R"(     1048576        262144     float     sum      -1      43.8   23.95   44.90      0node001:22:28 [0] NCCL INFO x
node001:22:29 [1] NCCL INFO y
      43.9   23.90   44.81      0
     2097152        524288     float     sum      -1      64.3   32.64   61.20      0      64.4   32.57   61.08      0
)"},
      {"after the last column",
       R"(     1048576        262144     float     sum      -1      43.8   23.95   44.90      0      43.9   23.90   44.81      0node001:22:28 [0] NCCL INFO x
     2097152        524288     float     sum      -1      64.3   32.64   61.20      0      64.4   32.57   61.08      0
)"},
      {"new line in a half", R"(     1048576        262144     float     sum      -1      43.8
   23.95   44.90      0      43.9   23.90   44.81      0
     2097152        524288     float     sum      -1      64.3   32.64   61.20      0      64.4   32.57   61.08      0
)"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(rows_of(parse_nccl_tests(c.text)), expected) << c.kind;
    EXPECT_EQ(rows_of(parse_nccl_tests(std::string(kHeader) + c.text)), expected) << c.kind << ", with a header";
  }
}

TEST(NcclTestsOutput, DropsARowThatWasCut) {
  const std::string whole =
      "   1048576    262144   float   sum    -1    43.8   23.95   44.90     37    43.9   23.90   44.81      0";
  const std::string table =
      std::string(kHeader) +
      "    524288    131072   float   sum    -1    32.7   16.05   30.10      0    32.7   16.02   30.04      0\n";
  for (std::size_t length = 1; length < whole.size(); ++length) {
    const NcclTestsOutput output = parse_nccl_tests(table + whole.substr(0, length));
    ASSERT_THAT(output.rows, SizeIs(1)) << whole.substr(0, length);
  }
  EXPECT_THAT(parse_nccl_tests(table + whole).rows, SizeIs(2));
  EXPECT_TRUE(parse_nccl_tests(table + whole.substr(0, 70)).cut_row);
  EXPECT_FALSE(parse_nccl_tests(table + whole).cut_row);
}

TEST(NcclTestsOutput, DoesNotReadANumberThatWasCutInItsExponentAsAnother) {
  const std::string row =
      "   4194304   1048576   float   sum    93.73   44.75   83.90  2e-07    93.15   45.03   84.43  1e-06";
  for (const std::size_t cut : {1u, 2u, 3u}) {
    const NcclTestsOutput output = parse_nccl_tests(row.substr(0, row.size() - cut));
    for (const NcclTestsRow& read : output.rows)
      EXPECT_EQ(read.error_column, ErrorColumn::rounding_error) << cut;
  }
}

TEST(NcclTestsOutput, TellsWhatTheErrorColumnMeans) {
  const std::string counts =
      " 1048576  262144  float  sum  -1  43.8  23.95  44.90  1.04858e+06  43.9  23.90  44.81  0\n";
  const std::string rounding = " 1048576  262144  float  sum  43.8  23.95  44.90  2e-07  43.9  23.90  44.81  0e+00\n";
  const struct {
    const char* why;
    std::string text;
    ErrorColumn meaning;
  } cases[] = {
      {"header", "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n" + counts,
       ErrorColumn::wrong_elements},
      {"old header", "# size count type redop time algbw busbw  error  time algbw busbw  error\n" + rounding,
       ErrorColumn::rounding_error},
      {"integers", counts, ErrorColumn::wrong_elements},
      {"exponents", rounding, ErrorColumn::rounding_error},
  };
  for (const auto& c : cases) {
    const NcclTestsOutput output = parse_nccl_tests(c.text);
    ASSERT_THAT(output.rows, SizeIs(1)) << c.why;
    EXPECT_EQ(output.rows[0].error_column, c.meaning) << c.why;
  }
}

TEST(NcclTestsOutput, ReadsDeviceLinesOfEveryVersion) {
  const std::string lines[] = {
      "#  Rank  3 Group  0 Pid    811 on    node001 device  3 [0x0f] NVIDIA H100 80GB HBM3\n",
      "#  Rank  3 Group  0 Pid    811 on    node001 device  3 [0000:0f:00] NVIDIA H100 80GB HBM3\n",
      "#   Rank  3 Pid 112424 on node001 device  3 [0x00] A100-SXM4-40GB\n",
      "#   Rank  3 on    node001 device  3 [0x06] Tesla P100-SXM2-16GB\n",
      "# Rank 3 Pid 1 on node001 device 3 [0000:63:00.0] AMD Instinct MI300X\n",
  };
  for (const std::string& line : lines) {
    const NcclTestsOutput output = parse_nccl_tests(line);
    ASSERT_THAT(output.jobs, SizeIs(1)) << line;
    EXPECT_THAT(output.jobs[0].devices, ElementsAre(NcclTestsDevice{.rank = 3, .group = 0, .host = "node001"})) << line;
    EXPECT_FALSE(output.jobs[0].complete) << "ranks 0 to 2 are missing";
    EXPECT_EQ(output.jobs[0].ranks, 4);
  }
}

std::vector<int> ranks_of_jobs(const NcclTestsOutput& output) {
  std::vector<int> ranks;
  for (const NcclTestsJob& job : output.jobs)
    ranks.push_back(job.complete ? job.ranks : -job.ranks);
  return ranks;
}

std::string device(int rank, int process, const std::string& host) {
  return "#  Rank " + std::to_string(rank) + " Group  0 Pid " + std::to_string(process) + " on " + host +
         " device  0 [0x0f] GPU\n";
}

TEST(NcclTestsOutput, TellsJobsApart) {
  const std::string row = " 1048576  262144  float  sum  -1  43.8  23.95  44.90  0  43.9  23.90  44.81  0\n";
  const std::string header = "# nThread 1 nGpus 2 minBytes 8 maxBytes 1048576 step: 2(factor) warmup iters: 5\n";
  const std::string job_a = device(0, 11, "a") + device(1, 11, "a");
  const std::string job_b = device(0, 22, "b") + device(1, 22, "b");
  const struct {
    const char* kind;
    std::string text;
    std::vector<int> ranks;
    int started;
    bool concurrent;
  } cases[] = {
      {"one job of two processes", header + device(0, 11, "a") + device(1, 22, "b") + row, {2}, 1, false},
      {"two jobs, one after the other", header + job_a + row + header + job_b + row, {2, 2}, 2, false},
      {"two jobs at once", header + header + job_a + job_b + row + row, {2, 2}, 2, true},
      {"two jobs at once, lines mixed",
       header + device(0, 11, "a") + header + device(0, 22, "b") + device(1, 11, "a") + device(1, 22, "b") + row + row,
       {2, 2},
       2,
       true},
      {"four jobs of one rank",
       device(0, 1, "a") + device(0, 2, "a") + device(0, 3, "a") + device(0, 4, "a") + row,
       {1, 1, 1, 1},
       4,
       true},
      {"two jobs under labels, sorted by rank",
       "0: " + device(0, 11, "a") + "0: " + row + "1: " + device(0, 22, "b") + "1: " + row,
       {1, 1},
       2,
       true},
      {"no device lines", header + header + row + row, {}, 2, true},
      {"a failed attempt and another",
       header + job_a + "a: Test NCCL failure common.cu:12 'unhandled system error'\n" + header + job_a + row,
       {2, 2},
       2,
       false},
      {"a list that was cut",
       header + device(0, 11, "a") + "#  Rank  1 Group  0 Pid 11 on    no...\n" + row,
       {-1},
       1,
       false},
  };
  for (const auto& c : cases) {
    const NcclTestsOutput output = parse_nccl_tests(c.text);
    EXPECT_EQ(ranks_of_jobs(output), c.ranks) << c.kind;
    EXPECT_EQ(output.started_jobs, c.started) << c.kind;
    EXPECT_EQ(output.concurrent, c.concurrent) << c.kind;
  }
}

TEST(NcclTestsOutput, ReadsSummaryLines) {
  const NcclTestsOutput output = parse_nccl_tests(
      "# Collective test starting: /opt/nccl-tests/build/all_reduce_perf\n"
      "# nThread 1 nGpus 8 minBytes 8 maxBytes 17179869184 step: 2(factor) warmup iters: 5 iters: 20\n"
      "#\n# Reducing maxBytes to 8589934592 due to memory limitation\n"
      "# Out of bounds values : 37 FAILED\n# Avg bus bandwidth    : 53.04 \n"
      "# Out of bounds values : 5 FAILED\n# Avg bus bandwidth    : -nan\n");
  EXPECT_THAT(output.programs, ElementsAre("all_reduce_perf"));
  ASSERT_THAT(output.sweeps, SizeIs(1));
  EXPECT_EQ(output.sweeps[0].max_bytes, 8589934592u);
  EXPECT_EQ(output.sweeps[0].step_factor, 2u);
  EXPECT_TRUE(output.sweeps[0].closed);
  EXPECT_EQ(output.out_of_bounds_lines, 2);
  EXPECT_EQ(output.out_of_bounds, 42);
  ASSERT_THAT(output.average_busbw_gbps, SizeIs(2));
  EXPECT_EQ(output.average_busbw_gbps[0], 53.04);
  EXPECT_TRUE(std::isnan(output.average_busbw_gbps[1]));
}

TEST(NcclTestsOutput, KeepsTheFirstWordsOfAFailure) {
  const NcclTestsOutput output = parse_nccl_tests(
      "node003: Test NCCL failure all_reduce.cu:44 'remote process exited or there was a network error'\n"
      " .. node003 pid 811: Test failure common.cu:401\n");
  EXPECT_EQ(output.first_failure,
            "Test NCCL failure all_reduce.cu:44 'remote process exited or there was a network error'");
}

TEST(NcclTestsOutput, ReadsJson) {
  const NcclTestsOutput output = parse_nccl_tests(kJsonRun);
  EXPECT_THAT(rows_of(output), ElementsAre(Read{8, 15.0, 0.001, 0.0, 0.001}, Read{268435456, 4039.5, 124.6, 0.0, 124.6},
                                           Read{1073741824, 16067.6, 125.3, std::nullopt, 125.3}));
  ASSERT_THAT(output.jobs, SizeIs(1));
  EXPECT_EQ(output.jobs[0].ranks, 16) << "two processes of eight GPUs, of which JSON names the first";
  EXPECT_THAT(output.programs, ElementsAre("all_reduce_perf"));
  EXPECT_EQ(output.out_of_bounds_lines, 1);
  EXPECT_THAT(output.average_busbw_gbps, ElementsAre(53.04));
  EXPECT_EQ(output.rows[1].error_column, ErrorColumn::wrong_elements);
  EXPECT_EQ(output.rows[1].root, -1);
}

TEST(NcclTestsOutput, ReadsJsonHoweverItWasPrinted) {
  const NcclTestsOutput plain = parse_nccl_tests(kJsonRun);
  const std::string pretty = nlohmann::json::parse(kJsonRun).dump(2);
  std::string labelled;
  for (const std::string& line : lines_of(pretty))
    labelled += "[1,0]<stdout>:" + line + "\n";
  const std::string in_a_log = std::string("srun: job 77 queued\n") + kJsonRun + "\nbye\n";
  for (const std::string& text : {pretty, labelled, in_a_log, "\n\n" + pretty + "\n"}) {
    const NcclTestsOutput output = parse_nccl_tests(text);
    EXPECT_EQ(rows_of(output), rows_of(plain)) << text;
    EXPECT_EQ(output.jobs.size(), 1u);
    EXPECT_FALSE(output.cut_row);
  }
}

TEST(NcclTestsOutput, KeepsTheRowsOfJsonThatWasCut) {
  const std::string whole = kJsonRun;
  const std::size_t second_row_ends = whole.find("},{\"size\":1073741824");
  const NcclTestsOutput output = parse_nccl_tests(whole.substr(0, second_row_ends + 30));
  EXPECT_THAT(output.rows, SizeIs(2));
  EXPECT_TRUE(output.cut_row);
  EXPECT_EQ(output.out_of_bounds_lines, 0);
  for (std::size_t length = 0; length < whole.size(); length += 7) {
    EXPECT_LE(parse_nccl_tests(whole.substr(0, length)).rows.size(), 3u);
  }
}

TEST(NcclTestsOutput, ReadsNumbersThatAreNoJson) {
  std::string text = kJsonRun;
  text.replace(text.find("125.300000"), 10, "inf");
  text.replace(text.find("4039.500000"), 11, "\"nan\"");
  const NcclTestsOutput output = parse_nccl_tests(text);
  ASSERT_THAT(output.rows, SizeIs(3));
  EXPECT_TRUE(std::isinf(output.rows[2].out_of_place->busbw_gbps));
  EXPECT_TRUE(std::isnan(output.rows[1].out_of_place->time_us));
}

TEST(NcclTestsOutput, CountsRowsOnceWhenTextAndJsonBothCome) {
  const NcclTestsOutput output = parse_nccl_tests(std::string(kHealthyRun) + kJsonRun + "\n");
  EXPECT_EQ(rows_of(output), rows_of(parse_nccl_tests(kHealthyRun)));
  EXPECT_EQ(output.jobs.size(), 1u);
  EXPECT_EQ(output.out_of_bounds_lines, 1);
}

TEST(NcclTestsOutput, IsNotLedAstrayByForeignBraces) {
  for (const std::string& foreign : {std::string("{\n"), std::string("{\"level\":\"info\",\"msg\":\"{{{\"}\n"),
                                     std::string("{ {{ [\n"), std::string("{\"version\": 2, \"results\": [[[[\n")}) {
    EXPECT_EQ(rows_of(parse_nccl_tests(foreign + kHealthyRun)), rows_of(parse_nccl_tests(kHealthyRun))) << foreign;
  }
}

TEST(NcclTestsOutput, ReadsTheSameHoweverTheBytesArrive) {
  std::string text = std::string("mpirun noise\n") + kHealthyRun + "\x1b[0mtail";
  const NcclTestsOutput expected = parse_nccl_tests(text);
  for (std::size_t piece = 1; piece < 40; ++piece) {
    NcclTestsParser parser;
    for (std::size_t at = 0; at < text.size(); at += piece)
      parser.feed(std::string_view(text).substr(at, piece));
    const NcclTestsOutput output = parser.finish();
    EXPECT_EQ(output.rows, expected.rows) << piece;
    EXPECT_EQ(ranks_of_jobs(output), ranks_of_jobs(expected)) << piece;
  }
}

TEST(NcclTestsOutput, SurvivesGarbage) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const std::string alphabet = "0123456789 .eE-+#{}[]\",:\n\r\t\x1b float sum N/A Rank Pid on device nan inf";
  for (int i = 0; i < 300; ++i) {
    std::string text = i % 2 == 0 ? kHealthyRun : kJsonRun;
    for (int change = 0; change < 1 + i / 10; ++change) {
      const std::size_t at = random() % text.size();
      text.replace(at, random() % 5, 1, alphabet[random() % alphabet.size()]);
    }
    EXPECT_LE(parse_nccl_tests(text).rows.size(), 8u);
  }
  EXPECT_THAT(parse_nccl_tests("").rows, SizeIs(0));
  EXPECT_THAT(parse_nccl_tests(std::string(1 << 20, '\0')).rows, SizeIs(0));
  EXPECT_THAT(parse_nccl_tests(std::string(1 << 20, '{')).rows, SizeIs(0));
}

TEST(NcclTestsOutput, StaysBoundedOnEndlessInput) {
  NcclTestsParser parser;
  const std::string row = " 1048576  262144  float  sum  -1  43.8  23.95  44.90  0  43.9  23.90  44.81  0\n";
  std::string block;
  for (int i = 0; i < 1000; ++i)
    block += row;
  for (int i = 0; i < 110; ++i)
    parser.feed(block);
  const std::string no_newline(1 << 20, 'x');
  for (int i = 0; i < 20; ++i)
    parser.feed(no_newline);
  parser.feed("\n" + row);
  const NcclTestsOutput output = parser.finish();
  EXPECT_THAT(output.rows, SizeIs(NcclTestsOutput::kMaxRows));
  EXPECT_TRUE(output.too_many_rows);
}

}  // namespace
}  // namespace weft::probes
