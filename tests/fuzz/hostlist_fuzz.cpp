// What a host list promises for every input: it is refused with its column, or its names are valid, distinct and
// survive folding. A host file is refused or read; it must not be read beyond its end.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "topology/error.h"
#include "topology/hostlist.h"

namespace {

using Hosts = std::vector<std::string>;

constexpr std::size_t kMostFolded = 20'000;  // longer lists only cost time

void require(bool holds) {
  if (!holds) std::abort();
}

void check_names(const Hosts& hosts) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  require(!hosts.empty() && hosts.size() <= weft::topology::kMaxHosts);
  for (const std::string& host : hosts) {
    require(!host.empty() && host.size() <= 255 && host.front() != '-' && host.front() != '.');
    require(host.find_first_not_of(kAllowed) == std::string::npos);
  }
}

void check_folding(const Hosts& hosts) {
  const std::set<std::string> expected(hosts.begin(), hosts.end());
  require(expected.size() == hosts.size());
  const std::string folded = weft::topology::fold_hostlist(hosts);
  const Hosts expanded = weft::topology::expand_hostlist(folded);
  require(expanded.size() == hosts.size());
  require(std::set<std::string>(expanded.begin(), expanded.end()) == expected);
  require(weft::topology::fold_hostlist(expanded) == folded);
}

/// Returns whether the list was short enough to do more with it.
template <typename Read>
bool check(Read read, std::string_view where) {
  try {
    const Hosts hosts = read();
    check_names(hosts);
    if (hosts.size() > kMostFolded) return false;
    check_folding(hosts);
  } catch (const weft::InputError& error) {
    require(error.detail().where.starts_with(where) && !error.detail().expected.empty());
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  if (!check([&] { return weft::topology::expand_hostlist(text); }, "host list:column ")) return 0;
  std::istringstream input(text);
  check([&] { return weft::topology::parse_hostfile(input, "hosts.txt"); }, "hosts.txt");
  return 0;
}
