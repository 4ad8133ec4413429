#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bisect/run.h"
#include "history/sqlite.h"

namespace weft::history {

/// A run as rows of the tables, and back. Writers expect to be inside a Transaction.
std::int64_t insert_run(Database& database, const bisect::RunInfo& info);
void insert_round(Database& database, std::int64_t run, const bisect::RoundResult& round);
void write_conclusion(Database& database, std::int64_t run, const bisect::RunResult& result);

/// A row of `run` and everything that hangs on it.
struct RunRows {
  std::string state;
  long controller_pid = 0;
  bool concluded = false;  ///< whether there is a verdict
  bisect::RunResult result;
};
/// None when there is no such run. Throws RunError for rows that no weft wrote.
std::optional<RunRows> select_run(Database& database, std::int64_t run);

/// What identifies a set of hosts, whatever their order.
std::string host_set_key(std::vector<std::string> hosts);

}  // namespace weft::history
