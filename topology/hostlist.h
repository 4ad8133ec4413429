#pragma once

#include <cstddef>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::topology {

/// More hosts than this in one list, each repeat counted, is taken for a slip of the pen and refused before any memory
/// is spent on it.
inline constexpr std::size_t kMaxHosts = 1'000'000;

/// A host file that goes on for longer is not one.
inline constexpr std::size_t kMaxHostfileBytes = std::size_t{64} << 20;

/// Expands a host list in the syntax of Slurm and ClusterShell: `gpu[001-064,070]`, several brackets in one name
/// (`r[1-2]n[01-16]`), suffixes (`n[1-3]-ib0`), steps (`[0-10/2]`); items are separated by commas or blanks, and `!`
/// before an item takes its hosts out of everything named in the list, wherever it stands (`gpu[1-9],!gpu3`, or
/// `gpu[1-9]!gpu3` as ClusterShell has it).
///
/// Host names are strings from end to end: `node[08-11]` is padded, `node[8-11]` is not, and a range whose ends
/// differ in padding (`node[541-0570]`) is an error. Their numbers may have any number of digits. A name has at most
/// 255 characters, of `A-Za-z0-9._-`, and starts with neither `-` nor `.`. Order is kept and duplicates are dropped.
///
/// Throws InputError with `where` = "`origin`:column N" (columns from 1) for anything else, for more than kMaxHosts
/// hosts, and for a list that names no host.
std::vector<std::string> expand_hostlist(std::string_view expression, std::string_view origin = "host list");

/// The same with duplicates kept, for lists whose positions mean something: the leaf of rail 0, of rail 1, …
std::vector<std::string> expand_hostlist_keeping_repeats(std::string_view expression,
                                                         std::string_view origin = "host list");

/// Folds hosts for print: `gpu[001-003,007],login1`. Padded numbers share a bracket only with numbers of their width,
/// unpadded ones (`n[8-11]`) with unpadded ones, so expand_hostlist(fold_hostlist(x)) is x as a set for every list of
/// valid names. Groups appear in the order of their first host, numbers inside a bracket are sorted. One numeric
/// field is folded per name: the last one that lets names join.
std::string fold_hostlist(std::span<const std::string> hosts);

/// Reads a host file: a host list in any form a line, `#` comments, blank lines, and what MPI host files add after the
/// name (`slots=8`, `max_slots=8`, `:8`) ignored; `!` works across the lines. `-` reads standard input. Throws
/// InputError (file:line:column) for a bad line, for a file that names no host, and past kMaxHostfileBytes.
std::vector<std::string> read_hostfile(const std::string& path);
std::vector<std::string> parse_hostfile(std::istream& input, std::string_view origin);

/// The first of each host, order kept.
std::vector<std::string> without_repeats(std::vector<std::string> hosts);

/// `hosts` without those in `excluded`, order kept.
std::vector<std::string> exclude_hosts(std::span<const std::string> hosts, std::span<const std::string> excluded);

}  // namespace weft::topology
