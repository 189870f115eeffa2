#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ackbox::simulation {

/// What a campaign must have met at least once, or it has not tried what it is there for. `describe` says each in
/// words.
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
  // Applications that the receiver gives frames to.
  returnedGiven,
  givenByOther,
  applicationDeadline,
  wishWithdrawn,
  settledLate,
  pushRefused,
  pushUnreached,
  applicationBack,
  unattendedStated,
  // Ends, and the people who look after an agent.
  budgetSpent,
  expired,
  givenUpByHand,
  decidedDeadLetter,
  decidedDiscard,
  redriven,
  redrivenAcked,
  discarded,
  sessionBlocked,
  peerPaused,
  sessionPaused,
  // Files that are put back and lost.
  peerLost,
  peerRestored,
  selfRestored,
  sentAnew,
  outOfSequence,
  staleEpoch,
};

inline constexpr std::size_t kSituations = static_cast<std::size_t>(Situation::staleEpoch) + 1;

/// The situations that a world has met.
using Situations = std::bitset<kSituations>;

/// For people, in a few words.
[[nodiscard]] std::string_view describe(Situation situation) noexcept;

/// Whether it takes an accident to a file.
[[nodiscard]] constexpr bool needsAccidents(Situation situation) noexcept {
  return situation >= Situation::peerLost;
}

}  // namespace ackbox::simulation
