// history_writer DATABASE RUNS: records that many runs, as a controller would.

#include <cstdlib>
#include <exception>
#include <iostream>

#include "history/history.h"
#include "tests/history/sample_run.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    weft::history::History history = weft::history::History::open(argv[1]);
    const weft::bisect::RunResult run = weft::history::sample_run();
    for (int i = 0; i < std::atoi(argv[2]); ++i) {
      const std::int64_t id = history.begin_run(run.info);
      for (const weft::bisect::RoundResult& round : run.rounds)
        history.record_round(id, round);
      history.finish_run(id, run);
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 4;
  }
}
