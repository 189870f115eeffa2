// Goal: what becomes of each frame of a request, and in which order that is found out: first what is wrong with the
// frame, then whether it came before, then its expiry, then limits, and last what takes it. Method: the facts are given
// one at a time, as the steps ask for them.

#include "reception/admission.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace ackbox::reception::admission_test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using Steps = std::vector<Step>;

constexpr WallTime kNow{std::chrono::hours(1)};

/// All facts about a frame that nothing keeps from its handler, which takes it.
Known takenByHandler() {
  Known facts;
  facts.now = kNow;
  facts.mark = AdmissionReply{};
  facts.inInbox = Admission::take;
  facts.sender = LimitCheck{};
  facts.isReadable = true;
  facts.isAlwaysDeferred = false;
  facts.isBehindWaiting = false;
  facts.handled = Outcome::ack;
  facts.inbox = LimitCheck{};
  return facts;
}

Known marked(Admission admission, std::uint64_t accepted = 0, const std::string& acceptedId = "") {
  Known facts = takenByHandler();
  facts.mark = AdmissionReply{admission, accepted, acceptedId, 0};
  facts.inInbox = admission;
  return facts;
}

/// One request. Facts are found out one at a time, and only those that are asked for.
struct Request {
  explicit Request(bool canDefer = true) : admission({.agent = "urn:agent:bob", .canDefer = canDefer}) {}

  static InboundFrame frame(const std::string& session, std::uint64_t sequence, std::uint64_t previous) {
    InboundFrame made;
    made.id = session + "-" + std::to_string(sequence);
    made.source = "urn:agent:alice";
    made.origin = "store";
    made.session = session;
    made.sequence = sequence;
    made.previousSequence = previous;
    return made;
  }
  InboundFrame& add(const std::string& session, std::uint64_t sequence, std::uint64_t previous) {
    return frames.emplace_back(frame(session, sequence, previous));
  }

  Decision decide(const InboundFrame& one, const Known& facts, Outcome repeated = Outcome::ack) {
    asked.clear();
    Known known{.now = facts.now,
                .refusal = facts.refusal,
                .isAckEvent = facts.isAckEvent,
                .hasEndedTransaction = facts.hasEndedTransaction};
    admission.begin(one);
    for (;;) {
      Decision decision = admission.next(known);
      if (!findOut(decision.step, facts, known)) {
        admission.end(known, decision.step, outcomeOf(decision, facts, repeated));
        return decision;
      }
      asked.push_back(decision.step);
    }
  }
  Decision decide(const std::string& session, std::uint64_t sequence, std::uint64_t previous, const Known& facts) {
    return decide(add(session, sequence, previous), facts);
  }

  static Outcome outcomeOf(const Decision& decision, const Known& facts, Outcome repeated) {
    switch (decision.step) {
      case Step::refuse:
        return decision.result.outcome;
      case Step::repeat:
        return repeated;
      case Step::keep:
        return Outcome::defer;
      case Step::answer:
        return *facts.handled;
      default:
        return Outcome::ack;
    }
  }

  static bool findOut(Step step, const Known& facts, Known& known) {
    switch (step) {
      case Step::readMark:
        known.mark = facts.mark;
        return true;
      case Step::compareWaiting:
      case Step::findWaiting:
        known.inInbox = facts.inInbox;
        return true;
      case Step::checkLimits:
        known.sender = facts.sender;
        return true;
      case Step::readAckEvent:
        known.isReadable = facts.isReadable;
        return true;
      case Step::checkType:
        known.isAlwaysDeferred = facts.isAlwaysDeferred;
        return true;
      case Step::findEarlier:
        known.isBehindWaiting = facts.isBehindWaiting;
        return true;
      case Step::callHandler:
        known.handled = facts.handled;
        return true;
      case Step::checkRoom:
        known.inbox = facts.inbox;
        return true;
      default:
        return false;
    }
  }

  // At fixed places, as the decisions refer to them.
  std::deque<InboundFrame> frames;
  RequestAdmission admission;
  Steps asked;
};

void checkRefusal(const Decision& decision, Outcome outcome, const std::string& code, const std::string& detail) {
  CHECK(decision.step == Step::refuse);
  CHECK(decision.result.outcome == outcome);
  CHECK(decision.result.code == code);
  CHECK(decision.result.detail == detail);
  CHECK(decision.result.held == (code == "held"));
  CHECK_FALSE(decision.result.duplicate);
}

void checkReach(const SessionReach& reach, const std::string& session, std::uint64_t accepted,
                const std::string& acceptedId) {
  CHECK(reach.frame->session == session);
  CHECK(reach.accepted == accepted);
  CHECK(reach.acceptedId == acceptedId);
}

}  // namespace

TEST_CASE("a frame in its order is asked about in the order of the checks, and its handler's answer is its own") {
  Request request;
  Known facts = takenByHandler();
  SUBCASE("it is taken") {}
  SUBCASE("it is rejected") {
    facts.handled = Outcome::term;
  }
  SUBCASE("it is put off") {
    facts.handled = Outcome::nack;
  }
  CHECK(request.decide("s", 1, 0, facts).step == Step::answer);
  CHECK(request.asked ==
        Steps{Step::readMark, Step::checkLimits, Step::checkType, Step::findEarlier, Step::callHandler});
}

TEST_CASE("outside sessions it is looked for in the inbox, and nothing can be before it") {
  Request request;
  CHECK(request.decide("", 0, 0, takenByHandler()).step == Step::answer);
  CHECK(request.asked ==
        Steps{Step::readMark, Step::findWaiting, Step::checkLimits, Step::checkType, Step::callHandler});
  CHECK(request.admission.reached().empty());
}

TEST_CASE("where nothing can be deferred no type is looked up, and a handler that defers has said `not-now`") {
  Request request(false);
  Known facts = takenByHandler();
  facts.handled = Outcome::defer;
  checkRefusal(request.decide("s", 1, 0, facts), Outcome::nack, "not-now",
               "this handler cannot defer: the receiver has no deferred handler");
  CHECK(request.asked == Steps{Step::readMark, Step::checkLimits, Step::findEarlier, Step::callHandler});
}

TEST_CASE("a frame that could not be read is refused for that, before all, and stops its session") {
  Request request;
  FrameResult unreadable;
  unreadable.outcome = Outcome::term;
  unreadable.code = "malformed";
  unreadable.detail = "no type";
  Known facts = takenByHandler();
  facts.refusal = &unreadable;
  checkRefusal(request.decide("s", 1, 0, facts), Outcome::term, "malformed", "no type");
  CHECK(request.asked.empty());
  checkRefusal(request.decide("s", 2, 1, takenByHandler()), Outcome::nack, "held",
               "an earlier frame of this session was not taken");
  CHECK(request.asked.empty());
  // Each frame's own fault is its own.
  checkRefusal(request.decide("s", 3, 2, facts), Outcome::term, "malformed", "no type");
}

TEST_CASE("the wrong audience is refused for good before the store is asked") {
  Request request;
  InboundFrame& other = request.add("s", 1, 0);
  other.audience = "urn:agent:carol";
  checkRefusal(request.decide(other, marked(Admission::duplicate)), Outcome::term, "wrong-audience",
               "the frame is for 'urn:agent:carol', and this agent is 'urn:agent:bob'");
  CHECK(request.asked.empty());
  InboundFrame& own = request.add("t", 1, 0);
  own.audience = "urn:agent:bob";
  CHECK(request.decide(own, takenByHandler()).step == Step::answer);
}

TEST_CASE("P6: what came before is repeated, expired or not, at a limit or not") {
  Request request;
  InboundFrame& again = request.add("s", 3, 2);
  again.expiresAt = kNow - seconds(1);
  Known facts = marked(Admission::duplicate, 4, "s-4");
  facts.sender = LimitCheck{InboundLimit::sessions};
  CHECK(request.decide(again, facts).step == Step::repeat);
  CHECK(request.asked == Steps{Step::readMark, Step::compareWaiting});
  REQUIRE(request.admission.reached().size() == 1);
  checkReach(request.admission.reached()[0], "s", 4, "s-4");
}

TEST_CASE("P6: a frame outside sessions whose mark is over is a repetition while it waits") {
  Request request;
  Known facts = takenByHandler();
  facts.inInbox = Admission::duplicate;
  CHECK(request.decide("", 0, 0, facts).step == Step::repeat);
  CHECK(request.asked == Steps{Step::readMark, Step::findWaiting});
}

TEST_CASE("P3: a frame that has a mark is taken where the inbox says that it was redriven") {
  Request request;
  Known facts = marked(Admission::duplicate);
  facts.inInbox = Admission::take;
  CHECK(request.decide("", 0, 0, facts).step == Step::answer);
}

TEST_CASE("a mark that refuses: code, sentence, what it is counted as, and whether its session's place is said") {
  struct Case {
    Admission admission;
    Outcome outcome;
    const char* code;
    const char* detail;
    bool isCounted;
    bool saysPlace;
  };
  const std::vector<Case> cases = {
      {Admission::outOfSequence, Outcome::nack, "out-of-sequence", "accepted 4 of this session so far", false, true},
      {Admission::staleEpoch, Outcome::term, "stale-epoch",
       "a newer epoch of this store was seen: it was restored from a copy", true, false},
      {Admission::numberTaken, Outcome::term, "stale-epoch",
       "this number was another frame's: the store was restored from a copy", true, true},
      {Admission::closedOrigin, Outcome::term, "closed-origin",
       "another store replaced this one, which was silent so long that its marks were deleted: enqueue anew, or "
       "have the receiver forget this store",
       true, false},
      {Admission::idConflict, Outcome::term, "id-conflict", "this id came before with another type or other data", true,
       false},
  };
  for (const Case& one : cases) {
    CAPTURE(one.detail);
    for (const bool isOfInbox : {false, true}) {
      Request request;
      // Before expiry: what it says is true of an expired frame, too.
      InboundFrame& frame = request.add("s", 9, 8);
      frame.expiresAt = kNow - seconds(1);
      Known facts = marked(isOfInbox ? Admission::duplicate : one.admission, 4, "s-4");
      facts.inInbox = one.admission;
      const Decision decision = request.decide(frame, facts);
      checkRefusal(decision, one.outcome, one.code, one.detail);
      CHECK(decision.counted == (one.isCounted ? std::optional(one.admission) : std::nullopt));
      REQUIRE(request.admission.reached().size() == (one.saysPlace ? 1 : 0));
      if (one.saysPlace) {
        checkReach(request.admission.reached()[0], "s", 4, "s-4");
      }
      CHECK(request.decide("s", 10, 9, takenByHandler()).result.held);
    }
  }
}

TEST_CASE("a frame expires at its instant, before limits are looked at") {
  Request request;
  InboundFrame& over = request.add("s", 1, 0);
  over.expiresAt = kNow;
  checkRefusal(request.decide(over, takenByHandler()), Outcome::term, "expired", "the frame's expirytime has passed");
  CHECK(request.asked == Steps{Step::readMark});
  InboundFrame& young = request.add("t", 1, 0);
  young.expiresAt = kNow + std::chrono::milliseconds(1);
  CHECK(request.decide(young, takenByHandler()).step == Step::answer);
}

TEST_CASE("P11: a sender at a limit is put off for a minute, and the sum over all is not its business") {
  const std::vector<std::pair<InboundLimit, std::string>> limits = {{InboundLimit::sessions, "sessions"},
                                                                    {InboundLimit::origins, "origins"},
                                                                    {InboundLimit::bytes, "bytes"},
                                                                    {InboundLimit::totalBytes, "bytes"}};
  for (const auto& one : limits) {
    const std::string& named = one.second;
    CAPTURE(named);
    Request request;
    Known facts = takenByHandler();
    facts.sender = LimitCheck{one.first};
    facts.hasEndedTransaction = true;
    const Decision decision = request.decide("s", 1, 0, facts);
    checkRefusal(decision, Outcome::nack, "limit-" + named,
                 "the receiver keeps as many " + named +
                     " of this sender as its InboundLimits allow: raise the limit there, or forget what is not needed "
                     "any more");
    CHECK(decision.result.retryAfter == minutes(1));
    CHECK(request.asked == Steps{Step::readMark, Step::checkLimits});
  }
}

TEST_CASE("a frame whose handler ended the transaction is not given to it again") {
  Request request;
  Known facts = takenByHandler();
  facts.hasEndedTransaction = true;
  checkRefusal(request.decide("s", 1, 0, facts), Outcome::nack, "handler-error", "the handler failed");
  CHECK(request.asked == Steps{Step::readMark, Step::checkLimits});
}

TEST_CASE("an ACK event is applied at once, whatever waits of its session, and refused where it cannot be read") {
  Request request;
  Known facts = takenByHandler();
  facts.isAckEvent = true;
  facts.isAlwaysDeferred = true;
  facts.isBehindWaiting = true;
  CHECK(request.decide("s", 1, 0, facts).step == Step::applyAckEvent);
  CHECK(request.asked == Steps{Step::readMark, Step::checkLimits, Step::readAckEvent});
  checkReach(request.admission.reached()[0], "s", 1, "s-1");
  facts.isReadable = false;
  checkRefusal(request.decide("s", 2, 1, facts), Outcome::term, "malformed",
               "data must be {\"results\":[...]} with 1 to 256 results");
}

TEST_CASE(
    "P4: a frame is kept for its type, for what waits before it, or for its handler's `defer`, if there is room") {
  Request request;
  Known facts = takenByHandler();
  Steps asked = {Step::readMark, Step::checkLimits, Step::checkType};
  SUBCASE("its type is always deferred") {
    facts.isAlwaysDeferred = true;
  }
  SUBCASE("an earlier one waits") {
    facts.isBehindWaiting = true;
    asked.push_back(Step::findEarlier);
  }
  SUBCASE("its handler defers") {
    facts.handled = Outcome::defer;
    asked.insert(asked.end(), {Step::findEarlier, Step::callHandler});
  }
  asked.push_back(Step::checkRoom);
  CHECK(request.decide("s", 1, 0, facts).step == Step::keep);
  CHECK(request.asked == asked);
  checkReach(request.admission.reached()[0], "s", 1, "s-1");
  // What follows is behind it, without a look at the inbox; other sessions are not.
  CHECK(request.decide("s", 2, 1, takenByHandler()).step == Step::keep);
  CHECK(request.asked == Steps{Step::readMark, Step::checkLimits, Step::checkType, Step::checkRoom});
  CHECK(request.decide("t", 1, 0, takenByHandler()).step == Step::answer);

  facts.inbox = LimitCheck{InboundLimit::inbox};
  checkRefusal(request.decide("u", 1, 0, facts), Outcome::nack, "inbox-full",
               "the receiver has no room for more deferred frames of this sender until some are done");
  CHECK(request.decide("u", 2, 1, takenByHandler()).result.held);

  facts.inbox = LimitCheck{InboundLimit::mailbox};
  checkRefusal(request.decide("v", 1, 0, facts), Outcome::nack, "limit-mailbox",
               "the mailbox has no room for more frames of this sender until its agent has fetched some");
}

TEST_CASE("a frame for another agent is refused, unless it is in the mailbox of that agent, with sessions apart") {
  Request request;
  InboundFrame& foreign = request.add("s", 1, 0);
  foreign.audience = "urn:agent:carol";
  CHECK(request.decide(foreign, takenByHandler()).result.code == "wrong-audience");
  InboundFrame& mailed = request.add("s", 1, 0);
  mailed.audience = foreign.audience;
  mailed.mailbox = foreign.audience;
  Known facts = takenByHandler();
  facts.isAlwaysDeferred = true;
  CHECK(request.decide(mailed, facts).step == Step::keep);
  CHECK(request.decide("s", 1, 0, takenByHandler()).result.held);
}

TEST_CASE("P4: the first frame that is not taken stops its session, and that only") {
  Request request;
  Known refused = takenByHandler();
  refused.handled = Outcome::nack;
  CHECK(request.decide("s", 1, 0, refused).step == Step::answer);
  CHECK(request.decide("s", 2, 1, takenByHandler()).result.held);
  CHECK(request.decide("t", 2, 1, takenByHandler()).step == Step::answer);
  // The same name at another store, and of another sender, is another session.
  InboundFrame& otherStore = request.add("s", 2, 1);
  otherStore.origin = "other";
  CHECK(request.decide(otherStore, takenByHandler()).step == Step::answer);
  InboundFrame& otherSender = request.add("s", 2, 1);
  otherSender.source = "urn:agent:eve";
  CHECK(request.decide(otherSender, takenByHandler()).step == Step::answer);
  // Outside sessions nothing is in order.
  CHECK(request.decide("", 0, 0, refused).step == Step::answer);
  CHECK(request.decide("", 0, 0, takenByHandler()).step == Step::answer);
}

TEST_CASE("a repetition of a frame that was refused in the end stops its session; of one that waits it does not") {
  Request request;
  CHECK(request.decide(request.add("s", 1, 0), marked(Admission::duplicate, 1), Outcome::term).step == Step::repeat);
  CHECK(request.decide("s", 2, 1, takenByHandler()).result.held);
  CHECK(request.decide(request.add("t", 1, 0), marked(Admission::duplicate, 1), Outcome::defer).step == Step::repeat);
  CHECK(request.decide("t", 2, 1, marked(Admission::take, 1)).step == Step::answer);
}

TEST_CASE("P3: behind repeated frames one is taken only if it follows the frame that was accepted last") {
  Request request;
  CHECK(request.decide("s", 1, 0, marked(Admission::duplicate, 5, "s-5")).step == Step::repeat);
  SUBCASE("it does not") {
    checkRefusal(request.decide("s", 6, 1, marked(Admission::take, 5)), Outcome::nack, "held",
                 "it follows repeated frames, and not the one that was accepted last");
    CHECK(request.asked == Steps{Step::readMark});
  }
  SUBCASE("it does") {
    CHECK(request.decide("s", 6, 5, marked(Admission::take, 5)).step == Step::answer);
  }
  SUBCASE("it is another session's") {
    CHECK(request.decide("t", 6, 1, marked(Admission::take, 5)).step == Step::answer);
  }
}

TEST_CASE("sessions are said in the order in which they were named, each as far as it has come") {
  Request request;
  CHECK(request.decide("b", 1, 0, takenByHandler()).step == Step::answer);
  CHECK(request.decide("a", 7, 6, marked(Admission::duplicate, 7, "a-7")).step == Step::repeat);
  CHECK(request.decide("b", 2, 1, marked(Admission::take, 1)).step == Step::answer);
  // Less than is known.
  CHECK(request.decide("b", 1, 0, marked(Admission::duplicate, 1, "b-1")).step == Step::repeat);
  REQUIRE(request.admission.reached().size() == 2);
  checkReach(request.admission.reached()[0], "b", 2, "b-2");
  checkReach(request.admission.reached()[1], "a", 7, "a-7");
  CHECK(request.admission.reached()[0].settled(std::nullopt) == 2);
  CHECK(request.admission.reached()[0].settled(2) == 1);
}

TEST_CASE("P13: for how long an application has been away is never negative, and nothing while it is there") {
  CHECK_FALSE(unattendedFor(std::nullopt, kNow));
  CHECK(unattendedFor(kNow - minutes(2), kNow) == minutes(2));
  CHECK(unattendedFor(kNow + minutes(2), kNow) == minutes(0));
}

}  // namespace ackbox::reception::admission_test
