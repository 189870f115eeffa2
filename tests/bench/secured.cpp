// What it costs to be sure whom one speaks with: the delivery of endToEnd, signed or encrypted, beside the plain one in
// the same run. In batches, where the cost of a request is shared by many messages, and with one message a request,
// where it is not. As many messages on either side, whatever their time: without `--count`, the numbers below.

#include <cstdint>
#include <string>

#include "bench/delivery.hpp"
#include "bench/operation.hpp"

namespace ackbox::bench {
namespace {

constexpr std::uint64_t kInBatches = 40'000;
constexpr std::uint64_t kSecuredSingly = 5'000;

Settings withCount(Settings settings, std::uint64_t count) {
  settings.count = settings.count != 0 ? settings.count : count;
  return settings;
}

void compare(Measurement& measurement, const Settings& settings, const Link& plainly, const Link& secured,
             const std::string& name) {
  const Delivery plain = deliver(settings, Durability::powerCut, plainly);
  const Delivery made = deliver(settings, Durability::powerCut, secured);
  measurement.figure(name + "_per_s", made.perSecond);
  measurement.figure(name + "_cpu_us_per_message", made.cpuMicroseconds());
  measurement.baseline("plain_" + name + "_per_s", plain.perSecond);
  measurement.baseline("plain_" + name + "_cpu_us_per_message", plain.cpuMicroseconds());
  measurement.ratio(name + "_rate_over_plain", made.perSecond, plain.perSecond);
  measurement.ratio(name + "_cpu_over_plain", made.cpuMicroseconds(), plain.cpuMicroseconds());
}

Measurement measure(const Settings& settings, Link secured) {
  secured.keys = settings.folder / "keys";
  writeKeys(secured.keys);
  Link plainly;
  Measurement measurement;
  compare(measurement, withCount(settings, kInBatches), plainly, secured, "batches");
  plainly.batchFrames = 1;
  secured.batchFrames = 1;
  compare(measurement, withCount(settings, kSecuredSingly), plainly, secured, "single");
  return measurement;
}

}  // namespace

Measurement signing(const Settings& settings) {
  Link link;
  link.isSigned = true;
  return measure(settings, link);
}

Measurement tls(const Settings& settings) {
  Link link;
  link.isEncrypted = true;
  return measure(settings, link);
}

}  // namespace ackbox::bench
