// The queries of docs/history.md, run as they stand there.

#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "history/history.h"
#include "tests/history/sample_run.h"
#include "tests/history/scratch.h"

namespace weft::history {
namespace {

std::vector<std::string> documented_queries() {
  std::ifstream file(WEFT_SOURCE_DIR "/docs/history.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> queries;
  constexpr std::string_view kBegin = "```sql\n";
  for (std::size_t at = text.find(kBegin); at != std::string::npos; at = text.find(kBegin, at)) {
    at += kBegin.size();
    queries.push_back(text.substr(at, text.find("```", at) - at));
  }
  return queries;
}

std::vector<std::string> rows_of(Database& database, const std::string& query, int columns) {
  Statement select = database.prepare(query);
  std::vector<std::string> rows;
  while (select.step()) {
    std::string row;
    for (int i = 0; i < columns; ++i)
      row += (i > 0 ? "|" : "") + select.text(i);
    rows.push_back(row);
  }
  return rows;
}

TEST(DocumentedQueries, GiveWhatTheyPromise) {
  const Scratch scratch;
  {
    History history = History::open(scratch / "weft.db");
    for (const bool injected : {false, false, true}) {
      bisect::RunResult run = sample_run();
      if (!injected) run.info.injected.clear();
      const std::int64_t id = history.begin_run(run.info);
      for (const bisect::RoundResult& round : run.rounds)
        history.record_round(id, round);
      history.record_round(id, sample_round(3, {sample_ok({"gpu001", "gpu002"}, 151.96)}));
      history.finish_run(id, run);
    }
  }
  const std::vector<std::string> queries = documented_queries();
  ASSERT_EQ(queries.size(), 2U);
  Database database(scratch / "weft.db", Database::Mode::read_only, std::chrono::seconds(1));
  EXPECT_THAT(rows_of(database, queries[0], 4), testing::ElementsAre("gpu002|2|2026-03-01T02:03:04Z|2.4"));
  const std::string hung = "2026-03-01T02:03:04Z|gpu[001-002]|3|hung|";
  const std::string slow = "2026-03-01T02:03:04Z|gpu[001-002]||ok|152.0";
  EXPECT_THAT(rows_of(database, queries[1], 5), testing::ElementsAre(hung, slow, hung, slow, hung, slow));
}

}  // namespace
}  // namespace weft::history
