#include "history/host_lock.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "history/process.h"
#include "topology/error.h"

namespace weft::history {
namespace {

[[noreturn]] void throw_unwritable(const std::string& path, int error) {
  throw RunError({fmt::format("cannot write the lock file: {}", std::strerror(error)), path, "",
                  "make its directory writable, or choose a local file with --db"});
}

std::string text_of(const LockHolder& holder) {
  const nlohmann::ordered_json document = {{"host", holder.host}, {"pid", holder.pid}, {"since", holder.since}};
  return document.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
}

/// 0, or an errno.
int write_new_file(const std::string& path, const std::string& text) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (descriptor < 0) return errno;
  const ssize_t written = ::write(descriptor, text.data(), text.size());
  const int error = written == static_cast<ssize_t>(text.size()) ? 0 : (written < 0 ? errno : ENOSPC);
  ::close(descriptor);
  if (error != 0) ::unlink(path.c_str());
  return error;
}

/// A name of our own beside the lock, on the same file system.
std::string draft_name(const std::string& path) {
  return fmt::format("{}.{}.{}", path, host_name(), static_cast<long>(::getpid()));
}

/// link(2) is atomic on every NFS, with the contents in place; its answer may be lost there, the link count is not
/// (open(2), O_EXCL). File systems without hard links get O_EXCL.
int link_as_lock(const std::string& draft, const std::string& path, const std::string& text) {
  if (::link(draft.c_str(), path.c_str()) == 0) return 0;
  const int error = errno;
  struct stat state {};
  if (::stat(draft.c_str(), &state) == 0 && state.st_nlink == 2) return 0;
  return error == EEXIST ? EEXIST : write_new_file(path, text);
}

}  // namespace

std::optional<LockHolder> read_lock(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const nlohmann::json document = nlohmann::json::parse(text, nullptr, false);
  if (!document.is_object()) return LockHolder{};
  try {
    return LockHolder{document.value("host", ""), document.value("pid", 0L), document.value("since", "")};
  } catch (const nlohmann::json::exception&) {
    return LockHolder{};
  }
}

bool create_lock(const std::string& path, const LockHolder& holder) {
  const std::string draft = draft_name(path);
  const std::string text = text_of(holder);
  ::unlink(draft.c_str());
  if (const int error = write_new_file(draft, text); error != 0) throw_unwritable(path, error);
  const int error = link_as_lock(draft, path, text);
  ::unlink(draft.c_str());
  if (error != 0 && error != EEXIST) throw_unwritable(path, error);
  return error == 0;
}

HostLock::HostLock(std::string database_path)
    : path_(std::move(database_path) + ".lock"), self_{host_name(), static_cast<long>(::getpid()), utc_now()} {}

HostLock::HostLock(HostLock&& other) noexcept
    : path_(std::exchange(other.path_, std::string())), self_(std::move(other.self_)) {}

HostLock& HostLock::operator=(HostLock&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(self_, other.self_);
  return *this;
}

HostLock::~HostLock() {
  if (path_.empty()) return;
  if (read_lock(path_) == self_) ::unlink(path_.c_str());
}

void HostLock::hold() {
  constexpr int kTries = 5;  // each one more is a holder that left between our two looks
  for (int i = 0; i < kTries; ++i) {
    const std::optional<LockHolder> holder = read_lock(path_);
    if (!holder) {
      if (create_lock(path_, self_)) return;
      continue;
    }
    if (holder->host != self_.host)
      throw InputError(
          {holder->host.empty()
               ? "the history is locked, and the lock file does not say by whom"
               : fmt::format("the history is in use by process {} on {} since {}, and its file system is shared "
                             "between hosts",
                             holder->pid, in_quotes(holder->host), holder->since),
           path_, "",
           "wait until that run has ended (if none runs there, remove the lock file), or give this host a history of "
           "its own with --db"});
    if (process_lives(holder->pid)) return;
    // Renaming over it leaves no moment at which another host could find no lock.
    const std::string draft = draft_name(path_);
    ::unlink(draft.c_str());
    if (const int error = write_new_file(draft, text_of(self_)); error != 0) throw_unwritable(path_, error);
    if (::rename(draft.c_str(), path_.c_str()) != 0) throw_unwritable(path_, errno);
    return;
  }
  throw RunError({"the lock file comes and goes", path_, "", "try again"});
}

}  // namespace weft::history
