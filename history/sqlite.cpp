#include "history/sqlite.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include "topology/error.h"

namespace weft::history {
namespace {

/// SQLite creates files as the umask says; a history is its owner's alone. O_EXCL, because closing a descriptor of a
/// file that another connection of this process has open would drop that connection's POSIX locks.
void create_private_file(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor >= 0) ::close(descriptor);
  if (descriptor >= 0 || errno == EEXIST) return;
  throw RunError({fmt::format("cannot make the history: {}", std::strerror(errno)), path, "",
                  "make its directory writable, or choose another file with --db"});
}

/// `file:` URI of a path: everything that means something in a URI is percent-encoded.
std::string file_uri(const std::string& path, std::string_view query) {
  std::string uri = "file:";
  for (const char byte : path) {
    const bool special = byte == '?' || byte == '#' || byte == '%';
    uri += special ? fmt::format("%{:02x}", static_cast<unsigned>(static_cast<unsigned char>(byte)))
                   : std::string(1, byte);
  }
  return uri + '?' + std::string(query);
}

bool is_out_of_space(int system_error) {
  return system_error == ENOSPC || system_error == EDQUOT;
}

struct Failure {
  std::string what;
  std::string next_step;
};

Failure failure_of(int code, int system_error, const char* message, std::chrono::milliseconds busy_timeout) {
  switch (code & 0xff) {
    case SQLITE_NOTADB:
      return {"the file is not a weft history: SQLite does not know its format",
              "name another file with --db, or move this one away"};
    case SQLITE_CORRUPT:
      return {fmt::format("the history is damaged ({})", message),
              "save what can be read with `sqlite3 FILE .recover | sqlite3 NEWFILE`, or move the file away and a new "
              "history is begun"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {fmt::format("another program has kept the history locked for more than {:.3g} s",
                          std::chrono::duration<double>(busy_timeout).count()),
              "see who holds it with `fuser FILE`, then try again"};
    case SQLITE_FULL:
      return {"the disk is full", "make room, or choose another file with --db"};
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return {"the history is not writable",
              "make the file and its directory writable, or choose another one with --db"};
    case SQLITE_CANTOPEN:
      return {
          fmt::format("the history cannot be opened ({})", system_error != 0 ? std::strerror(system_error) : message),
          "check the path and the rights of its directory, or choose another file with --db"};
    case SQLITE_IOERR:
    case SQLITE_PROTOCOL:
      if (is_out_of_space(system_error)) return {"the disk is full", "make room, or choose another file with --db"};
      return {fmt::format("reading or writing the history failed ({}{}{})", message, system_error != 0 ? ": " : "",
                          system_error != 0 ? std::strerror(system_error) : ""),
              "check the disk or the network file system, or choose a local file with --db"};
    default:
      return {fmt::format("SQLite refused ({})", message), "choose another file with --db"};
  }
}

}  // namespace

Database::Database(const std::string& path, Mode mode, std::chrono::milliseconds busy_timeout)
    : path_(path), busy_timeout_(busy_timeout) {
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  std::string name = path;
  switch (mode) {
    case Mode::read_write:
      create_private_file(path);
      flags |= SQLITE_OPEN_READWRITE;
      break;
    case Mode::read_only:
      flags |= SQLITE_OPEN_READONLY;
      break;
    case Mode::immutable:
      flags |= SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
      name = file_uri(path, "immutable=1");
      break;
  }
  const int result = sqlite3_open_v2(name.c_str(), &handle_, flags, nullptr);
  try {
    if (result != SQLITE_OK) throw_failure("open it");
    sqlite3_busy_timeout(handle_, static_cast<int>(busy_timeout.count()));
    // SQLite opens a file that may not be written for reading only, without a word.
    if (mode == Mode::read_write && sqlite3_db_readonly(handle_, "main") == 1) {
      const Failure failure = failure_of(SQLITE_READONLY, 0, "", busy_timeout);
      throw RunError({failure.what, path, "", failure.next_step});
    }
  } catch (...) {
    sqlite3_close_v2(handle_);
    throw;
  }
}

Database::Database(Database&& other) noexcept
    : path_(std::move(other.path_)),
      busy_timeout_(other.busy_timeout_),
      handle_(std::exchange(other.handle_, nullptr)) {}

Database& Database::operator=(Database&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(busy_timeout_, other.busy_timeout_);
  std::swap(handle_, other.handle_);
  return *this;
}

Database::~Database() {
  sqlite3_close_v2(handle_);
}

void Database::execute(const char* sql) {
  if (sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) throw_failure("use it");
}

Statement Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(handle_, sql.data(), static_cast<int>(sql.size()), &statement, nullptr) != SQLITE_OK)
    throw_failure("use it");
  return Statement(*this, statement);
}

std::int64_t Database::integer(std::string_view sql) {
  Statement statement = prepare(sql);
  return statement.step() ? statement.integer(0) : 0;
}

std::string Database::text(std::string_view sql) {
  Statement statement = prepare(sql);
  return statement.step() ? statement.text(0) : std::string();
}

std::int64_t Database::last_insert_id() const {
  return sqlite3_last_insert_rowid(handle_);
}

void Database::throw_failure(std::string_view doing) const {
  const int code = handle_ == nullptr ? SQLITE_NOMEM : sqlite3_extended_errcode(handle_);
  const int system_error = handle_ == nullptr ? ENOMEM : sqlite3_system_errno(handle_);
  const char* message = handle_ == nullptr ? "out of memory" : sqlite3_errmsg(handle_);
  const Failure failure = failure_of(code, system_error, message, busy_timeout_);
  throw RunError({fmt::format("cannot {}: {}", doing, failure.what), path_, "", failure.next_step});
}

bool Database::was_busy() const {
  const int code = sqlite3_errcode(handle_) & 0xff;
  return code == SQLITE_BUSY || code == SQLITE_LOCKED;
}

Statement::Statement(Statement&& other) noexcept
    : database_(other.database_), handle_(std::exchange(other.handle_, nullptr)) {}

Statement::~Statement() {
  sqlite3_finalize(handle_);
}

bool Statement::step() {
  const int result = sqlite3_step(handle_);
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  database_->throw_failure(sqlite3_stmt_readonly(handle_) != 0 ? "read it" : "write to it");
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(handle_, column) == SQLITE_NULL;
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(handle_, column);
}

double Statement::real(int column) const {
  return sqlite3_column_double(handle_, column);
}

std::string Statement::text(int column) const {
  const unsigned char* bytes = sqlite3_column_text(handle_, column);
  if (bytes == nullptr) return {};
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(handle_, column));
  return {reinterpret_cast<const char*>(bytes), size};
}

std::optional<std::int64_t> Statement::optional_integer(int column) const {
  if (is_null(column)) return std::nullopt;
  return integer(column);
}

std::optional<double> Statement::optional_real(int column) const {
  if (is_null(column)) return std::nullopt;
  return real(column);
}

void Statement::reset() {
  sqlite3_reset(handle_);
}

void Statement::bind_one(int position, std::nullptr_t) {
  check_bound(sqlite3_bind_null(handle_, position + 1));
}

void Statement::bind_one(int position, double value) {
  check_bound(std::isfinite(value) ? sqlite3_bind_double(handle_, position + 1, value)
                                   : sqlite3_bind_null(handle_, position + 1));
}

void Statement::bind_one(int position, std::string_view value) {
  check_bound(sqlite3_bind_text64(handle_, position + 1, value.data() == nullptr ? "" : value.data(), value.size(),
                                  SQLITE_TRANSIENT, SQLITE_UTF8));
}

void Statement::bind_integer(int position, std::int64_t value) {
  check_bound(sqlite3_bind_int64(handle_, position + 1, value));
}

void Statement::check_bound(int result) {
  if (result != SQLITE_OK) database_->throw_failure("use it");
}

Transaction::Transaction(Database& database) : database_(database) {
  database_.execute("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  if (!open_) return;
  try {
    database_.execute("ROLLBACK");
  } catch (const Error&) {
    // SQLite has already rolled back by itself (full disk, I/O error); there is nothing left to undo.
  }
}

void Transaction::commit() {
  database_.execute("COMMIT");
  open_ = false;
}

}  // namespace weft::history
