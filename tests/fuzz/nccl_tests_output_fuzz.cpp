#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "probes/collective/command_template.h"
#include "probes/collective/launcher_faults.h"
#include "probes/collective/nccl_tests_judgement.h"
#include "probes/collective/nccl_tests_output.h"
#include "topology/error.h"

namespace {

using namespace weft::probes;

void require(bool condition) {
  if (!condition) std::abort();
}

/// The same text gives the same rows however it arrives, and a judgement that only `ok` and `corrupt` carry numbers in.
void read_log(std::string_view text, std::size_t piece) {
  const NcclTestsOutput output = parse_nccl_tests(text);
  NcclTestsParser parser;
  for (std::size_t at = 0; at < text.size(); at += piece)
    parser.feed(text.substr(at, piece));
  require(parser.finish().rows.size() == output.rows.size());
  for (const NcclTestsRow& row : output.rows)
    require(row.out_of_place || row.in_place);
  const NcclTestsRequest requests[] = {{}, {.ranks = 4, .hosts = {"node001", "node002"}, .op = Op::all_reduce}};
  for (const NcclTestsRequest& request : requests) {
    const NcclTestsJudgement judgement = judge(output, request);
    require((judgement.status == Status::ok) == judgement.reason.empty());
    if (judgement.status == Status::refused) require(!judgement.plateau);
    if (judgement.status == Status::ok && judgement.plateau) {
      require(judgement.plateau->busbw_gbps > 0 && judgement.plateau->busbw_gbps < kAbsurdGbps);
    }
  }
  const std::string nodes[] = {"node001", "node002"};
  launcher_faults(text, nodes);
}

/// Either a clear refusal, or a command whose words do not depend on what the values hold.
void read_template(std::string_view text) {
  for (const auto use : {CommandTemplate::Use::nodes, CommandTemplate::Use::rail}) {
    try {
      const CommandTemplate command(text, use);
      CommandValues values{.hosts = {"a"}, .hostfile = "/h", .gpus_per_node = 8, .ranks = 8, .rail = 0, .bytes = 1};
      const auto plain = command.expand(values);
      values.hosts = {"'; {np} \" $(x)", "*"};
      require(command.expand(values).size() == plain.size());
    } catch (const weft::InputError& error) {
      require(!error.detail().what.empty() && !error.detail().expected.empty());
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  read_log(text, 1 + data[0] % 64);
  read_template(text);
  return 0;
}
