#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace weft::probes {

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

inline constexpr const char* kHeader =
    "#                                                              out-of-place                       in-place\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
    "#wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n";

/// 2 nodes of 2 GPUs, busbw 1.5 times algbw, plateau 61.1 GB/s over 16 to 64 MiB.
inline constexpr const char* kHealthyRun =
    R"(# nThread 1 nGpus 1 minBytes 8 maxBytes 67108864 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid    811 on    node001 device  0 [0x0f] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid    812 on    node001 device  1 [0x2d] NVIDIA H100 80GB HBM3
#  Rank  2 Group  0 Pid    902 on    node002 device  0 [0x0f] NVIDIA H100 80GB HBM3
#  Rank  3 Group  0 Pid    903 on    node002 device  1 [0x2d] NVIDIA H100 80GB HBM3
NCCL version 2.23.4+cuda12.6
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
           8             2     float     sum      -1    15.02    0.00    0.00      0    14.98    0.00    0.00      0
     1048576        262144     float     sum      -1    69.91   15.00   22.50      0    69.90   15.00   22.50      0
    16777216       4194304     float     sum      -1    413.2   40.60   60.90      0    412.2   40.70   61.05      0
    33554432       8388608     float     sum      -1    823.9   40.73   61.09      0    824.0   40.72   61.08      0
    67108864      16777216     float     sum      -1   1643.9   40.82   61.23      0   1644.1   40.82   61.22      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 41.1
#
)";

/// In the form of nccl-tests' JSON_FILE_VERSION 2: two processes of eight GPUs on two nodes.
inline constexpr const char* kJsonRun =
    R"({"version":2,"start_time":"2026-03-01 12:00:00","args":["\/opt\/nccl-tests\/build\/all_reduce_perf","-b","8","-e","1G","-g","8"],"env":["PATH=\/usr\/bin","PS1={[\"$"],"nccl_version":22809,"config":{"nthreads":1,"ngpus":8,"minimum_bytes":8,"maximum_bytes":1073741824,"step_factor":2,"warmup_iters":5,"iterations":20,"aggregated_iterations":1,"validation":1,"graph":0,"blocking_collectives":"false","parallel_init":"false","devices":[{"rank":0,"group":0,"pid":811,"hostname":"node001","device":0,"device_hex":"0000:0f:00","device_info":"NVIDIA H100 80GB HBM3"},{"rank":8,"group":0,"pid":902,"hostname":"node002","device":0,"device_hex":"0000:0f:00","device_info":"NVIDIA H100 80GB HBM3"}]},"results":[{"size":8,"count":2,"type":"float","redop":"sum","root":"    -1","out_of_place":{"time":15.000000,"alg_bw":0.000533,"bus_bw":0.001000,"nwrong":0.000000},"in_place":{"time":15.000000,"alg_bw":0.000533,"bus_bw":0.001000,"nwrong":0.000000},"actual_iterations":20,"experiment_name":"all_reduce"},{"size":268435456,"count":67108864,"type":"float","redop":"sum","root":"    -1","out_of_place":{"time":4039.500000,"alg_bw":66.453333,"bus_bw":124.600000,"nwrong":0.000000},"in_place":{"time":4039.500000,"alg_bw":66.453333,"bus_bw":124.600000,"nwrong":0.000000},"actual_iterations":20,"experiment_name":"all_reduce"},{"size":1073741824,"count":268435456,"type":"float","redop":"sum","root":"    -1","out_of_place":{"time":16067.600000,"alg_bw":66.826667,"bus_bw":125.300000,"nwrong":null},"in_place":{"time":16067.600000,"alg_bw":66.826667,"bus_bw":125.300000,"nwrong":0.000000},"actual_iterations":20,"experiment_name":"all_reduce"}],"out_of_bounds":{"count":0,"okay":"true"},"average_bus_bandwidth":{"bandwidth":53.040000,"okay":"unchecked"},"errors":[],"end_time":"2026-03-01 12:01:00"})";

}  // namespace weft::probes
