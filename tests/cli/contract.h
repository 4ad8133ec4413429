#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/weft_process.h"

namespace weft::cli {

/// The one JSON document that standard output must be; throws when it is anything else.
inline nlohmann::json only_document(const Outcome& outcome) {
  nlohmann::json document = nlohmann::json::parse(outcome.out, nullptr, false);
  if (document.is_discarded()) throw std::runtime_error("not one JSON document: " + outcome.out + outcome.err);
  return document;
}

/// What scripts may rely on in every document of `bisect`, whatever its verdict; throws when a field is missing.
inline void expect_fields_of_the_contract(const nlohmann::json& document) {
  for (const char* field : {"schema", "run", "verdict", "culprits", "baseline", "unresolved", "asked", "measured",
                            "skipped", "failed", "rounds", "probes", "wall_s", "node_seconds", "findings"}) {
    if (!document.contains(field)) throw std::runtime_error(std::string(field) + " is missing in " + document.dump(1));
  }
  EXPECT_EQ(document["asked"].get<int>(),
            document["measured"].get<int>() + document["skipped"].get<int>() + document["failed"].get<int>());
  for (const nlohmann::json& culprit : document["culprits"]) {
    for (const char* field : {"kind", "measured_gbps", "expected_gbps", "slowdown", "confidence"}) {
      EXPECT_TRUE(culprit.contains(field)) << field << " is missing in " << culprit.dump(1);
    }
    if (!culprit.contains("confidence")) continue;
    EXPECT_GE(culprit["confidence"].get<double>(), 0);
    EXPECT_LE(culprit["confidence"].get<double>(), 1);
  }
}

/// `node n3`, `rail n3 rail 2`: what was convicted, most of the contract's fields left out.
inline std::vector<std::string> convicted(const nlohmann::json& document) {
  std::vector<std::string> culprits;
  for (const nlohmann::json& culprit : document.value("culprits", nlohmann::json::array())) {
    std::string text = culprit.value("kind", "no kind");
    if (culprit.contains("node")) text += " " + culprit["node"].get<std::string>();
    if (culprit.contains("rail")) text += " rail " + std::to_string(culprit["rail"].get<int>());
    culprits.push_back(text);
  }
  return culprits;
}

}  // namespace weft::cli
