#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace weft::history {

/// The kind of file system that a path is on, as far as a database cares.
struct Filesystem {
  std::uint32_t magic = 0;  ///< statfs(2)'s f_type
  std::string name;         ///< "NFS", "Lustre"; empty for one that is not in our list
  /// Whether several hosts may have it mounted, or nobody can tell (FUSE). There, SQLite's write-ahead log is not safe:
  /// it needs memory shared by all who use the file (https://www.sqlite.org/wal.html, "all processes … must be on the
  /// same host").
  bool shared = false;
};

Filesystem filesystem_of_magic(std::uint32_t magic);

/// Of an existing path, or of the nearest parent that exists. What cannot be asked counts as local.
Filesystem filesystem_of(const std::string& path);

using FilesystemOf = std::function<Filesystem(const std::string& path)>;

}  // namespace weft::history
