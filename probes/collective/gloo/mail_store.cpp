#include "probes/collective/gloo/mail_store.h"

#include <charconv>
#include <cstddef>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

namespace weft::probes {
namespace {

bool is_host_name_key(const std::string& key) {
  return key.rfind("rank_", 0) == 0;
}

int rank_of_key(const std::string& key, int ranks) {
  int rank = -1;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), rank);
  if (error != std::errc{} || end != key.data() + key.size() || rank < 0 || rank >= ranks) {
    throw std::runtime_error(fmt::format("this version of Gloo uses an unknown key '{}'", key));
  }
  return rank;
}

/// Where the address for `peer` stands among those of `owner`, who leaves itself out.
std::size_t slot_of(int peer, int owner) {
  return static_cast<std::size_t>(peer > owner ? peer - 1 : peer);
}

}  // namespace

MailStore::MailStore(RankChannel& channel, const RankParameters& parameters, std::chrono::milliseconds limit)
    : channel_(channel), parameters_(parameters), limit_(limit) {}

void MailStore::set(const std::string& key, const std::vector<char>& data) {
  if (is_host_name_key(key)) return;
  if (rank_of_key(key, parameters_.ranks) != parameters_.rank) {
    throw std::runtime_error("this version of Gloo sets another rank's key");
  }
  post_addresses(data);
}

void MailStore::post_addresses(const std::vector<char>& addresses) {
  const auto others = static_cast<std::size_t>(parameters_.ranks - 1);
  if (others == 0 || addresses.size() % others != 0) {
    throw std::runtime_error("this version of Gloo has addresses of different lengths");
  }
  const std::size_t length = addresses.size() / others;
  const std::string_view all(addresses.data(), addresses.size());
  RankPost post;
  for (int peer = 0; peer < parameters_.ranks; ++peer) {
    post.each.push_back(
        peer == parameters_.rank ? "" : to_hex(all.substr(slot_of(peer, parameters_.rank) * length, length)));
  }
  channel_.send(post);
}

const RankMail& MailStore::mail() {
  if (mail_) return *mail_;
  mail_ = channel_.wait_for_mail(limit_);
  if (!mail_) throw RendezvousTimeout("the addresses of the other ranks did not come");
  if (mail_->each.size() != static_cast<std::size_t>(parameters_.ranks)) {
    throw std::runtime_error("the mail does not have one address for each rank");
  }
  channel_.enter(Stage::init);
  if (parameters_.faults.exit_in_init) _exit(*parameters_.faults.exit_in_init);
  return *mail_;
}

std::vector<char> MailStore::get(const std::string& key) {
  if (is_host_name_key(key)) return {};
  const int owner = rank_of_key(key, parameters_.ranks);
  const auto address = from_hex(mail().each[static_cast<std::size_t>(owner)]);
  if (!address) throw std::runtime_error("an address in the mail is not hexadecimal");
  std::vector<char> all(static_cast<std::size_t>(parameters_.ranks - 1) * address->size());
  const auto offset = static_cast<std::ptrdiff_t>(slot_of(parameters_.rank, owner) * address->size());
  std::copy(address->begin(), address->end(), all.begin() + offset);
  return all;
}

void MailStore::wait(const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    if (!is_host_name_key(key)) mail();
  }
}

void MailStore::wait(const std::vector<std::string>& keys, const std::chrono::milliseconds&) {
  wait(keys);
}

}  // namespace weft::probes
