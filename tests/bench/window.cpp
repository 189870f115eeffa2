#include "bench/window.hpp"

#include <atomic>
#include <stdexcept>
#include <system_error>

namespace ackbox::bench {
namespace {

constexpr std::ptrdiff_t kOutstanding = 1'000;

}  // namespace

std::uint64_t enqueueInWindow(OutboxManager& manager, Budget& budget, std::uint64_t sessions) {
  std::atomic<std::uint64_t> refused{0};
  std::uint64_t sent = 0;
  Window window(kOutstanding);
  for (; budget.take(); ++sent) {
    window.enter();
    manager.enqueueThen(frameOf(sent, sessions), [&](const std::error_code& error, const EnqueueReceipt& receipt) {
      if (error || !receipt.isNew()) {
        ++refused;
      }
      window.leave();
    });
  }
  window.drain();
  if (refused != 0) {
    throw std::runtime_error("enqueues were refused");
  }
  return sent;
}

}  // namespace ackbox::bench
