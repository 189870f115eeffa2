// Goal: what the daemon knows of a frame is said instead of what the file says, and nothing else is.
// Method: frames in each state are completed from entries, streams and names.

#include "serve/inbox/frame_waits.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>

namespace ackbox::serve::frame_waits_test {
namespace {

InboxInfo frameOf(InboxState state, std::string id = "f", std::string type = "job.wanted") {
  InboxInfo frame;
  frame.messageId = std::move(id);
  frame.source = "urn:a";
  frame.session = "s";
  frame.type = std::move(type);
  frame.state = state;
  return frame;
}

InboxInfo completed(const FrameWaits& waits, InboxInfo frame) {
  waits.complete(frame);
  return frame;
}

}  // namespace

TEST_CASE("P13: a frame that no open stream fits, by its type and session, waits for one, whatever the file says") {
  FrameWaits waits;
  waits.entries = {{.way = "pull", .types = "job.*"}};
  for (const InboxState state : {InboxState::waiting, InboxState::unattended}) {
    const InboxInfo frame = completed(waits, frameOf(state));
    CHECK(frame.state == InboxState::unattended);
    CHECK(frame.waitsFor == "a stream for its type and session to be opened");
  }
  waits.streams = {{"job.*", "other"}, {"order.*", "*"}};
  CHECK(completed(waits, frameOf(InboxState::waiting)).state == InboxState::unattended);
  waits.streams.push_back({"job.*", "*"});
  for (const InboxState state : {InboxState::waiting, InboxState::unattended}) {
    const InboxInfo frame = completed(waits, frameOf(state));
    CHECK(frame.state == InboxState::waiting);
    CHECK(frame.waitsFor.empty());
  }
}

TEST_CASE("P13: an application that is away is what all frames of its entry wait for, and the first entry counts") {
  FrameWaits waits;
  waits.entries = {{.way = "push", .types = "job.*", .isAway = true, .waitsFor = "the application, which is away"},
                   {.way = "push", .types = "*"}};
  const InboxInfo frame = completed(waits, frameOf(InboxState::waiting));
  CHECK(frame.state == InboxState::unattended);
  CHECK(frame.waitsFor == "the application, which is away");
  CHECK(completed(waits, frameOf(InboxState::waiting, "f", "order.placed")).state == InboxState::waiting);
}

TEST_CASE("P13: one frame that an application refused waits for it, and is unattended only while that one is away") {
  FrameWaits waits;
  waits.entries = {{.way = "push", .types = "*"}};
  waits.frames[{"urn:a", "refused"}] = {"the application, which answers 404", false};
  waits.frames[{"urn:a", "away"}] = {"the application, which cannot be reached", true};
  const InboxInfo refused = completed(waits, frameOf(InboxState::waiting, "refused"));
  CHECK(refused.state == InboxState::waiting);
  CHECK(refused.waitsFor == "the application, which answers 404");
  CHECK(completed(waits, frameOf(InboxState::waiting, "away")).state == InboxState::unattended);
}

TEST_CASE(
    "P13: a frame in hand is running and names its holder; one behind, in backoff or ended stays as the file says") {
  FrameWaits waits;
  waits.entries = {{.way = "pull", .types = "*"}};
  waits.holders[{"urn:a", "held"}] = "a stream for types *";
  const InboxInfo held = completed(waits, frameOf(InboxState::waiting, "held"));
  CHECK(held.state == InboxState::running);
  CHECK(held.waitsFor.empty());
  CHECK(waits.holderOf(held) == "a stream for types *");
  // A handler of another process has it, or one that has not reported it yet.
  CHECK(completed(waits, frameOf(InboxState::running)).state == InboxState::running);
  CHECK(waits.holderOf(frameOf(InboxState::running)).empty());
  for (const InboxState state : {InboxState::behind, InboxState::backoff, InboxState::ended}) {
    const InboxInfo frame = completed(waits, frameOf(state, "held"));
    CHECK(frame.state == state);
    CHECK(waits.holderOf(frame).empty());
  }
}

TEST_CASE("P13: a frame of an agent that has no mailbox any more waits for the configuration, and not for its agent") {
  FrameWaits waits;
  InboxInfo frame = frameOf(InboxState::waiting);
  frame.mailbox = "urn:team:carol";
  CHECK(completed(waits, frame).waitsFor == "inbox.mailboxes to name its agent, or for an operator to discard it");
  waits.mailboxes = {"urn:team:*"};
  CHECK(completed(waits, frame).waitsFor == "its agent to open a stream for its mailbox");
  CHECK(completed(waits, frame).state == InboxState::unattended);
  waits.streams = {{"*", "*", frame.mailbox}};
  CHECK(completed(waits, frame).state == InboxState::waiting);
}

}  // namespace ackbox::serve::frame_waits_test
