#pragma once

#include <optional>
#include <string>

namespace weft::history {

/// Who writes to a history on a shared file system.
struct LockHolder {
  std::string host;
  long pid = 0;
  std::string since;  ///< UTC, ISO 8601
  bool operator==(const LockHolder&) const = default;
};

/// The lock file `<database>.lock`: lets the processes of one host, and of no other, write to a database whose file
/// system several hosts share. SQLite's own locks order the writers of one host; whether they reach the other hosts
/// depends on how the file system was mounted, so nothing is staked on that.
///
/// Another host's lock is never broken: nobody here can tell whether its process still lives. A lock of this host is
/// shared while its process lives and taken over when it is dead. Not thread safe.
class HostLock {
 public:
  explicit HostLock(std::string database_path);
  HostLock(HostLock&& other) noexcept;
  HostLock& operator=(HostLock&& other) noexcept;
  HostLock(const HostLock&) = delete;
  HostLock& operator=(const HostLock&) = delete;
  ~HostLock();  ///< removes the file if it is ours

  /// Makes sure that this host holds the lock; called before every write. Throws InputError, naming the holder, when
  /// another host does, and RunError when the file cannot be written.
  void hold();

  const std::string& path() const { return path_; }

 private:
  std::string path_;  ///< empty once moved from
  LockHolder self_;
};

/// What the lock file says; none when there is no file. A file that says nothing sensible gives a holder without a
/// host.
std::optional<LockHolder> read_lock(const std::string& path);

/// Writes it as hold() does, in one step and only where there is none yet. For whoever needs a lock of another host.
bool create_lock(const std::string& path, const LockHolder& holder);

}  // namespace weft::history
