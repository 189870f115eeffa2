#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "ackbox/clock.hpp"
#include "ackbox/frame_handler.hpp"
#include "serve/inbox/push_verdict.hpp"

namespace ackbox::serve {

/// What one entry of `inbox.deliver` knows of its application: whether it takes frames, and whether a refusal is about
/// the frame or about the application.
///
/// A frame is refused for its own fault if it was refused before, and the application has taken another one since. So
/// one bad frame stops no others, and an application that refuses everything, as one that is deployed wrongly does,
/// costs no frame a run. Refusals of several frames in a row, or an application that cannot be reached, make it away:
/// then frames are pushed at growing intervals, other ones each time, until one is taken: one at a time while it cannot
/// be reached, four while it answers and refuses them.
///
/// Pure; time is passed in. Thread-safety: none.
class PushEntry {
public:
  /// Source and id.
  using Name = std::pair<std::string, std::string>;

  struct Decision {
    /// Set: the frame's run ends with it. Otherwise it is given back.
    std::optional<HandlerResult> result = {};
    /// When it is given back: not to be pushed again before.
    std::chrono::milliseconds pause{0};
    /// The application does not take frames from here on, or does again.
    bool hasGone = false;
    bool isBack = false;
  };

  /// The answer to a push of this frame.
  [[nodiscard]] Decision answered(const Name& frame, PushVerdict verdict, SteadyTime now);
  /// It could not be pushed, for a cause that is not the application's.
  [[nodiscard]] Decision notAsked(const Name& frame, const std::string& cause, std::chrono::milliseconds pause,
                                  SteadyTime now);

  /// To be called once it was reported that the application `isBack`.
  void noteBack();

  /// How many frames may be under way; nothing: as many as there are places.
  [[nodiscard]] std::optional<std::size_t> room(SteadyTime now) const;
  /// When `room` is more again by time alone.
  [[nodiscard]] std::optional<SteadyTime> nextProbe() const { return probeAt_; }

  /// Absent: it takes what it gets.
  [[nodiscard]] std::optional<SteadyTime> awaySince() const { return awaySince_; }
  /// What it did last instead of taking a frame.
  [[nodiscard]] const std::string& cause() const { return cause_; }
  /// Frames that it did not take since it went away.
  [[nodiscard]] std::size_t waited() const { return waited_; }
  /// The frames that were given back and have not ended since, as far as it is known, and why.
  void forEachWait(const std::function<void(const Name& frame, const std::string& cause)>& visit) const;

private:
  /// How frames are pushed to an application that is away: at which intervals at most, and how many at once.
  struct Probing;
  static const Probing kUnreachedProbing;
  static const Probing kRefusedProbing;

  struct Refused {
    std::uint64_t takenBefore = 0;
    // Uncharged ones.
    unsigned times = 0;
    bool waits = false;
    std::string cause;
  };

  [[nodiscard]] Decision refused(const Name& frame, const std::string& cause, SteadyTime now);
  [[nodiscard]] Decision unreached(const Name& frame, const std::string& cause, SteadyTime now);
  [[nodiscard]] Decision ended(const Name& frame, HandlerResult result, bool isJudged, SteadyTime now);
  Refused& remember(const Name& frame);
  void noteWait(Refused& known, const std::string& cause, SteadyTime now, Decision& decision);
  void goAway(const Probing& probing, SteadyTime now);
  void forgetWaits();

  std::map<Name, Refused> refused_;
  // In the order in which they were refused first.
  std::deque<Name> order_;
  std::uint64_t taken_ = 0;
  // Different ones, without a frame taken in between; no more than are needed.
  std::set<Name> inRow_;
  unsigned probes_ = 0;
  std::optional<SteadyTime> probeAt_;
  std::size_t probeWidth_ = 1;
  std::optional<SteadyTime> awaySince_;
  SteadyTime refusedAt_{};
  std::size_t waiting_ = 0;
  std::size_t waited_ = 0;
  std::string cause_;
};

}  // namespace ackbox::serve
