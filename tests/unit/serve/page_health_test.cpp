// Goal: the overview names each problem with its cause, and is green only if there is none.
// Method: the sentences of figures that are made up.

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

#include "records/peer.hpp"
#include "serve/page/health_sentence.hpp"

namespace ackbox::serve::page_health_test {

TEST_CASE("The overview names each problem, the most important first") {
  const WallTime now(std::chrono::hours(100));
  Stats stats;
  const auto textOf = [&](const std::vector<records::PeerFigures>& peers, page::BoundedCount blocked = {}) {
    std::string texts;
    for (const page::HealthSentence& one : page::healthOf(stats, peers, blocked, {}, now)) {
      texts += (texts.empty() ? "" : "\n") + one.text;
    }
    return texts;
  };
  CHECK(page::healthOf(stats, {}, {}, {}, now).front().level == "ok");
  stats.enqueued = 1;
  CHECK(textOf({}) == "All is well: everything was delivered.");
  stats.pending = 1'000;
  CHECK(textOf({}) == "All is well: 1,000 messages are on their way.");
  stats.oldestPendingAge = std::chrono::minutes(16);
  CHECK(textOf({}) == "The oldest of 1,000 messages has waited for 16 m, and every peer is up.");
  records::PeerFigures peer;
  peer.figures.peer = "bob";
  peer.figures.pending = 1'000;
  peer.circuit.state = PeerState::paused;
  CHECK(textOf({peer}) == "Peer bob is paused by hand, and 1,000 messages wait for it.");
  stats.failed = 40'000;
  const std::string dead = "40,000 dead letters wait for a decision: retry or discard.";
  CHECK(textOf({peer}) == dead + "\nPeer bob is paused by hand, and 1,000 messages wait for it.");
  CHECK(textOf({}, {2}) == "2 sessions are stopped by a dead letter.\n" + dead);
  CHECK(textOf({}, {1'000, true}) == "At least 1,000 sessions are stopped by a dead letter.\n" + dead);
  peer.figures.pending = 1;
  peer.circuit.state = PeerState::down;
  peer.circuit.since = now - std::chrono::hours(49);
  records::PeerFigures other = peer;
  other.figures.peer = "carol";
  other.figures.pending = 2;
  other.circuit.state = PeerState::held;
  other.circuit.lastError = "HTTP 401: token expired";
  CHECK(textOf({peer, other}, {2}) ==
        "Peer carol has been held for 2 d (HTTP 401: token expired), and 2 messages wait for it.\n"
        "Peer bob has been down for 2 d, and 1 message waits for it.\n"
        "2 sessions are stopped by a dead letter.\n" +
            dead);
  stats.failed = 0;
  CHECK(textOf(std::vector(7, peer)).ends_with("\n2 more peers take no messages, and 2 messages wait for them."));
  peer.figures.pending = 0;
  CHECK(page::healthOf(stats, {peer}, {}, {}, now).front().level == "warning");
  // What stops messages comes before what may.
  CHECK(textOf({peer}, {2}).starts_with("2 sessions are stopped"));
  CHECK(textOf({peer}) == "Peer bob has been down for 2 d, and nothing waits for it.");
}

TEST_CASE(
    "P13: the sentence of health names what waits for an application, here and at a peer, and what settles nothing") {
  const WallTime now(std::chrono::hours(100));
  Stats stats;
  stats.inbox = 2'090;
  page::Reception reception;
  records::PeerFigures peer;
  const auto health = [&] { return page::healthOf(stats, {peer}, {}, reception, now).front(); };
  CHECK(health().text == "All is well: 2,090 received frames wait for their turn.");
  reception.inHand = 64;
  CHECK(health().text == "All is well: applications work on 64 received frames, and 2,026 wait for their turn.");
  reception.inHand = 2'090;
  CHECK(health().text == "All is well: applications work on 2,090 received frames.");
  reception.silent = {{"the stream of billing for types *", 64, now - std::chrono::minutes(12)}};
  CHECK(health().level == "warning");
  CHECK(health().text ==
        "The stream of billing for types * has had 64 frames in hand for 12 m and has settled none of them.");
  reception.unwantedTypes = {"order.*"};
  CHECK(health().level == "warning");
  CHECK(health().text == "Frames of type order.* wait for a stream for their type and session to be opened.");
  stats.failed = 3;
  peer.figures.peer = "bob";
  peer.figures.sent = 1;
  peer.figures.unattendedSince = now - std::chrono::minutes(4);
  peer.figures.unattendedType = "invoice.paid";
  CHECK(health().text == "Peer bob has deferred 1 message, and has had no application for type invoice.paid for 4 m.");
  reception.unattended = {.frames = 2'090,
                          .oldestAt = now - std::chrono::hours(1),
                          .since = now - std::chrono::minutes(4),
                          .type = "order.placed",
                          .cause = "a stream for its type to be opened"};
  CHECK(health().level == "warning");
  CHECK(health().view == "inbox?state=unattended");
  CHECK(health().text ==
        "2090 frames wait for an application; type order.placed has had none for 4 m (they wait for a stream for its "
        "type to be opened).");
  reception.unattended.isCut = true;
  CHECK(health().text.starts_with("At least 2090 frames wait for an application; "));
  InboxInfo frame;
  frame.type = "order.changed";
  frame.retryCount = 9;
  frame.lastError = "the application answers 503: database is locked";
  reception.failing = {frame, frame};
  CHECK(health().text ==
        "A received frame of type order.changed has failed 9 times and is tried again: the application answers 503: "
        "database is locked.");
  CHECK(health().view == "inbox?state=backoff");
  CHECK(page::healthOf(stats, {peer}, {}, reception, now).size() == 6);
}

}  // namespace ackbox::serve::page_health_test
