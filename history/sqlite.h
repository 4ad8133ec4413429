#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace weft::history {

class Statement;

/// One connection to a SQLite file. Owns it; not thread safe: a thread that wants the same file opens its own.
///
/// Everything that SQLite refuses is thrown as RunError with the file as `where` and a next step that fits the kind of
/// failure: not a database, damaged, not writable, disk full, locked for longer than the time-out.
class Database {
 public:
  enum class Mode {
    read_write,  ///< created (0600) where it does not exist
    read_only,
    immutable,  ///< read only, in a directory where SQLite cannot even make its shared memory: the file must lie still
  };

  /// `busy_timeout`: how long a statement waits for another connection's lock.
  Database(const std::string& path, Mode mode, std::chrono::milliseconds busy_timeout);
  Database(Database&& other) noexcept;
  Database& operator=(Database&& other) noexcept;
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database();

  /// Runs one or several statements that give no rows.
  void execute(const char* sql);
  Statement prepare(std::string_view sql);
  /// The first column of the first row, such as a PRAGMA's answer.
  std::int64_t integer(std::string_view sql);
  std::string text(std::string_view sql);
  std::int64_t last_insert_id() const;
  const std::string& path() const { return path_; }
  std::chrono::milliseconds busy_timeout() const { return busy_timeout_; }

  /// Throws the last failure of this connection. `doing` completes "cannot …".
  [[noreturn]] void throw_failure(std::string_view doing) const;
  /// Whether the last failure was another connection's lock.
  bool was_busy() const;

 private:
  std::string path_;
  std::chrono::milliseconds busy_timeout_;
  sqlite3* handle_ = nullptr;
};

/// A prepared statement. Must not outlive its Database. Columns and parameters count from 0.
class Statement {
 public:
  Statement(Database& database, sqlite3_stmt* handle) : database_(&database), handle_(handle) {}
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&& other) = delete;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement();

  /// Binds all parameters, from the first on, and starts again. A double that is not finite becomes NULL.
  template <typename... Values>
  Statement& bind(const Values&... values) {
    reset();
    [[maybe_unused]] int position = 0;
    (bind_one(position++, values), ...);
    return *this;
  }

  /// Binds and runs a statement that gives no rows.
  template <typename... Values>
  void run(const Values&... values) {
    bind(values...);
    while (step()) {
    }
  }

  /// The next row; false when there is none.
  bool step();

  bool is_null(int column) const;
  std::int64_t integer(int column) const;
  double real(int column) const;  ///< 0 for NULL
  std::string text(int column) const;
  int small_integer(int column) const { return static_cast<int>(integer(column)); }
  std::optional<std::int64_t> optional_integer(int column) const;
  std::optional<double> optional_real(int column) const;

 private:
  void reset();
  void bind_one(int position, std::nullptr_t);
  void bind_one(int position, double value);
  void bind_one(int position, std::string_view value);
  void bind_one(int position, const std::string& value) { bind_one(position, std::string_view(value)); }
  void bind_one(int position, const char* value) { bind_one(position, std::string_view(value)); }
  void bind_one(int position, std::integral auto value) { bind_integer(position, static_cast<std::int64_t>(value)); }
  template <typename T>
  void bind_one(int position, const std::optional<T>& value) {
    if (value)
      bind_one(position, *value);
    else
      bind_one(position, nullptr);
  }
  void bind_integer(int position, std::int64_t value);
  void check_bound(int result);

  Database* database_;
  sqlite3_stmt* handle_;
};

/// Takes the write lock at once (BEGIN IMMEDIATE), and rolls back unless committed.
class Transaction {
 public:
  explicit Transaction(Database& database);
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();
  void commit();

 private:
  Database& database_;
  bool open_ = true;
};

}  // namespace weft::history
