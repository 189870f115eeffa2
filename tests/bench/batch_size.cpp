// What sharing a request is worth: the delivery of endToEnd with requests of at most so many frames, from one to the
// most that an outbox and a receiver allow.

#include <algorithm>
#include <array>
#include <string>

#include "bench/delivery.hpp"
#include "bench/operation.hpp"
#include "bench/relay.hpp"

namespace ackbox::bench {
namespace {

constexpr std::array kFrames{1U, 2U, 5U, 10U, 20U, 50U, 100U, 200U, 256U};

// About as much as is delivered in the time that is given; enqueues are faster than small requests, so that time alone
// would leave most of it for afterwards.
std::uint64_t messagesOf(const Settings& settings, std::uint32_t frames) {
  constexpr double kPerSecondSingly = 5'000;
  constexpr double kPerSecondAtMost = 40'000;
  if (settings.count != 0) {
    return settings.count;
  }
  const double seconds = std::chrono::duration<double>(settings.duration).count();
  return static_cast<std::uint64_t>(std::max(1.0, seconds * std::min(kPerSecondSingly * frames, kPerSecondAtMost)));
}

}  // namespace

Measurement batchSize(const Settings& settings) {
  Measurement measurement;
  const double relay = relayed(settings).perSecond;
  measurement.baseline("relay_per_s", relay);
  for (const std::uint32_t frames : kFrames) {
    Settings enough = settings;
    enough.count = messagesOf(settings, frames);
    Link link;
    link.batchFrames = frames;
    const Delivery full = deliver(enough, Durability::powerCut, link);
    const std::string name = "full_" + std::to_string(frames) + (frames == 1 ? "_frame" : "_frames");
    measurement.figure(name + "_per_s", full.perSecond);
    measurement.figure(name + "_cpu_us_per_message", full.cpuMicroseconds());
    measurement.figure(name + "_receiver_messages_per_sync", full.receiverMessagesPerSync);
    measurement.ratio(name + "_over_relay", full.perSecond, relay);
  }
  return measurement;
}

}  // namespace ackbox::bench
