// Stands in for `weft agent` in the tests of launch/, which must not need the whole of weft.

#include <chrono>
#include <cstdlib>

#include "launch/agent.h"

int main() {
  weft::launch::AgentOptions options;
  if (const char* limit = std::getenv("WEFT_TEST_SILENCE_MS")) {
    options.silence_limit = std::chrono::milliseconds(std::atoi(limit));
  }
  if (const char* folder = std::getenv("WEFT_TEST_RANKS")) options.rank_program_folder = folder;
  return weft::launch::run_agent(options);
}
