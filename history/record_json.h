#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "bisect/run.h"

namespace weft::history {

/// What was recorded, as JSON and back: for the spool, and for the lists that live in one column of the database.
/// Doubles come back bit for bit; one that is not finite is written as null and comes back as 0 (or as none, where
/// there may be none). Bytes that are not UTF-8 come back as U+FFFD. Decoders throw nlohmann::json::exception or
/// RunError for a document that is not of this kind.
nlohmann::ordered_json encode(const bisect::RunInfo& info);
nlohmann::ordered_json encode(const bisect::RoundResult& round);
nlohmann::ordered_json encode(const bisect::Verdict& verdict);
nlohmann::ordered_json encode(const bisect::Culprit& culprit);
nlohmann::ordered_json encode(const std::vector<bisect::Unresolved>& unresolved);
nlohmann::ordered_json encode(const std::vector<Evidence>& evidence);

bisect::RunInfo decode_run_info(const nlohmann::ordered_json& document);
bisect::RoundResult decode_round(const nlohmann::ordered_json& document);
bisect::Verdict decode_verdict(const nlohmann::ordered_json& document);
std::vector<bisect::Unresolved> decode_unresolved(const nlohmann::ordered_json& document);
std::vector<Evidence> decode_evidence(const nlohmann::ordered_json& document);

/// One line, never throwing for bytes that are not UTF-8.
std::string to_line(const nlohmann::ordered_json& document);
std::string strings_to_line(const std::vector<std::string>& strings);
std::vector<std::string> strings_from_line(const std::string& line);

}  // namespace weft::history
