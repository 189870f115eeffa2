#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ackbox::simulation {

/// The situations that a campaign must have met at least once to prove something. `describe` gives each in words.
enum class Situation : std::uint8_t {
  // Enqueues.
  queueFull,
  waitedForRoom,
  keyRepeated,
  superseded,
  enqueueOnFullDisk,
  enqueueOnBusyDisk,
  enqueueOnBrokenDisk,
  committedInCall,
  commitShared,
  logBeganAnew,
  startRefused,
  // Requests.
  sessionBatch,
  mixedBatch,
  unorderedBatch,
  gapNamed,
  sentByOther,
  ownClaimTakenBack,
  deadOwnersClaimTaken,
  diedWithRequest,
  suspectAlone,
  peerKiller,
  batchHalved,
  rateLimited,
  claimedByHand,
  releasedByHand,
  // Answers.
  refusedConnection,
  timedOut,
  connectionReset,
  receiverDied,
  overloaded,
  receiverDiskFull,
  capturedAnswer,
  wrongRoute,
  answerLost,
  crashBeforeEffect,
  crashAfterEffect,
  held,
  nackCharged,
  rejectedForGood,
  lateSettle,
  peerDown,
  peerUpAgain,
  peerHeld,
  // Deferral, at the sender.
  deferred,
  deferredOutsideSessions,
  deferredTwice,
  ackedByEvent,
  earlyAck,
  ackDeadline,
  refusedByEvent,
  // The receiver.
  duplicateTold,
  gapPassed,
  handlerNotNow,
  handlerThrew,
  replied,
  deferredUnasked,
  deferredDeadline,
  deferredForgotten,
  deferredTooLate,
  deferredAfterCrash,
  deferredByOther,
  deferredGivenUp,
  poolStalled,
  inboxFull,
  // Applications to which the receiver gives frames.
  returnedGiven,
  givenByOther,
  applicationDeadline,
  wishWithdrawn,
  settledLate,
  pushRefused,
  pushUnreached,
  applicationBack,
  unattendedStated,
  // Mailboxes, whose agents take frames from a stream, or fetch them into a file of their own.
  mailGiven,
  mailboxFull,
  mailSettledTwice,
  mailOfOther,
  fetched,
  fetchedAgain,
  fetchedAfterEffect,
  fetcherLineLost,
  fetcherHubAway,
  reportLost,
  // Ends of messages, and the operators of an agent.
  budgetSpent,
  expired,
  givenUpByHand,
  decidedDeadLetter,
  decidedDiscard,
  redriven,
  redrivenAcked,
  resentByHand,
  peerChanged,
  peerRemoved,
  subscribed,
  published,
  publishedToNobody,
  publishRepeated,
  discarded,
  sessionBlocked,
  peerPaused,
  sessionPaused,
  // Files that are restored or lost.
  peerLost,
  peerRestored,
  selfRestored,
  sentAnew,
  outOfSequence,
  staleEpoch,
  // A server's database in the place of files.
  connectionLost,
};

inline constexpr std::size_t kSituations = static_cast<std::size_t>(Situation::connectionLost) + 1;

/// The situations that a world has met.
using Situations = std::bitset<kSituations>;

/// A short text for people.
[[nodiscard]] std::string_view describe(Situation situation) noexcept;

/// Whether the situation requires an accident to a file.
[[nodiscard]] constexpr bool needsAccidents(Situation situation) noexcept {
  return situation >= Situation::peerLost && situation <= Situation::staleEpoch;
}

/// Whether the situation requires that agents have their outboxes in files.
[[nodiscard]] constexpr bool needsFiles(Situation situation) noexcept {
  return needsAccidents(situation) || situation == Situation::enqueueOnFullDisk ||
         situation == Situation::enqueueOnBusyDisk || situation == Situation::logBeganAnew ||
         situation == Situation::startRefused || situation == Situation::receiverDiskFull;
}

/// The same of a server's database.
[[nodiscard]] constexpr bool needsDatabases(Situation situation) noexcept {
  return situation == Situation::connectionLost;
}

}  // namespace ackbox::simulation
