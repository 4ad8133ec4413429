#pragma once

#include <string>
#include <vector>

namespace weft::history {

/// `$WEFT_DB`, else `$XDG_STATE_HOME/weft/weft.db`, else `~/.local/state/weft/weft.db`. A relative XDG_STATE_HOME is
/// ignored, as the XDG Base Directory Specification asks. Throws InputError when there is no home directory either.
std::string default_database_path();

/// Where results go that the database did not take, best first: `spool` beside the default database, `$TMPDIR`, `/tmp`.
std::vector<std::string> spool_directories();

/// Makes the directory of `file`, each missing level 0700. Throws RunError.
void make_parent_directory(const std::string& file);

}  // namespace weft::history
