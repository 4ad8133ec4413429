#pragma once

#include "history/sqlite.h"

namespace weft::history {

/// The version of the tables, kept in the file's `user_version`. Tables and columns: docs/history.md.
int schema_version();

/// Refuses, with RunError, a file that is not ours to write: another program's database, or one written by a newer
/// weft. Changes nothing. Returns the file's version, 0 for a new one.
int require_known_schema(Database& database);

/// Brings the tables up to schema_version(), all in one transaction. Two that do it at the same time both succeed.
void migrate(Database& database);

}  // namespace weft::history
