#include "probes/collective/nccl_tests_judgement.h"

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/probes/collective/nccl_tests_samples.h"

namespace weft::probes {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

NcclTestsJudgement judge_text(const std::string& text, const NcclTestsRequest& request = {}) {
  return judge(parse_nccl_tests(text), request);
}

const NcclTestsRequest kFourRanks{.ranks = 4, .hosts = {"node001", "node002"}, .op = Op::all_reduce};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

TEST(NcclTestsJudgement, MeasuresThePlateau) {
  const NcclTestsJudgement judgement = judge_text(kHealthyRun, kFourRanks);
  EXPECT_EQ(judgement.status, Status::ok);
  EXPECT_EQ(judgement.reason, "");
  EXPECT_EQ(judgement.ranks, 4);
  EXPECT_THAT(judgement.hosts, ElementsAre("node001", "node002"));
  ASSERT_TRUE(judgement.plateau);
  EXPECT_EQ(judgement.plateau->rows, 3);
  EXPECT_EQ(judgement.plateau->smallest_bytes, 16777216u);
  EXPECT_EQ(judgement.plateau->largest_bytes, 67108864u);
  EXPECT_DOUBLE_EQ(judgement.plateau->busbw_gbps, 61.09);
  EXPECT_DOUBLE_EQ(judgement.plateau->algbw_gbps, 40.73);
  EXPECT_NEAR(judgement.plateau->spread_gbps, 0.165, 1e-9);
  EXPECT_NEAR(judgement.plateau->time_s, 1643.9e-6, 1e-12);
  EXPECT_THAT(judgement.notes, ElementsAre("average over all sizes (not judged): 41.1 GB/s"));
}

TEST(NcclTestsJudgement, RefusesJobsOfAnotherShape) {
  const std::string two_jobs =
      R"(# nThread 1 nGpus 2 minBytes 67108864 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20
#
# Using devices
# nThread 1 nGpus 2 minBytes 67108864 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20
#
# Using devices
#  Rank  0 Group  0 Pid    811 on    node001 device  0 [0x0f] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid    811 on    node001 device  1 [0x2d] NVIDIA H100 80GB HBM3
#  Rank  0 Group  0 Pid    902 on    node002 device  0 [0x0f] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid    902 on    node002 device  1 [0x2d] NVIDIA H100 80GB HBM3
    67108864     16777216     float     sum      -1   17032.7    3.94    3.94      0   17066.8    3.93    3.93      0
    67108864     16777216     float     sum      -1   17031.9    3.94    3.94      0   17060.2    3.93    3.93      0
   134217728     33554432     float     sum      -1   33979.2    3.95    3.95      0   34047.3    3.94    3.94      0
   134217728     33554432     float     sum      -1   33980.1    3.95    3.95      0   34041.0    3.94    3.94      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 3.94145
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 3.94156
)";
  const std::string one_rank =
      R"(# nThread 1 nGpus 1 minBytes 536870912 maxBytes 536870912 step: 2(factor) warmup iters: 5 iters: 20
# Using devices
#  Rank  0 Group  0 Pid    811 on    node001 device  0 [0x0f] NVIDIA H100 80GB HBM3
   536870912    134217728     float     sum      -1    2202.2  243.79    0.00      0     0.51 1747057.96    0.00      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 0
)";
  std::string four_of_one = one_rank + one_rank;
  four_of_one = "";
  for (int i = 0; i < 4; ++i)
    four_of_one += lines_of(one_rank)[0] + "\n" + lines_of(one_rank)[2] + "\n";
  four_of_one += lines_of(one_rank)[3] + "\n";
  const std::string healthy = kHealthyRun;
  const std::string no_devices = replaced(replaced(healthy, "#  Rank", "#  Other"), "# nThread", "# ");
  const struct {
    const char* shape;
    std::string text;
    NcclTestsRequest request;
    std::string kind;
    std::string reason;
  } cases[] = {
      {"a job on every node", two_jobs, kFourRanks, "split-launch", "2 jobs of 2 ranks, 1 job of 4 asked"},
      {"a job on every node, nothing known",
       two_jobs,
       {},
       "split-launch",
       "2 jobs of 2 ranks, 1 job at a time can be judged"},
      {"every process by itself", four_of_one, kFourRanks, "split-launch", "4 jobs of 1 rank, 1 job of 4 asked"},
      {"one rank",
       one_rank,
       {.ranks = 1, .hosts = {"node001"}, .op = Op::all_reduce},
       "",
       "1 rank: bus bandwidth is undefined"},
      {"one rank, four asked", one_rank, kFourRanks, "", "1 rank: bus bandwidth is undefined"},
      {"one rank, nothing known", one_rank, {}, "", "1 rank: bus bandwidth is undefined"},
      {"one rank, no device line", replaced(one_rank, "Rank", "Other"), {}, "", "1 rank: bus bandwidth is undefined"},
      {"fewer ranks",
       healthy,
       {.ranks = 16, .hosts = {"node001", "node002"}, .op = Op::all_reduce},
       "split-launch",
       "1 job of 4 ranks, 1 job of 16 asked"},
      {"more ranks",
       healthy,
       {.ranks = 2, .hosts = {"node001", "node002"}, .op = Op::all_reduce},
       "split-launch",
       "1 job of 4 ranks, 1 job of 2 asked"},
      {"fewer hosts",
       healthy,
       {.ranks = 4, .hosts = {"node001", "node002", "node003", "node004"}, .op = Op::all_reduce},
       "split-launch",
       "ranks ran on 2 hosts (node[001-002]), 4 asked"},
      {"all on one host", replaced(healthy, "node002", "node001"), kFourRanks, "split-launch",
       "ranks ran on 1 host (node001), 2 asked"},
      {"another host", replaced(healthy, "node002", "node009"), kFourRanks, "split-launch",
       "ranks ran on node009, which was not asked for; asked: node[001-002]"},
      {"split communicators",
       replaced(replaced(healthy, "Rank  2 Group  0", "Rank  2 Group  1"), "Rank  3 Group  0", "Rank  3 Group  1"),
       kFourRanks, "split-launch", "4 ranks split into 2 communicators (NCCL_TESTS_SPLIT_MASK), 1 job of 4 asked"},
      {"ranks as the bandwidths show",
       no_devices,
       {.ranks = 16, .hosts = {}, .op = Op::all_reduce},
       "split-launch",
       "bus bandwidth is 1.5 of algorithm bandwidth, which is that of 4 ranks; 1 job of 16 asked"},
      {"same jobs at once on the same GPUs",
       lines_of(healthy)[0] + "\n" + replaced(healthy, "Pid    8", "Pid    7") + healthy, kFourRanks, "split-launch",
       "3 jobs of 4 ranks, 1 job of 4 asked"},
  };
  for (const auto& c : cases) {
    const NcclTestsJudgement judgement = judge_text(c.text, c.request);
    EXPECT_EQ(judgement.status, Status::refused) << c.shape;
    EXPECT_EQ(judgement.kind, c.kind) << c.shape;
    EXPECT_EQ(judgement.reason, c.reason) << c.shape;
    EXPECT_FALSE(judgement.plateau) << c.shape << ": no bandwidth may be had from it";
  }
}

TEST(NcclTestsJudgement, AcceptsTheShapeThatWasAsked) {
  const std::string healthy = kHealthyRun;
  const std::string no_devices = replaced(healthy, "#  Rank", "#  Other");
  const struct {
    const char* why;
    std::string text;
    NcclTestsRequest request;
  } cases[] = {
      {"nothing asked", healthy, {}},
      {"domains and case are names for the same host",
       healthy,
       {.ranks = 4, .hosts = {"NODE001.example.org", "node002.example.org"}, .op = {}}},
      {"addresses cannot be compared with names", healthy, {.ranks = 4, .hosts = {"192.0.2.1", "192.0.2.2"}, .op = {}}},
      {"addresses of IPv6", healthy, {.ranks = 4, .hosts = {"2001:db8::1", "2001:db8::2"}, .op = {}}},
      {"containers that all call themselves localhost",
       replaced(replaced(healthy, "node001", "localhost"), "node002", "localhost"),
       {.ranks = 4, .hosts = {"node001", "node002"}, .op = {}}},
      {"two runs, one after the other", healthy + healthy, kFourRanks},
      {"no device lines, bandwidths fit", no_devices, kFourRanks},
      {"part of the device lines, bandwidths fit", replaced(healthy, "#  Rank  2", "#  Other"), kFourRanks},
      {"no device lines and alltoall's factor",
       "  1073741824  67108864  float  none  -1  10000  107.37  100.66  0  10000  107.37  100.66  0\n",
       {.ranks = 16, .hosts = {}, .op = Op::all_reduce}},
      {"no device lines and factor 1 of a test that says so",
       "# Collective test starting: sendrecv_perf\n  1073741824  67108864  float  none  -1  10000  107.37  107.37  0  "
       "10000  107.37  107.37  0\n",
       {.ranks = 16, .hosts = {}, .op = Op::all_reduce}},
  };
  for (const auto& c : cases) {
    const NcclTestsJudgement judgement = judge_text(c.text, c.request);
    EXPECT_EQ(judgement.status, Status::ok) << c.why << ": " << judgement.reason;
    EXPECT_TRUE(judgement.plateau) << c.why;
  }
}

TEST(NcclTestsJudgement, JudgesLargeMessagesNotTheAverage) {
  const std::string sweep = R"(#  Rank  0 Group  0 Pid 1 on node001 device  0 [0x0f] NVIDIA H100 80GB HBM3
#  Rank  8 Group  0 Pid 1 on node002 device  0 [0x0f] NVIDIA H100 80GB HBM3
           8            2     float     sum      -1      15.0    0.00    0.00      0      15.0    0.00    0.00      0
       65536        16384     float     sum      -1     102.4    0.64    1.20      0     102.4    0.64    1.20      0
     1048576       262144     float     sum      -1     139.4    7.52   14.10      0     139.4    7.52   14.10      0
   268435456     67108864     float     sum      -1    4039.5   66.45  124.60      0    4039.5   66.45  124.60      0
  1073741824    268435456     float     sum      -1   16067.6   66.83  125.30      0   16067.6   66.83  125.30      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 53.04
)";
  const NcclTestsRequest request{.ranks = 16, .hosts = {"node001", "node002"}, .op = Op::all_reduce};
  const NcclTestsJudgement judgement = judge_text(sweep, request);
  EXPECT_EQ(judgement.status, Status::ok) << judgement.reason;
  ASSERT_TRUE(judgement.plateau);
  EXPECT_NEAR(judgement.plateau->busbw_gbps, 125.0, 0.5);
  EXPECT_EQ(judgement.plateau->rows, 2);
  EXPECT_NEAR(judgement.plateau->spread_gbps, 0.35, 1e-9);
  EXPECT_THAT(judgement.notes, Contains("average over all sizes (not judged): 53.04 GB/s"));

  const std::vector<std::string> lines = lines_of(sweep);
  const NcclTestsJudgement small =
      judge_text(lines[0] + "\n" + lines[1] + "\n" + lines[2] + "\n" + lines[3] + "\n", request);
  EXPECT_EQ(small.status, Status::ok) << small.reason;
  EXPECT_FALSE(small.plateau) << "no bandwidth may be stored";
  EXPECT_THAT(small.notes, Contains(HasSubstr("connectivity only")));
}

TEST(NcclTestsJudgement, KnowsTheMeaningsOfTheErrorColumn) {
  const std::string counts = R"(
      524288       131072     float     sum      -1      32.7   16.05   30.10      0      32.7   16.02   30.04      0
     1048576       262144     float     sum      -1      43.8   23.95   44.90     37      43.9   23.90   44.81      0
     2097152       524288     float     sum      -1      64.3   32.64   61.20      0      64.4   32.57   61.08      0
# Out of bounds values : 37 FAILED
)";
  const std::string rounding =
      R"(#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error
     4194304       1048576   float     sum    93.73   44.75   83.90  2e-07    93.15   45.03   84.43  1e-06
# Out of bounds values : 0 OK
)";
  const std::string beyond =
      R"(#       size         count    type     time   algbw   busbw  error     time   algbw   busbw  error
  4294967296     134217728   float    29122  129.05  129.05  1e+00    29169  128.84  128.84  1e+00
# Out of bounds values : 2 FAILED
)";
  const std::string unchecked =
      R"(#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error
     4194304       1048576   float     sum    93.73   44.75   83.90    N/A    93.15   45.03   84.43    N/A
)";
  const struct {
    const char* meaning;
    std::string text;
    Status status;
    std::string reason;
    bool verified;
  } cases[] = {
      {"a count", counts, Status::corrupt, "37 wrong values at 1048576 B (1 MiB), out-of-place", true},
      {"a count in the other half",
       replaced(replaced(counts, "44.90     37", "44.90      0"), "44.81      0", "44.81      1"), Status::corrupt,
       "1 wrong value at 1048576 B (1 MiB), in-place", true},
      {"counts at several sizes", replaced(counts, "61.08      0", "61.08      3"), Status::corrupt,
       "40 wrong values at 1048576 B (1 MiB) and 1 larger size, out-of-place and in-place", true},
      {"a count that the closing line does not know", replaced(counts, "37 FAILED", "0 OK"), Status::corrupt,
       "37 wrong values at 1048576 B (1 MiB), out-of-place", true},
      {"clean counts under a failing closing line", replaced(counts, "44.90     37", "44.90      0"), Status::corrupt,
       "37 wrong values (out of bounds)", true},
      {"a rounding error", rounding, Status::ok, "", true},
      {"a rounding error out of bounds", beyond, Status::corrupt, "2 wrong values (out of bounds)", true},
      {"not checked", unchecked, Status::ok, "", false},
      {"a rounding error that nothing judged", lines_of(rounding)[0] + "\n" + lines_of(rounding)[1], Status::ok, "",
       false},
  };
  for (const auto& c : cases) {
    const NcclTestsJudgement judgement = judge_text(c.text);
    EXPECT_EQ(judgement.status, c.status) << c.meaning;
    EXPECT_EQ(judgement.reason, c.reason) << c.meaning;
    EXPECT_EQ(judgement.kind, c.status == Status::corrupt ? "wrong-data" : "") << c.meaning;
    if (c.verified) {
      EXPECT_THAT(judgement.notes, Not(Contains("data not verified"))) << c.meaning;
    } else {
      EXPECT_THAT(judgement.notes, Contains("data not verified")) << c.meaning;
    }
  }
}

TEST(NcclTestsJudgement, MentionsWrongDataOfAJobOfAnotherShape) {
  const NcclTestsJudgement judgement =
      judge_text(replaced(kHealthyRun, "61.22      0", "61.22      9"), {.ranks = 8, .hosts = {}, .op = {}});
  EXPECT_EQ(judgement.kind, "split-launch");
  EXPECT_THAT(judgement.notes, Contains("9 wrong values at 67108864 B (64 MiB), in-place"));
}

TEST(NcclTestsJudgement, RefusesWhatIsNoMeasurement) {
  const std::string healthy = kHealthyRun;
  const std::vector<std::string> lines = lines_of(healthy);
  std::string half_a_table;
  for (std::size_t i = 0; i < 14; ++i)
    half_a_table += lines[i] + "\n";
  std::string headless = replaced(healthy, "# Out of bounds", "# ");
  headless = headless.substr(headless.find(lines[12]));
  const std::string rising = headless.substr(0, headless.find("    16777216"));
  const struct {
    const char* what;
    std::string text;
    std::string reason;
  } cases[] = {
      {"nothing", "", "0 result rows"},
      {"foreign lines", "node001:22:28 [0] NCCL INFO Bootstrap : Using eth0:192.0.2.1<0>\n", "0 result rows"},
      {"a header", std::string(kHeader), "0 result rows"},
      {"nan", replaced(healthy, "40.82   61.23", "nan    nan"),
       "impossible numbers at 67108864 B: 1643.9 us, algbw nan GB/s, busbw nan GB/s"},
      {"negative", replaced(healthy, "61.23", "-61.23"),
       "impossible numbers at 67108864 B: 1643.9 us, algbw 40.82 GB/s, busbw -61.23 GB/s"},
      {"infinite", replaced(healthy, "61.23", "inf"),
       "impossible numbers at 67108864 B: 1643.9 us, algbw 40.82 GB/s, busbw inf GB/s"},
      {"beyond any number", replaced(healthy, "61.23", "1e999"),
       "impossible numbers at 67108864 B: 1643.9 us, algbw 40.82 GB/s, busbw inf GB/s"},
      {"absurd", replaced(healthy, "61.22", "1e300"),
       "impossible numbers at 67108864 B: 1644.1 us, algbw 40.82 GB/s, busbw 1e+300 GB/s"},
      {"a clock that stood still in one half", replaced(healthy, "1644.1   40.82   61.22", "0.51 131586.01 197379.01"),
       "impossible numbers at 67108864 B: 0.51 us, algbw 131586.01 GB/s, busbw 197379.01 GB/s"},
      {"half a table", half_a_table, "output ends at 1 MiB of the 64 MiB that were to be measured"},
      {"half a table without header", rising,
       "output ends without its closing lines at 1 MiB, before the bandwidth levels off"},
      {"a bandwidth printed as 0", "  67108864  16777216  float  sum  -1  1e+300  0.00  0.00  0\n",
       "bus bandwidth at 64 MiB is printed as 0"},
  };
  for (const auto& c : cases) {
    const NcclTestsJudgement judgement = judge_text(c.text);
    EXPECT_EQ(judgement.status, Status::refused) << c.what;
    EXPECT_EQ(judgement.reason, c.reason) << c.what;
    EXPECT_FALSE(judgement.plateau) << c.what;
  }
}

TEST(NcclTestsJudgement, TakesASlowFabricFromTheTimesWhereTwoDecimalsAreTooCoarse) {
  // 200 Mbit/s: 0.0249 GB/s would be read as 0.02.
  const NcclTestsJudgement judgement = judge_text("  16777216  4194304  float  sum  -1  1011000  0.02  0.02  0\n",
                                                  {.ranks = 4, .hosts = {}, .op = Op::all_reduce});
  ASSERT_TRUE(judgement.plateau) << judgement.reason;
  EXPECT_NEAR(judgement.plateau->algbw_gbps, 0.016595, 1e-6);
  EXPECT_NEAR(judgement.plateau->busbw_gbps, 0.024892, 1e-6);
}

TEST(NcclTestsJudgement, LeavesPrintedNumbersAloneThatTheTimesDoNotExplain) {
  // alltoall's algorithm bandwidth leaves a rank's own share out.
  const NcclTestsJudgement judgement =
      judge_text("  16777216  524288  float  none  -1  10000  1.47  1.29  0\n", {.ranks = 8, .hosts = {}, .op = {}});
  ASSERT_TRUE(judgement.plateau) << judgement.reason;
  EXPECT_EQ(judgement.plateau->algbw_gbps, 1.47);
  EXPECT_EQ(judgement.plateau->busbw_gbps, 1.29);
}

TEST(NcclTestsJudgement, JudgesJsonLikeText) {
  const NcclTestsJudgement judgement =
      judge_text(kJsonRun, {.ranks = 16, .hosts = {"node001", "node002"}, .op = Op::all_reduce});
  EXPECT_EQ(judgement.status, Status::ok) << judgement.reason;
  ASSERT_TRUE(judgement.plateau);
  EXPECT_NEAR(judgement.plateau->busbw_gbps, 124.95, 1e-9);
  EXPECT_EQ(judge_text(kJsonRun, {.ranks = 8, .hosts = {}, .op = {}}).reason, "1 job of 16 ranks, 1 job of 8 asked");
  EXPECT_EQ(judge_text(replaced(kJsonRun, "\"nwrong\":null", "\"nwrong\":5.000000")).reason,
            "5 wrong values at 1073741824 B (1 GiB), out-of-place");
}

TEST(NcclTestsJudgement, DoesNotDependOnTheOrderOfRows) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  NcclTestsOutput output = parse_nccl_tests(std::string(kHealthyRun) + kHealthyRun);
  const NcclTestsJudgement expected = judge(output, kFourRanks);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(judge(output, kFourRanks), expected);
    std::shuffle(output.rows.begin(), output.rows.end(), random);
  }
}

/// --- Logs of others, read where they lie ------------------------------------------------------------------------

std::string shared_log(const std::string& name) {
  std::ifstream file(std::filesystem::path(WEFT_SOURCE_DIR) / "../shared/data/nccl-tests" / name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

struct SharedLog {
  const char* name;
  NcclTestsRequest request;
  std::size_t rows;
  int ranks;
  double busbw;
  int plateau_rows;
  std::uint64_t largest;
  std::vector<std::string> hosts;
  std::vector<std::string> notes;
};

class SharedNcclTestsLogs : public ::testing::TestWithParam<SharedLog> {};

TEST_P(SharedNcclTestsLogs, GiveTheRightNumbers) {
  const SharedLog& expected = GetParam();
  const std::string text = shared_log(expected.name);
  if (text.empty()) GTEST_SKIP() << "shared/data/nccl-tests/" << expected.name << " is not beside the repository";
  const NcclTestsOutput output = parse_nccl_tests(text);
  EXPECT_EQ(output.rows.size(), expected.rows);
  EXPECT_FALSE(output.cut_row);
  const NcclTestsJudgement judgement = judge(output, expected.request);
  EXPECT_EQ(judgement.status, Status::ok) << judgement.reason;
  EXPECT_EQ(judgement.ranks, expected.ranks);
  EXPECT_EQ(judgement.hosts, expected.hosts);
  EXPECT_EQ(judgement.notes, expected.notes);
  ASSERT_TRUE(judgement.plateau);
  EXPECT_NEAR(judgement.plateau->busbw_gbps, expected.busbw, 0.005);
  EXPECT_EQ(judgement.plateau->rows, expected.plateau_rows);
  EXPECT_EQ(judgement.plateau->largest_bytes, expected.largest);
}

std::string name_of_log(const ::testing::TestParamInfo<SharedLog>& log) {
  const std::string name = log.param.name;
  return name.substr(0, name.find('.'));
}

const std::string kNotClosed = "closing lines missing: the output may be cut";

INSTANTIATE_TEST_SUITE_P(
    All, SharedNcclTestsLogs,
    ::testing::Values(SharedLog{"aws_mpirun_tagged.log",
                                {.ranks = 8, .hosts = {}, .op = Op::all_reduce},
                                32,
                                0,
                                480.43,
                                3,
                                17179869184,
                                {},
                                {"average over all sizes (not judged): 156.742 GB/s"}},
                      SharedLog{"aws_srun_labelled_p4d.log",
                                {.ranks = 16, .hosts = {}, .op = Op::all_reduce},
                                29,
                                0,
                                77.56,
                                2,
                                2147483648,
                                {},
                                {kNotClosed}},
                      SharedLog{"deepops_roce_old_layout.log",
                                {.ranks = 16, .hosts = {}, .op = Op::all_reduce},
                                29,
                                0,
                                22.88,
                                4,
                                2147483648,
                                {},
                                {"average over all sizes (not judged): 7.76739 GB/s"}},
                      SharedLog{"oci_h100_16gpu_allreduce.log",
                                {.ranks = 16, .hosts = {"h100-ord01-03-14", "h100-ord01-03-294"}, .op = Op::all_reduce},
                                5,
                                16,
                                468.635,
                                4,
                                17179869184,
                                {"h100-ord01-03-14", "h100-ord01-03-294"},
                                {"average over all sizes (not judged): 464.075 GB/s"}},
                      SharedLog{"superbench_allreduce.log",
                                {.ranks = 8, .hosts = {"gpu001"}, .op = Op::all_reduce},
                                34,
                                8,
                                233.065,
                                4,
                                8589934592,
                                {"localhost"},
                                {"data not verified", "average over all sizes (not judged): 68.4048 GB/s"}},
                      SharedLog{"superbench_alltoall.log",
                                {.ranks = 8, .hosts = {"gpu001"}, .op = {}},
                                34,
                                8,
                                222.90,
                                3,
                                8589934592,
                                {"localhost"},
                                {"data not verified", "average over all sizes (not judged): 58.6481 GB/s"}}),
    name_of_log);

TEST(SharedNcclTestsLog, RefuseWhatTheyAreNot) {
  const struct {
    const char* name;
    NcclTestsRequest request;
    std::string reason;
  } cases[] = {
      {"aws_mpirun_tagged.log",
       {.ranks = 16, .hosts = {}, .op = Op::all_reduce},
       "bus bandwidth is 1.75 of algorithm bandwidth, which is that of 8 ranks; 1 job of 16 asked"},
      {"aws_srun_labelled_p4d.log",
       {.ranks = 8, .hosts = {}, .op = Op::all_reduce},
       "bus bandwidth is 1.87 of algorithm bandwidth, which is that of 16 ranks; 1 job of 8 asked"},
      {"oci_h100_16gpu_allreduce.log",
       {.ranks = 32, .hosts = {}, .op = Op::all_reduce},
       "1 job of 16 ranks, 1 job of 32 asked"},
      {"superbench_allreduce.log",
       {.ranks = 16, .hosts = {"gpu001", "gpu002"}, .op = Op::all_reduce},
       "1 job of 8 ranks, 1 job of 16 asked"},
  };
  for (const auto& c : cases) {
    const std::string text = shared_log(c.name);
    if (text.empty()) GTEST_SKIP() << "shared/data/nccl-tests/" << c.name << " is not beside the repository";
    const NcclTestsJudgement judgement = judge_text(text, c.request);
    EXPECT_EQ(judgement.status, Status::refused) << c.name;
    EXPECT_EQ(judgement.reason, c.reason) << c.name;
    EXPECT_FALSE(judgement.plateau) << c.name;
  }
}

}  // namespace
}  // namespace weft::probes
