#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ackbox/events.hpp"
#include "ackbox/stats.hpp"
#include "base/mutex.hpp"
#include "protocol/exposition.hpp"
#include "serve/config/config.hpp"
#include "serve/http/refusals.hpp"
#include "serve/inbox/frame_waits.hpp"
#include "serve/traces/span_counts.hpp"

namespace ackbox {
class OutboxManager;
}

namespace ackbox::serve {

/// The figures of `GET /metrics` beyond those of the outbox: dead letters by reason, which the file does not count,
/// since the start of this process; applications; refused callers; spans; and the expiry of certificates.
///
/// Thread-safety: `write` may be called from any thread.
class OwnFigures {
public:
  OwnFigures(const Config& config, std::shared_ptr<const SpanCounts> spans, std::shared_ptr<const Refusals> refusals);

  /// Counts the dead letters of `manager` from now on. Counts a reason that the library does not know as `other`.
  void watch(OutboxManager& manager);

  void write(protocol::Exposition& out, const std::vector<PeerStats>& peers, const FrameWaits& waits,
             const UnattendedFrames& unattended, WallTime now) const;

private:
  struct Failures {
    Mutex mutex;
    std::map<std::pair<std::string, std::string_view>, std::uint64_t> counts ACKBOX_GUARDED_BY(mutex);
  };

  static void add(Failures& failures, const std::string& peer, std::string_view reason);
  void writeFailures(protocol::Exposition& out, const std::vector<PeerStats>& peers) const;
  static void writeUnattended(protocol::Exposition& out, const std::vector<PeerStats>& peers,
                              const UnattendedFrames& unattended, WallTime now);
  static void writeApplications(protocol::Exposition& out, const FrameWaits& waits);

  // Pairs of use (`listen`, `inbox`, `sender`) and file.
  std::vector<std::pair<std::string, std::filesystem::path>> certificates_;
  std::shared_ptr<const SpanCounts> spans_;
  std::shared_ptr<const Refusals> refusals_;
  std::shared_ptr<Failures> failures_ = std::make_shared<Failures>();
  Subscription subscription_;
};

}  // namespace ackbox::serve
