#pragma once

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include <gloo/rendezvous/store.h>

#include "probes/collective/gloo/rank_channel.h"

namespace weft::probes {

/// The others' addresses did not come in time.
class RendezvousTimeout : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Gloo's rendezvous over the rank's channel: what this rank sets is posted once, and the first look at another rank's
/// key waits until the controller hands out everyone's post. Then the stage `init` begins.
///
/// Gloo's keys are `rank_R`, the host name of rank R, and `R`, the addresses at which R awaits each other rank, one
/// after the other without its own, all of one length (gloo/rendezvous/context.cc). Only the one meant for this rank is
/// ever read, so only that one travels. Host names serve Gloo to number the ranks of one host, which nothing over TCP
/// uses; they stay at home and cost no second exchange.
class MailStore : public ::gloo::rendezvous::Store {
 public:
  MailStore(RankChannel& channel, const RankParameters& parameters, std::chrono::milliseconds limit);

  void set(const std::string& key, const std::vector<char>& data) override;
  std::vector<char> get(const std::string& key) override;
  void wait(const std::vector<std::string>& keys) override;
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) override;

 private:
  void post_addresses(const std::vector<char>& addresses);
  const RankMail& mail();

  RankChannel& channel_;
  const RankParameters& parameters_;
  std::chrono::milliseconds limit_;
  std::optional<RankMail> mail_;
};

}  // namespace weft::probes
