#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "store/digest.hpp"
#include "store/kept_session.hpp"
#include "store_conformance/messages.hpp"

// The steps of an inbound frame that is deferred, one transaction each, on any store.

namespace ackbox::testing {

inline constexpr std::chrono::milliseconds kOutcomeRetention = std::chrono::hours(1);

inline InboundFrame inboundFrame(std::uint64_t sequence, const std::string& session = "s") {
  InboundFrame frame;
  frame.id = session + "-" + std::to_string(sequence);
  frame.source = "urn:peer";
  frame.type = "test";
  frame.data = "[1]";
  frame.session = session;
  frame.origin = session.empty() ? "" : "origin";
  frame.epoch = 3;
  frame.sequence = sequence;
  frame.previousSequence = sequence - 1;
  frame.audience = "urn:me";
  frame.time = WallTime(std::chrono::milliseconds(5));
  frame.expiresAt = WallTime(std::chrono::milliseconds(6));
  frame.traceparent = "00-t";
  frame.correlationId = "c";
  frame.resentOf = "first";
  return frame;
}

/// `session` is the frame's, as it is kept.
inline store::InboundIdentity identityOf(const InboundFrame& frame, std::string_view session) {
  store::InboundIdentity identity;
  identity.source = frame.source;
  identity.id = frame.id;
  identity.origin = frame.origin;
  identity.session = session;
  identity.epoch = frame.epoch;
  identity.sequence = frame.sequence;
  identity.previousSequence = frame.previousSequence;
  identity.digest = store::digestOf(frame.type, frame.data);
  return identity;
}

/// For a frame that is in no mailbox.
inline store::InboundIdentity identityOf(const InboundFrame& frame) {
  return identityOf(frame, frame.session);
}

/// Marks and keeps it; returns its row.
inline store::InboxKey acceptFrame(store::Store& store, const InboundFrame& frame) {
  return inTransaction(store, [&] {
    const store::KeptSession session(frame);
    store.inboundMarks().markAccepted(identityOf(frame, session.name()), 0, {kOutcomeRetention, kOutcomeRetention});
    store.inbox().add(frame, true);
    return store.inbox().find(frame.source, frame.id);
  });
}

inline store::InboxClaim claimRow(store::Store& store, store::InboxKey key) {
  return inTransaction(store, [&] { return store.inbox().claim({&key, 1}, std::chrono::hours(1)).front(); });
}

inline bool holdsClaim(store::Store& store, const store::InboxRow& row) {
  const store::InboxStart claim{row.key, row.starts};
  return inTransaction(store, [&] { return store.inbox().holds({&claim, 1}); }).at(0);
}

inline void finishRow(store::Store& store, const store::InboxRow& row, const FrameResult& result) {
  const store::InboxEnding end{&row, &result};
  inTransaction(store, [&] { store.inbox().finish({&end, 1}, kOutcomeRetention); });
}

inline void retryRow(store::Store& store, store::InboxKey key, WallTime dueAt, std::string_view error) {
  const store::InboxRetry run{key, dueAt, error};
  inTransaction(store, [&] { store.inbox().retry({&run, 1}); });
}

inline void releaseRow(store::Store& store, store::InboxKey key) {
  inTransaction(store, [&] { store.inbox().release({&key, 1}); });
}

inline FrameResult resultOf(Outcome outcome, std::string code = {}, std::string result = {}) {
  FrameResult made;
  made.outcome = outcome;
  made.code = std::move(code);
  made.result = std::move(result);
  return made;
}

/// What the sender of `frame` is answered when it asks.
inline std::optional<FrameResult> answerTo(store::Store& store, const InboundFrame& frame) {
  return inTransaction(store, [&] { return store.inbox().resultOf(identityOf(frame)); });
}

}  // namespace ackbox::testing
