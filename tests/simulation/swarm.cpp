#include "simulation/swarm.hpp"

#include <array>
#include <sstream>

#include "ackbox/random.hpp"

namespace ackbox::simulation {
namespace {

using std::chrono::milliseconds;

// Half of the runs lack the fault; the others have any strength up to `most`.
double drawFault(Random& random, double most) {
  const bool present = drawChance(random, 0.5);
  return present ? drawUnit(random) * most : 0;
}

milliseconds drawEvery(Random& random, milliseconds least, milliseconds most) {
  const bool present = drawChance(random, 0.6);
  const auto range = static_cast<std::uint64_t>((most - least).count());
  const milliseconds drawn = least + milliseconds(drawBelow(random, range));
  return present ? drawn : milliseconds(0);
}

template <typename Value, std::size_t Size>
Value drawOf(Random& random, const std::array<Value, Size>& values) {
  return values[drawBelow(random, Size)];
}

}  // namespace

double drawUnit(Random& random) {
  return static_cast<double>(random.next() >> 11U) * 0x1p-53;
}

bool drawChance(Random& random, double probability) {
  return drawUnit(random) < probability;
}

std::uint64_t drawBelow(Random& random, std::uint64_t count) {
  return random.next() % count;
}

namespace {

Wishes drawWishes(Random& random) {
  Wishes wishes;
  wishes.unordered = drawFault(random, 0.6);
  wishes.superseding = drawFault(random, 0.3);
  wishes.delayed = drawFault(random, 0.3);
  wishes.expiring = drawFault(random, 0.3);
  wishes.repeated = drawFault(random, 0.3);
  wishes.priorities = drawChance(random, 0.5);
  wishes.waiting = drawChance(random, 0.5);
  wishes.blocking = drawOf(random, std::array{0.0, 0.3, 1.0});
  return wishes;
}

Handling drawHandling(Random& random) {
  Handling handling;
  handling.notNow = drawFault(random, 0.2);
  handling.thrown = drawFault(random, 0.1);
  handling.rejected = drawFault(random, 0.05);
  handling.suicide = drawFault(random, 0.01);
  handling.replies = drawFault(random, 0.5);
  handling.asides = drawFault(random, 0.2);
  handling.deferred = drawFault(random, 0.3);
  handling.forgotten = drawFault(random, 0.1);
  handling.thinksOn = drawFault(random, 0.5);
  handling.thinkMax = drawOf(random, std::array{milliseconds(10), milliseconds(200), milliseconds(2'000)});
  handling.thinkTimeout = drawOf(random, std::array{milliseconds(500), milliseconds(60'000)});
  handling.concurrency = drawOf(random, std::array{1U, 4U});
  handling.poolAlways = drawChance(random, 0.5);
  return handling;
}

void drawOutbox(Random& random, OutboxOptions& outbox) {
  outbox.batchFrames = drawOf(random, std::array{1U, 2U, 7U, 256U});
  outbox.batchBytes = drawOf(random, std::array<std::size_t, 2>{1'000, std::size_t{768} * 1024});
  outbox.requestTimeout = drawOf(random, std::array{milliseconds(500), milliseconds(5'000), milliseconds(30'000)});
  outbox.ackTimeout = drawOf(random, std::array{milliseconds(2'000), milliseconds(15'000), milliseconds(60'000)});
  outbox.pollInterval = drawOf(random, std::array{milliseconds(50), milliseconds(1'000), milliseconds(10'000)});
  outbox.sharedPollInterval = drawOf(random, std::array{milliseconds(20), milliseconds(200)});
  outbox.ackedRetention = drawOf(random, std::array{milliseconds(0), milliseconds(0), milliseconds(5'000)});
  outbox.checkpointPages = drawOf(random, std::array{4U, 100U, 4'000U});
  outbox.maxPending = drawOf<std::uint64_t>(random, std::array<std::uint64_t, 4>{1'000'000, 1'000'000, 1'000'000, 40});
  outbox.idempotencyRetention = kYear;
  outbox.retry.horizon = kYear;
  outbox.gap = drawChance(random, 0.3) ? GapPolicy::block : GapPolicy::skip;
  if (drawChance(random, 0.3)) {
    outbox.retry.delays = {milliseconds(10), milliseconds(100), milliseconds(1'000)};
    outbox.retry.maxRetries = 50;
  }
}

// Narrow limits, so that a world reaches them.
void drawLimits(Random& random, Swarm& swarm) {
  swarm.rateLimit.frames = drawOf(random, std::array{0U, 0U, 100U, 5U});
  swarm.handling.inboxFrames = drawOf<std::uint64_t>(random, std::array<std::uint64_t, 3>{100'000, 100'000, 10});
  swarm.network.bodyBytesMax = drawOf<std::size_t>(random, std::array<std::size_t, 3>{0, 0, 1'000});
  if (drawChance(random, 0.2)) {
    swarm.outbox.retry.maxRetries = 2;
  }
  if (drawChance(random, 0.3)) {
    swarm.outbox.peerHealth.killerThreshold = 2;
    swarm.outbox.peerHealth.killerPatience = milliseconds(1'000);
  }
  swarm.addsPeers = drawChance(random, 0.3);
}

// In such a world no agent enqueues again by itself: a reply or a repetition that is enqueued again after its file was
// lost is another message.
void drawAccidents(Random& random, Swarm& swarm) {
  swarm.fileAccidents = milliseconds(2'000 + drawBelow(random, 8'000));
  swarm.sessions = drawOf(random, std::array{1U, 5U, 21U, 40U});
  swarm.pulls = false;
  swarm.handling.replies = 0;
  swarm.handling.asides = 0;
  swarm.wishes.repeated = 0;
  swarm.outbox.peerReset = drawChance(random, 0.5) ? PeerResetPolicy::resend : PeerResetPolicy::proceed;
  if (swarm.outbox.peerReset == PeerResetPolicy::resend) {
    // Only messages that are kept are sent again.
    swarm.outbox.ackedRetention = kYear;
  }
  if (drawChance(random, 0.5)) {
    swarm.outbox.peerHealth.probeDelays = {milliseconds(10)};
  }
}

}  // namespace

Swarm drawSwarm(Random& random, bool accidents) {
  Swarm swarm;
  swarm.agents = static_cast<std::uint32_t>(2 + drawBelow(random, 3));
  swarm.sessions = drawOf<std::uint32_t>(random, std::array<std::uint32_t, 4>{1, 3, 10, 40});
  swarm.shared = drawChance(random, 0.3);
  swarm.pulls = drawChance(random, 0.3);
  swarm.pace = drawOf(random, std::array{Pace::lone, Pace::crowd, Pace::changing});
  swarm.started = drawOf(random, std::array{0.0, 0.5, 1.0, 1.0});
  swarm.decided = drawFault(random, 0.5);
  swarm.network.refused = drawFault(random, 0.2);
  swarm.network.requestLost = drawFault(random, 0.1);
  swarm.network.cutBefore = drawFault(random, 0.15);
  swarm.network.cutAfter = drawFault(random, 0.15);
  swarm.network.answerLost = drawFault(random, 0.1);
  swarm.network.duplicated = drawFault(random, 0.3);
  swarm.network.overloaded = drawFault(random, 0.1);
  swarm.network.captured = drawFault(random, 0.1);
  swarm.network.misdirected = drawFault(random, 0.02);
  swarm.network.delayMax = drawOf(random, std::array{milliseconds(2), milliseconds(50), milliseconds(2'000)});
  swarm.kills = drawEvery(random, milliseconds(200), milliseconds(10'000));
  swarm.partitions = drawEvery(random, milliseconds(1'000), milliseconds(15'000));
  swarm.clockFaults = drawEvery(random, milliseconds(1'000), milliseconds(15'000));
  swarm.operators = drawEvery(random, milliseconds(500), milliseconds(10'000));
  swarm.diskFaults = drawEvery(random, milliseconds(200), milliseconds(10'000));
  swarm.wishes = drawWishes(random);
  swarm.handling = drawHandling(random);
  drawOutbox(random, swarm.outbox);
  drawLimits(random, swarm);
  swarm.readers = drawEvery(random, milliseconds(200), milliseconds(5'000));
  if (accidents) {
    drawAccidents(random, swarm);
  }
  return swarm;
}

Applications drawApplications(Random& random, std::uint32_t agents) {
  Applications applications;
  applications.agents = drawChance(random, 0.25) ? static_cast<std::uint32_t>(1 + drawBelow(random, agents)) : 0;
  applications.streams = drawOf(random, std::array{1U, 2U, 4U});
  applications.places = drawOf(random, std::array{1U, 3U, 64U});
  if (drawChance(random, 0.5)) {
    applications.awayFrom = milliseconds(drawBelow(random, 10'000));
    applications.awayUntil = milliseconds(15'000 + drawBelow(random, 15'000));
  }
  applications.lifeMax = drawOf(random, std::array{milliseconds(300), milliseconds(3'000), milliseconds(20'000)});
  applications.pauseMax = drawOf(random, std::array{milliseconds(1), milliseconds(300), milliseconds(3'000)});
  applications.holdMax = drawOf(random, std::array{milliseconds(10), milliseconds(100), milliseconds(1'000)});
  applications.silent = drawFault(random, 0.1);
  applications.released = drawFault(random, 0.2);
  applications.retried = drawFault(random, 0.2);
  applications.rejected = drawFault(random, 0.05);
  applications.unread = drawFault(random, 0.2);
  applications.refused = drawFault(random, 0.3);
  return applications;
}

Mailboxes drawMailboxes(Random& random) {
  Mailboxes mailboxes;
  mailboxes.takers = drawChance(random, 0.2) ? static_cast<std::uint32_t>(1 + drawBelow(random, 3)) : 0;
  mailboxes.framesMax = drawOf<std::uint64_t>(random, std::array<std::uint64_t, 3>{10'000, 10'000, 5});
  mailboxes.places = drawOf(random, std::array{1U, 3U, 1'024U});
  mailboxes.ownPlaces = drawOf(random, std::array{0U, 4U});
  mailboxes.asleepFrom = milliseconds(drawBelow(random, 5'000));
  mailboxes.asleepUntil = milliseconds(10'000 + drawBelow(random, 25'000));
  mailboxes.window = drawOf(random, std::array{1U, 4U, 64U});
  mailboxes.lineLifeMax = drawOf(random, std::array{milliseconds(100), milliseconds(2'000), milliseconds(60'000)});
  mailboxes.unseenMax = drawOf(random, std::array{milliseconds(1), milliseconds(3'000)});
  mailboxes.reportLost = drawFault(random, 0.3);
  return mailboxes;
}

std::string Swarm::describe() const {
  std::ostringstream text;
  text << agents << " agents, " << sessions << " sessions" << (shared ? ", a shared file" : "")
       << (pulls ? ", one pulls" : "") << ", "
       << (pace == Pace::lone ? "lone messages" : (pace == Pace::crowd ? "crowds" : "lone messages and crowds"))
       << ", started " << started << ", blocking " << wishes.blocking << "; network refused " << network.refused
       << ", lost " << network.requestLost << ", cut before " << network.cutBefore << ", cut after " << network.cutAfter
       << ", answer lost " << network.answerLost << ", duplicated " << network.duplicated << ", overloaded "
       << network.overloaded << ", captured " << network.captured << ", misdirected " << network.misdirected
       << ", bodies up to " << network.bodyBytesMax << ", delay up to " << network.delayMax.count()
       << " ms; kills every " << kills.count() << " ms, partitions " << partitions.count() << ", clock faults "
       << clockFaults.count() << ", operators " << operators.count() << ", disk faults " << diskFaults.count()
       << ", file accidents " << fileAccidents.count() << ", readers " << readers.count()
       << (outbox.peerReset == PeerResetPolicy::resend ? ", resend" : ", proceed") << "; handlers not now "
       << handling.notNow << ", throw " << handling.thrown << ", reject " << handling.rejected << ", die "
       << handling.suicide << ", reply " << handling.replies << ", aside " << handling.asides << ", defer "
       << handling.deferred << (handling.poolAlways ? " and the pool's" : "") << ", forget " << handling.forgotten
       << ", think on " << handling.thinksOn << " up to " << handling.thinkMax.count() << " of "
       << handling.thinkTimeout.count() << " ms; unordered " << wishes.unordered << ", supersede " << wishes.superseding
       << ", delay " << wishes.delayed << ", expire " << wishes.expiring << ", repeat " << wishes.repeated << "; batch "
       << outbox.batchFrames << " frames, " << outbox.batchBytes << " bytes, timeout " << outbox.requestTimeout.count()
       << " ms, ACK in " << outbox.ackTimeout.count() << " ms, at most " << outbox.maxPending
       << (outbox.gap == GapPolicy::block ? ", gaps block" : "") << ", decided " << decided << ", limit "
       << rateLimit.frames << ", inbox of " << handling.inboxFrames << ", retries " << outbox.retry.maxRetries
       << ", given up after " << outbox.peerHealth.killerThreshold << " lost connections"
       << (addsPeers ? ", a peer added at run time" : "") << (publishes ? ", publishes" : "");
  if (applications.agents > 0) {
    text << "; " << applications.agents << " agents with applications, " << applications.streams
         << " streams of each process, " << applications.places << " places, away from "
         << std::chrono::duration<double>(applications.awayFrom).count() << " to "
         << std::chrono::duration<double>(applications.awayUntil).count() << " s, stay " << applications.lifeMax.count()
         << ", pause " << applications.pauseMax.count() << ", hold " << applications.holdMax.count() << " ms, silent "
         << applications.silent << ", release " << applications.released << ", retry " << applications.retried
         << ", reject " << applications.rejected << ", unread " << applications.unread << ", refuse "
         << applications.refused;
  }
  if (mailboxes.takers > 0) {
    text << "; mailboxes of " << mailboxes.takers << " takers and a fetcher, for " << mailboxes.framesMax
         << " frames each, " << mailboxes.places << " places and " << mailboxes.ownPlaces
         << " of each stream, asleep from " << std::chrono::duration<double>(mailboxes.asleepFrom).count() << " to "
         << std::chrono::duration<double>(mailboxes.asleepUntil).count() << " s, lines stay "
         << mailboxes.lineLifeMax.count() << " ms, unseen for " << mailboxes.unseenMax.count() << " ms, reports lost "
         << mailboxes.reportLost;
  }
  return text.str();
}

}  // namespace ackbox::simulation
