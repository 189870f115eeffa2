// Goal: whatever requests come, of each session what is taken is a beginning of what was enqueued: no frame is passed,
// none is taken twice, none has an effect while an earlier one waits, and what stops a session stops no other (P4, P6).
// Method: senders whose sessions have gaps, 1,000 random requests of several sessions per seed, with repetitions,
// frames out of order and frames that are refused; a store of plain maps, as small as can be. Each session's frames are
// decided once more, alone, and must fare the same.

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/random.hpp"
#include "reception/admission.hpp"
#include "support/scale.hpp"

namespace ackbox::reception::admission_property_test {
namespace {

constexpr int kRequests = 1'000;
constexpr std::size_t kSessions = 4;
constexpr std::size_t kFramesMax = 12;

/// What a session's marks and its part of the inbox hold.
struct StoredSession {
  std::uint64_t accepted = 0;
  std::string acceptedId;
  std::set<std::uint64_t> waiting;
};

struct Store {
  std::map<std::string, StoredSession> sessions;
  /// Of frames outside sessions.
  std::set<std::string> marks;
};

/// A frame and what it meets.
struct Offer {
  InboundFrame frame;
  Known facts;
};

struct Fate {
  Step step = Step::refuse;
  bool isHeld = false;
  Outcome outcome = Outcome::ack;
  bool operator==(const Fate&) const = default;
};

bool isTaken(const Fate& fate) {
  return fate.step != Step::repeat && (fate.outcome == Outcome::ack || fate.outcome == Outcome::defer);
}

AdmissionReply markOf(const Store& store, const InboundFrame& frame) {
  if (frame.sequence == 0) {
    return {.admission = store.marks.contains(frame.id) ? Admission::duplicate : Admission::take};
  }
  const auto place = store.sessions.find(frame.session);
  const StoredSession known = place == store.sessions.end() ? StoredSession() : place->second;
  const Admission admission = frame.sequence <= known.accepted          ? Admission::duplicate
                              : frame.previousSequence > known.accepted ? Admission::outOfSequence
                                                                        : Admission::take;
  return {.admission = admission, .accepted = known.accepted, .acceptedId = known.acceptedId};
}

bool findOut(const Store& store, Step step, const Offer& offer, Known& known) {
  switch (step) {
    case Step::readMark:
      known.mark = markOf(store, offer.frame);
      return true;
    case Step::compareWaiting:
      known.inInbox = Admission::duplicate;
      return true;
    case Step::findWaiting:
      known.inInbox = Admission::take;
      return true;
    case Step::checkLimits:
      known.sender = offer.facts.sender;
      return true;
    case Step::readAckEvent:
      known.isReadable = offer.facts.isReadable;
      return true;
    case Step::checkType:
      known.isAlwaysDeferred = offer.facts.isAlwaysDeferred;
      return true;
    case Step::findEarlier: {
      const auto place = store.sessions.find(offer.frame.session);
      known.isBehindWaiting = place != store.sessions.end() && !place->second.waiting.empty();
      return true;
    }
    case Step::callHandler:
      known.handled = offer.facts.handled;
      return true;
    case Step::checkRoom:
      known.inbox = offer.facts.inbox;
      return true;
    default:
      return false;
  }
}

Fate decide(Store& store, RequestAdmission& admission, const Offer& offer) {
  const InboundFrame& frame = offer.frame;
  Known known{.now = offer.facts.now,
              .refusal = offer.facts.refusal,
              .isAckEvent = offer.facts.isAckEvent,
              .hasEndedTransaction = offer.facts.hasEndedTransaction};
  admission.begin(frame);
  Decision decision = admission.next(known);
  while (findOut(store, decision.step, offer, known)) {
    decision = admission.next(known);
  }
  Fate fate{.step = decision.step, .isHeld = decision.result.held, .outcome = Outcome::ack};
  if (decision.step == Step::refuse) {
    fate.outcome = decision.result.outcome;
  } else if (decision.step == Step::answer) {
    fate.outcome = *known.handled;
  } else if (decision.step == Step::keep) {
    fate.outcome = Outcome::defer;
  }
  if (isTaken(fate) && frame.sequence == 0) {
    store.marks.insert(frame.id);
  } else if (isTaken(fate)) {
    StoredSession& session = store.sessions[frame.session];
    session.accepted = frame.sequence;
    session.acceptedId = frame.id;
    if (fate.step == Step::keep) {
      session.waiting.insert(frame.sequence);
    }
  }
  admission.end(known, decision.step, fate.outcome);
  return fate;
}

class World {
public:
  explicit World(std::uint64_t seed) : random_(seededRandom(seed)) {
    for (std::size_t session = 0; session < kSessions; ++session) {
      std::uint64_t number = 0;
      for (int count = 0; count < 2'000; ++count) {
        // Some were given up before they were ever sent.
        number += 1 + (below(5) == 0 ? below(3) : 0);
        numbers_[session].push_back(number);
      }
    }
  }

  void run() {
    for (int request = 0; request < kRequests; ++request) {
      CAPTURE(request);
      offerOne();
      endSomeWaiting();
    }
    std::size_t taken = 0;
    for (const auto& [session, count] : taken_) {
      taken += count;
    }
    // Not all of them were refused.
    REQUIRE(taken > kRequests / 4);
  }

private:
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(random_->next() % bound); }

  Known facts() {
    Known made;
    made.isAckEvent = below(12) == 0;
    made.hasEndedTransaction = below(40) == 0;
    made.refusal = below(40) == 0 ? &unreadable_ : nullptr;
    made.sender = LimitCheck{below(30) == 0 ? std::optional(InboundLimit::sessions) : std::nullopt};
    made.isReadable = below(6) != 0;
    made.isAlwaysDeferred = below(15) == 0;
    made.inbox = LimitCheck{below(10) == 0 ? std::optional(InboundLimit::inbox) : std::nullopt};
    constexpr Outcome kAnswers[] = {Outcome::ack, Outcome::ack,  Outcome::ack,  Outcome::ack,
                                    Outcome::ack, Outcome::nack, Outcome::term, Outcome::defer};
    made.handled = kAnswers[below(std::size(kAnswers))];
    return made;
  }

  /// The frame at `place` of the session, or, where a session has no frames so far, of none.
  Offer offer(std::size_t session, std::size_t place) {
    const std::vector<std::uint64_t>& numbers = numbers_[session];
    Offer made{.frame = {}, .facts = facts()};
    made.frame.source = "urn:agent:alice";
    made.frame.session = std::to_string(session);
    made.frame.sequence = numbers[place];
    made.frame.previousSequence = place == 0 ? 0 : numbers[place - 1];
    made.frame.id = made.frame.session + "-" + std::to_string(made.frame.sequence);
    if (below(40) == 0) {
      made.frame.audience = "urn:agent:carol";
    }
    if (below(40) == 0) {
      made.frame.expiresAt = made.facts.now;
    }
    return made;
  }

  Offer outsideSessions() {
    Offer made{.frame = {}, .facts = facts()};
    made.frame.id = "loose-" + std::to_string(below(500));
    return made;
  }

  /// Of each session a stretch around what was taken of it: before it, behind it or with a hole.
  std::vector<Offer> draw() {
    std::vector<Offer> offers;
    std::map<std::size_t, std::size_t> next;
    const std::size_t frames = 1 + below(kFramesMax);
    for (std::size_t count = 0; count < frames; ++count) {
      const std::size_t session = below(kSessions + 1);
      if (session == kSessions) {
        offers.push_back(outsideSessions());
        continue;
      }
      const std::size_t taken = taken_[session];
      const auto [place, isFirst] = next.try_emplace(session, taken);
      if (isFirst && below(3) == 0) {
        const std::size_t shift = below(3);
        place->second = below(4) == 0 ? taken + shift : taken - std::min(shift, taken);
      } else if (!isFirst) {
        place->second += below(10) == 0 ? below(3) : 1;
      }
      if (place->second < numbers_[session].size()) {
        offers.push_back(offer(session, place->second));
      }
    }
    return offers;
  }

  void offerOne() {
    const std::vector<Offer> offers = draw();
    const std::map<std::string, StoredSession> before = store_.sessions;
    RequestAdmission admission({.agent = "urn:agent:bob", .canDefer = true});
    std::vector<Fate> fates;
    std::set<std::string> stopped;
    for (const Offer& one : offers) {
      fates.push_back(decide(store_, admission, one));
      check(one.frame, fates.back(), stopped);
    }
    for (const SessionReach& reach : admission.reached()) {
      const StoredSession& known = store_.sessions[reach.frame->session];
      REQUIRE(reach.accepted == known.accepted);
      REQUIRE(reach.acceptedId == known.acceptedId);
    }
    checkAlone(before, offers, fates);
  }

  void check(const InboundFrame& frame, const Fate& fate, std::set<std::string>& stopped) {
    CAPTURE(frame.id);
    if (frame.sequence == 0) {
      REQUIRE_FALSE(fate.isHeld);
      REQUIRE((!isTaken(fate) || looseTaken_.insert(frame.id).second));
      return;
    }
    const std::size_t session = std::stoul(frame.session);
    if (isTaken(fate)) {
      REQUIRE_FALSE(stopped.contains(frame.session));
      // The next one of those that were enqueued: nothing before it is missing, and it was not taken before.
      REQUIRE(numbers_[session][taken_[session]] == frame.sequence);
      ++taken_[session];
      const auto& waiting = store_.sessions[frame.session].waiting;
      REQUIRE((fate.step != Step::answer || waiting.empty()));
    } else if (fate.step == Step::repeat) {
      REQUIRE_FALSE(stopped.contains(frame.session));
      REQUIRE(frame.sequence <= numbers_[session].at(taken_[session] - 1));
    } else {
      stopped.insert(frame.session);
    }
  }

  static void checkAlone(const std::map<std::string, StoredSession>& before, const std::vector<Offer>& offers,
                         const std::vector<Fate>& fates) {
    for (std::size_t session = 0; session < kSessions; ++session) {
      Store store{.sessions = before, .marks = {}};
      RequestAdmission admission({.agent = "urn:agent:bob", .canDefer = true});
      for (std::size_t index = 0; index < offers.size(); ++index) {
        if (offers[index].frame.session == std::to_string(session)) {
          REQUIRE(decide(store, admission, offers[index]) == fates[index]);
        }
      }
    }
  }

  void endSomeWaiting() {
    StoredSession& session = store_.sessions[std::to_string(below(kSessions))];
    while (!session.waiting.empty() && below(3) != 0) {
      session.waiting.erase(session.waiting.begin());
    }
  }

  const std::shared_ptr<Random> random_;
  const FrameResult unreadable_{.outcome = Outcome::term, .code = "malformed"};
  Store store_;
  // What each session has enqueued, in order, and how much of it was taken.
  std::map<std::size_t, std::vector<std::uint64_t>> numbers_;
  std::map<std::size_t, std::size_t> taken_;
  std::set<std::string> looseTaken_;
};

}  // namespace

TEST_CASE("P4 P6: of any requests, each session's frames are taken once, in order, and without regard to others") {
  for (std::uint64_t seed = 1; seed <= testing::scaled(8); ++seed) {
    CAPTURE(seed);
    World(seed).run();
  }
}

}  // namespace ackbox::reception::admission_property_test
