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

/// Tracks the application of one entry of `inbox.deliver`: whether it takes frames, and whether a refusal is the fault
/// of the frame or of the application.
///
/// A refusal is the frame's fault if the frame was refused before and the application has taken another frame since.
/// One bad frame therefore stops no others, and an application that refuses everything, such as a broken deployment,
/// costs no frame a run. An application is away after refusals of several frames in a row, or when it cannot be
/// reached. Frames are then pushed at growing intervals, different ones each time, until one is taken: one at a time
/// while it cannot be reached, four while it answers and refuses them.
///
/// Pure; time is passed in. Thread-safety: none.
class PushEntry {
public:
  /// Source and id.
  using Name = std::pair<std::string, std::string>;

  struct Decision {
    /// If set, the frame's run ends with this result. Otherwise the frame is given back.
    std::optional<HandlerResult> result = {};
    /// If the frame is given back: how long it is not pushed again.
    std::chrono::milliseconds pause{0};
    /// The application has stopped taking frames, or takes them again.
    bool hasGone = false;
    bool isBack = false;
  };

  /// Evaluates the answer to a push of this frame.
  [[nodiscard]] Decision answered(const Name& frame, PushVerdict verdict, SteadyTime now);
  /// Records that the frame could not be pushed for a reason other than the application.
  [[nodiscard]] Decision notAsked(const Name& frame, const std::string& cause, std::chrono::milliseconds pause,
                                  SteadyTime now);

  /// Must be called after it was reported that the application `isBack`.
  void noteBack();

  /// How many frames may be under way; nothing if only the places limit them.
  [[nodiscard]] std::optional<std::size_t> room(SteadyTime now) const;
  /// When `room` grows next without further answers.
  [[nodiscard]] std::optional<SteadyTime> nextProbe() const { return probeAt_; }

  /// Nothing while the application takes frames.
  [[nodiscard]] std::optional<SteadyTime> awaySince() const { return awaySince_; }
  /// The application's last response other than taking a frame.
  [[nodiscard]] const std::string& cause() const { return cause_; }
  /// The number of frames that it did not take since it is away.
  [[nodiscard]] std::size_t waited() const { return waited_; }
  /// Visits the frames that were given back and are not known to have ended since, with the cause.
  void forEachWait(const std::function<void(const Name& frame, const std::string& cause)>& visit) const;

private:
  /// How frames are pushed to an application that is away: the longest interval, and how many at once.
  struct Probing;
  static const Probing kUnreachedProbing;
  static const Probing kRefusedProbing;

  struct Refused {
    std::uint64_t takenBefore = 0;
    // Uncharged refusals.
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
  // In the order of their first refusal.
  std::deque<Name> order_;
  std::uint64_t taken_ = 0;
  // Distinct frames refused without a frame taken in between; no more than needed for the limit.
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
