#pragma once

#include <cstddef>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::topology {

/// More hosts than this in one list is taken for a slip of the pen and refused before any memory is spent on it.
inline constexpr std::size_t kMaxHosts = 1'000'000;

/// Expands a host list in the syntax of Slurm and ClusterShell: `gpu[001-064,070]`, several brackets in one name
/// (`r[1-2]n[01-16]`), suffixes (`n[1-3]-ib0`), steps (`[0-10/2]`); items are separated by commas or blanks, and `!`
/// before an item takes its hosts out of everything named in the list.
///
/// Host names are strings from end to end: `node[08-11]` is padded, `node[8-11]` is not, and a range whose ends
/// differ in padding (`node[541-0570]`) is an error. Order is kept and duplicates are dropped.
///
/// Throws InputError with `where` = "`origin`:column N" (columns from 1) for anything else, for more than kMaxHosts
/// hosts, and for a list that names no host.
std::vector<std::string> expand_hostlist(std::string_view expression, std::string_view origin = "host list");

/// Folds hosts for print: `gpu[001-003,007],login1`. Widths are never mixed inside one bracket, so
/// expand_hostlist(fold_hostlist(x)) is x as a set for every list of valid names; groups appear in the order of their
/// first host, and numbers inside a bracket are sorted. One numeric field is folded per name (the last one that lets names join).
std::string fold_hostlist(std::span<const std::string> hosts);

/// Reads a host file: a host list in any form a line, `#` comments, blank lines, and what MPI host files add after the
/// name (`slots=8`, `max_slots=8`, `:8`) ignored. `-` reads standard input. Throws InputError (file:line:column).
std::vector<std::string> read_hostfile(const std::string& path);
std::vector<std::string> parse_hostfile(std::istream& input, std::string_view origin);

/// `hosts` without those in `excluded`, order kept.
std::vector<std::string> exclude_hosts(std::span<const std::string> hosts, std::span<const std::string> excluded);

}  // namespace weft::topology
