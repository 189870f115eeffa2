#include "protocol/inbound_options.hpp"

#include <string>

#include "protocol/limits.hpp"
#include "protocol/secret_cache.hpp"
#include "protocol/signature.hpp"

namespace ackbox::protocol {
namespace {

// A request signed by a fast clock is accepted before and after its timestamp; both times are cut to whole seconds.
constexpr std::chrono::milliseconds kRetentionLeast = 2 * kSignatureTolerance + std::chrono::seconds(1);
constexpr std::uint64_t kThreadsMost = 256;

void require(bool holds, const char* field, const char* problem) {
  if (!holds) {
    throw OptionError(field, problem);
  }
}

/// Returns the number of places of all pools.
std::uint64_t checkPools(const DeferredOptions& deferred) {
  std::uint64_t places = 0;
  for (std::size_t index = 0; index < deferred.pools.size(); ++index) {
    DeferredPool pool = deferred.pools[index];
    const std::string owner = "deferred.pools[" + std::to_string(index) + "].";
    if (pool.types.empty()) {
      throw OptionError(owner + "types", "is empty", "at least one type");
    }
    checkOption(owner + "concurrency", &pool.concurrency, OptionUnit::count, 1, 4'096);
    checkOption(owner + "wishConcurrency", &pool.wishConcurrency, OptionUnit::count, 0, 256);
    if (pool.wishConcurrency != 0 && !(pool.demand && deferred.executor)) {
      throw OptionError(owner + "wishConcurrency", "needs a demand and an executor");
    }
    places += pool.concurrency;
  }
  return places;
}

}  // namespace

std::span<const Option<InboundOptions>> inboundOptionRows() {
  using O = InboundOptions;
  using Slot = OptionSlot;
  using enum OptionUnit;
  static constexpr Option<O> kRows[] = {
      {"batchFramesMax", [](O& o) -> Slot { return &o.batchFramesMax; }, count, 1, 256, "frames in one request"},
      {"frameBytesMax", [](O& o) -> Slot { return &o.frameBytesMax; }, bytes, 1, 64ULL << 20U,
       "bytes of one frame's data that are taken"},
      {"bodyBytesMax", [](O& o) -> Slot { return &o.bodyBytesMax; }, bytes, 1, kOptionMost, "bytes of one request"},
      {"depthMax", [](O& o) -> Slot { return &o.depthMax; }, count, 2, 1'000, "depth of nesting in a body"},
      {"processedRetention", [](O& o) -> Slot { return &o.processedRetention; }, duration,
       std::uint64_t{kRetentionLeast.count()}, kDurationMost,
       "how long the mark of a frame without a sequence is kept, at least"},
      {"processedRetentionMax", [](O& o) -> Slot { return &o.processedRetentionMax; }, duration,
       std::uint64_t{kRetentionLeast.count()}, kDurationMost, "the same, at most"},
      {"secretsGrace", [](O& o) -> Slot { return &o.secretsGrace; }, duration, 0,
       std::uint64_t{kSecretsGraceMax.count()}, "how long secrets go on whose source cannot be read any more"},
      {"deferred.concurrency", [](O& o) -> Slot { return &o.deferred.concurrency; }, count, 1, 256,
       "deferred frames worked on at once"},
      {"deferred.timeout", [](O& o) -> Slot { return &o.deferred.timeout; }, duration, 1, kDurationMost,
       "how long a run may go on without progress"},
      {"deferred.framesMax", [](O& o) -> Slot { return &o.deferred.framesMax; }, count, 1, kOptionMost,
       "deferred frames that may wait, of all senders"},
      {"deferred.bytesMax", [](O& o) -> Slot { return &o.deferred.bytesMax; }, bytes, 1, kOptionMost,
       "the same in bytes of their data"},
      {"deferred.mailboxes.concurrency", [](O& o) -> Slot { return &o.deferred.mailboxes.concurrency; }, count, 1,
       4'096, "frames of mailboxes worked on at once"},
      {"deferred.mailboxes.wishConcurrency", [](O& o) -> Slot { return &o.deferred.mailboxes.wishConcurrency; }, count,
       0, 256, "the same for each wish, in addition"},
      {"deferred.mailboxes.mailboxFramesMax", [](O& o) -> Slot { return &o.deferred.mailboxes.mailboxFramesMax; },
       count, 1, kOptionMost, "frames that may wait in one mailbox"},
      {"limits.sessionsMax", [](O& o) -> Slot { return &o.limits.sessionsMax; }, count, 1, kOptionMost,
       "sessions kept of one sender"},
      {"limits.originsMax", [](O& o) -> Slot { return &o.limits.originsMax; }, count, 1, kOptionMost,
       "stores kept of one sender"},
      {"limits.marksMax", [](O& o) -> Slot { return &o.limits.marksMax; }, count, 1, kOptionMost,
       "marks and outcomes kept of one sender"},
      {"limits.bytesMax", [](O& o) -> Slot { return &o.limits.bytesMax; }, bytes, 1, kOptionMost,
       "bytes that these take, of one sender"},
      {"limits.totalBytesMax", [](O& o) -> Slot { return &o.limits.totalBytesMax; }, bytes, 1, kOptionMost,
       "bytes that these take, of all senders"},
      {"limits.originRetention", [](O& o) -> Slot { return &o.limits.originRetention; }, duration, 0, kDurationMost,
       "how long a replaced store may be silent before it is closed; 0: for ever"},
  };
  return kRows;
}

void checkInboundOptions(const InboundOptions& options) {
  checkOptions(inboundOptionRows(), options);
  require(options.bodyBytesMax >= options.frameBytesMax + kEnvelopeBytesMax, "bodyBytesMax",
          "must be at least `frameBytesMax`, and 4 KiB for what surrounds the data");
  require(options.processedRetentionMax >= options.processedRetention, "processedRetentionMax",
          "must be at least `processedRetention`");
  require(options.allowAnonymous || !options.peers.empty(), "peers",
          "nobody may send to it; list who may, or set `allowAnonymous`");
  const DeferredOptions& deferred = options.deferred;
  const std::uint64_t places = deferred.concurrency + checkPools(deferred);
  require(deferred.executor || places <= kThreadsMost, "deferred.pools",
          "must have at most 256 places with those of `deferred.concurrency`, as each is a thread without an executor");
  require(deferred.mailboxes.agents.empty() || (deferred.mailboxes.demand && deferred.executor), "deferred.mailboxes",
          "needs a demand and an executor");
  require(deferred.mailboxes.agents.empty() || deferred.handler, "deferred.mailboxes",
          "needs a handler (`DeferredOptions::handler`) that hands the frames on");
  require(!deferred.retry.delays.empty(), "deferred.retry.delays", "must have at least one delay");
  require(options.limits.totalBytesMax >= options.limits.bytesMax, "limits.totalBytesMax",
          "must be at least `limits.bytesMax`");
}

}  // namespace ackbox::protocol
