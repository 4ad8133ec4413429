// Prints the document of every sample run, as one JSON array.

#include <iostream>

#include <nlohmann/json.hpp>

#include "report/json.h"
#include "tests/report/sample_runs.h"

int main() {
  nlohmann::ordered_json documents = nlohmann::ordered_json::array();
  for (const auto& [name, run] : weft::report::sample_runs()) {
    documents.push_back(weft::report::bisect_json(run));
    documents.push_back(weft::report::bisect_json(run, weft::report::kAnalyzeSchema));
  }
  std::cout << documents.dump() << '\n';
}
