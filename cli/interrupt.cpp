#include "cli/interrupt.h"

#include <csignal>

namespace weft::cli {
namespace {

std::atomic<bool> g_requested{false};
std::atomic<int> g_signal{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void on_signal(int signal) {
  g_signal = signal;
  g_requested = true;
}

void handle(int signal, void (*handler)(int), int flags) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(signal, &action, nullptr);
}

}  // namespace

Interrupt::Interrupt() {
  g_requested = false;
  g_signal = 0;
  for (int signal : {SIGINT, SIGTERM})
    handle(signal, on_signal, static_cast<int>(SA_RESETHAND));
}

Interrupt::~Interrupt() {
  for (int signal : {SIGINT, SIGTERM})
    handle(signal, SIG_DFL, 0);
}

const std::atomic<bool>& Interrupt::requested() const {
  return g_requested;
}
int Interrupt::signal() const {
  return g_signal;
}

}  // namespace weft::cli
