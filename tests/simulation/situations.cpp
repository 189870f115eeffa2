#include "simulation/situations.hpp"

#include <array>
#include <utility>

namespace ackbox::simulation {
namespace {

using Described = std::pair<Situation, std::string_view>;

constexpr std::array<Described, kSituations> kDescribed{{
    {Situation::queueFull, "an enqueue is refused, as the queue is full"},
    {Situation::waitedForRoom, "an enqueue waits for room and is stored"},
    {Situation::keyRepeated, "an idempotency key comes again, and names the first message"},
    {Situation::superseded, "a waiting message is replaced by its supersede key"},
    {Situation::enqueueOnFullDisk, "the disk is full at an enqueue"},
    {Situation::enqueueOnBusyDisk, "the file is locked at an enqueue"},
    {Situation::enqueueOnBrokenDisk, "the disk fails at an enqueue"},
    {Situation::committedInCall, "a commit is made in its caller's call"},
    {Situation::commitShared, "a commit is shared by several jobs"},
    {Situation::logBeganAnew, "the log begins anew while a reader holds a snapshot"},
    {Situation::startRefused, "a start is refused while a reader holds a snapshot, and tried again"},
    {Situation::sessionBatch, "a request has several messages of one session"},
    {Situation::mixedBatch, "a request has messages of several sessions"},
    {Situation::unorderedBatch, "a request has messages in and outside of sessions"},
    {Situation::gapNamed, "a frame names a predecessor before a dead letter"},
    {Situation::sentByOther, "a process sends what another process of its file has stored"},
    {Situation::ownClaimTakenBack, "a process sends what its former life had in flight"},
    {Situation::deadOwnersClaimTaken, "a claim of a dead owner is taken by another process"},
    {Situation::diedWithRequest, "a process dies with a request under way"},
    {Situation::suspectAlone, "a suspect of a lost connection is sent alone"},
    {Situation::peerKiller, "a message is given up as its peer's killer"},
    {Situation::batchHalved, "a batch is made smaller after 413"},
    {Situation::rateLimited, "a message waits for its peer's rate limit"},
    {Situation::claimedByHand, "a claim by hand is settled"},
    {Situation::releasedByHand, "a claim by hand is released"},
    {Situation::refusedConnection, "a connection is refused"},
    {Situation::timedOut, "no answer comes in time"},
    {Situation::connectionReset, "a connection breaks before its answer"},
    {Situation::receiverDied, "a receiver dies with a request in its hands"},
    {Situation::overloaded, "503 with a pause comes from the way"},
    {Situation::receiverDiskFull, "507: the receiver's disk is full"},
    {Situation::capturedAnswer, "200 comes from a captive portal"},
    {Situation::wrongRoute, "404 comes from a wrong route"},
    {Situation::answerLost, "an effect stands, its answer is lost, its repetition is a duplicate"},
    {Situation::crashBeforeEffect, "a receiver dies between the request and the effect"},
    {Situation::crashAfterEffect, "a receiver dies between the effect and the answer"},
    {Situation::held, "a frame is not tried, as an earlier one was not taken"},
    {Situation::nackCharged, "a refused message is charged and tried again"},
    {Situation::rejectedForGood, "a message is rejected for good"},
    {Situation::lateSettle, "a settle of an earlier claim comes late"},
    {Situation::peerDown, "a peer goes down"},
    {Situation::peerUpAgain, "a peer that was down answers its probe"},
    {Situation::peerHeld, "a peer refuses its sender and is held"},
    {Situation::deferred, "a message of a session is deferred"},
    {Situation::deferredOutsideSessions, "a message outside sessions is deferred"},
    {Situation::deferredTwice, "a deferred frame comes again before its handler is done"},
    {Situation::ackedByEvent, "an ACK event retires a deferred message"},
    {Situation::earlyAck, "an early ACK comes before the reply"},
    {Situation::ackDeadline, "no ACK event comes in time, and the message is sent again"},
    {Situation::refusedByEvent, "an ACK event refuses a deferred message for good"},
    {Situation::duplicateTold, "a duplicate is suppressed"},
    {Situation::gapPassed, "a receiver passes a gap that a dead letter left"},
    {Situation::handlerNotNow, "a handler says: not now"},
    {Situation::handlerThrew, "a handler throws, and what it wrote is undone"},
    {Situation::replied, "a handler's reply commits with its effect"},
    {Situation::deferredUnasked, "a frame is deferred without asking its handler"},
    {Situation::deferredDeadline, "a deferred frame's deadline passes"},
    {Situation::deferredForgotten, "a deferred run ends without an answer"},
    {Situation::deferredTooLate, "a deferred run commits after its deadline and is refused"},
    {Situation::deferredAfterCrash, "a deferred frame runs again after its process died"},
    {Situation::deferredByOther, "a process works on what another one has deferred"},
    {Situation::deferredGivenUp, "a deferred frame is given up"},
    {Situation::poolStalled, "a pool stalls while other frames run"},
    {Situation::inboxFull, "a frame is put off, as the inbox is full"},
    {Situation::returnedGiven, "a frame that an application has lost with its stream is given out again"},
    {Situation::givenByOther, "a process gives an application what another one has deferred"},
    {Situation::applicationDeadline, "the deadline of a frame passes while an application has it in hand"},
    {Situation::wishWithdrawn, "a wish is withdrawn while its application has frames in hand"},
    {Situation::settledLate, "an application settles what it has in hand no more, and is refused"},
    {Situation::pushRefused, "an application refuses a push, uncharged"},
    {Situation::pushUnreached, "an application cannot be reached by a push"},
    {Situation::applicationBack, "an application that was away has taken all that waited for it"},
    {Situation::unattendedStated, "an answer states since when no application is there"},
    {Situation::mailGiven, "a frame is given to the agent of its mailbox"},
    {Situation::mailboxFull, "a frame is put off, as its mailbox is full"},
    {Situation::mailSettledTwice, "the agent of a mailbox settles a frame twice, and is refused"},
    {Situation::mailOfOther, "the agent of a mailbox settles a frame of another one, and is refused"},
    {Situation::fetched, "a fetched frame takes effect in its agent's own file"},
    {Situation::fetchedAgain, "a frame is fetched again that has not taken effect"},
    {Situation::fetchedAfterEffect, "a frame is fetched again that has taken effect"},
    {Situation::fetcherLineLost, "a fetcher's stream is lost"},
    {Situation::fetcherHubAway, "a fetcher cannot reach its hub"},
    {Situation::reportLost, "a fetcher's report, or the answer to it, is lost"},
    {Situation::budgetSpent, "a message has spent its retries"},
    {Situation::expired, "a message expires"},
    {Situation::givenUpByHand, "an operator gives a message up"},
    {Situation::decidedDeadLetter, "a failure function gives a message up"},
    {Situation::decidedDiscard, "a failure function throws a message away"},
    {Situation::redriven, "a dead letter is redriven"},
    {Situation::redrivenAcked, "a redriven message is acknowledged"},
    {Situation::resentByHand, "an operator sends an acknowledged message once more"},
    {Situation::peerChanged, "a peer that was added to a file is changed while agents are at work"},
    {Situation::peerRemoved, "a peer that was added is removed"},
    {Situation::subscribed, "a subscription is made or changed while agents are at work"},
    {Situation::published, "a frame is published to subscribers"},
    {Situation::publishedToNobody, "a frame is published that nobody has subscribed to"},
    {Situation::publishRepeated, "a publish is repeated under its idempotency key"},
    {Situation::discarded, "a dead letter is discarded"},
    {Situation::sessionBlocked, "a session blocked by a dead letter is let go on"},
    {Situation::peerPaused, "a peer is paused"},
    {Situation::sessionPaused, "a session is paused"},
    {Situation::peerLost, "a peer's store was replaced"},
    {Situation::peerRestored, "a peer's store went back to a copy"},
    {Situation::selfRestored, "a peer knows more of this store than its file does"},
    {Situation::sentAnew, "what a peer forgot is sent again"},
    {Situation::outOfSequence, "a frame comes before its predecessor"},
    {Situation::staleEpoch, "a stale epoch is refused"},
    {Situation::connectionLost, "a process loses the connection to its database and goes on"},
}};

constexpr bool isInOrder() {
  for (std::size_t index = 0; index < kSituations; ++index) {
    if (static_cast<std::size_t>(kDescribed[index].first) != index || kDescribed[index].second.empty()) {
      return false;
    }
  }
  return true;
}
static_assert(isInOrder(), "a sentence for each situation, in their order");

}  // namespace

std::string_view describe(Situation situation) noexcept {
  return kDescribed[static_cast<std::size_t>(situation)].second;
}

}  // namespace ackbox::simulation
