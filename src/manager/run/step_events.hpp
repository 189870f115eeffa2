#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "manager/run/step_job.hpp"
#include "manager/run/subscribers.hpp"

namespace ackbox::manager {

/// How many messages a committed step moved, by where they went.
struct StepCounts {
  std::uint64_t acked = 0;
  std::uint64_t deferred = 0;
  std::uint64_t retried = 0;
  std::uint64_t failed = 0;
  std::uint64_t released = 0;

  /// Those that came to an outcome.
  [[nodiscard]] std::uint64_t settled() const noexcept { return acked + deferred + retried + failed; }
};

/// What subscribers are to be told of a committed step. Apart from the telling, so that the two may be done in
/// different places.
///
/// Thread-safety: none.
class StepEvents {
public:
  using PeerName = std::function<std::string(delivery::SessionKey)>;

  /// Takes the step's settlements; settles that were refused by their guard are left out.
  StepEvents(StepJob& step, const PeerName& peerName);

  [[nodiscard]] const StepCounts& counts() const noexcept { return counts_; }
  void emit(EventHub& events);

private:
  struct Told {
    MessageEvent message;
    delivery::Settlement settlement;
  };

  std::vector<PeerResetEvent> resets_;
  StepCounts counts_;
  std::vector<Told> told_;
};

}  // namespace ackbox::manager
