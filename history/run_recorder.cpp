#include "history/run_recorder.h"

#include <utility>

#include <fmt/format.h>

#include "topology/error.h"

namespace weft::history {

RunRecorder::RunRecorder(const Options& options)
    : options_(options), history_(History::open(options.database_path, options.history)), notes_(history_->notes()) {
  for (std::string& sentence : import_spooled_runs(*history_, options_.spool_directories))
    notes_.push_back(std::move(sentence));
}

std::optional<Precedent> RunRecorder::precedent(const bisect::RunInfo& info) {
  if (!history_) return std::nullopt;
  return history_->precedent(info);
}

std::int64_t RunRecorder::begin(const bisect::RunInfo& info) {
  if (!history_) return 0;
  info_ = info;
  info_.id = history_->begin_run(info);
  return info_.id;
}

void RunRecorder::begin_spool(const std::string& why) {
  try {
    spool_.emplace(options_.spool_directories, options_.database_path, info_);
    for (const bisect::RoundResult& round : rounds_)
      spool_->record_round(round);
    notes_.push_back(
        fmt::format("the history could not be written ({}): this run is kept in {}, and the next weft bisect that can "
                    "write the history takes it in",
                    why, spool_->path()));
  } catch (const Error& error) {
    lost_ = true;
    notes_.push_back(fmt::format(
        "this run is kept nowhere: the history could not be written ({}), and neither could a spool file ({})", why,
        error.what()));
  }
}

/// To the database while that works; from its first refusal on to the spool.
template <typename ToDatabase, typename ToSpool>
void RunRecorder::record(ToDatabase to_database, ToSpool to_spool) {
  if (!history_ || lost_) return;
  if (!spool_) {
    try {
      to_database(*history_);
      return;
    } catch (const Error& error) {
      begin_spool(error.what());
    }
  }
  if (!spool_ || lost_) return;
  try {
    to_spool(*spool_);
  } catch (const Error& error) {
    lost_ = true;
    notes_.push_back(fmt::format("the rest of this run is kept nowhere: {}", error.what()));
  }
}

void RunRecorder::round(const bisect::RoundResult& round) {
  record([&](History& history) { history.record_round(info_.id, round); },
         [&](SpoolFile& spool) { spool.record_round(round); });
  if (history_) rounds_.push_back(round);
}

void RunRecorder::finish(const bisect::RunResult& result) {
  record([&](History& history) { history.finish_run(info_.id, result); },
         [&](SpoolFile& spool) { spool.finish_run(result); });
}

std::optional<std::string> RunRecorder::spool_path() const {
  if (!spool_) return std::nullopt;
  return spool_->path();
}

}  // namespace weft::history
