#include "simulation/inbox.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <stdexcept>
#include <utility>

#include "ackbox/error.hpp"
#include "ackbox/inbox.hpp"
#include "ackbox/outbox_reader.hpp"

namespace ackbox::simulation {
namespace {

constexpr const char* kPoolType = "sim.slow";
// Longer than zero, as other frames must proceed meanwhile; shorter than a handler's deadline.
constexpr std::chrono::milliseconds kStallGlance{100};

std::string agentOfUri(const std::string& uri) {
  return uri.substr(std::string("urn:sim:").size());
}

}  // namespace

Inbox::Inbox(testing::SimulatedProcess& process, Common& common, Place place, OutboxManager& manager, bool listens)
    : process_(process), common_(common), place_(std::move(place)), manager_(manager) {
  if (common_.hasApplications(place_.agent) || common_.hub.is(place_.agent)) {
    daemon_.emplace(process_, common_, place_);
  }
  handler_.emplace(
      manager,
      [this](const InboundFrame& frame, InboundTransaction& transaction) { return handle(frame, transaction); },
      options());
  if (listens) {
    process.listen(*handler_);
  }
}

InboundOptions Inbox::options() {
  const Handling& handling = common_.swarm.handling;
  InboundOptions options;
  for (const std::string& name : common_.names) {
    options.peers.push_back(
        {.agents = {Hub::uriOf(name)}, .byCertificate = true, .byMailbox = place_.agent == common_.hub.fetcher()});
  }
  options.trace = common_.reach.hooks();
  options.processedRetention = kYear;
  options.processedRetentionMax = kYear;
  if (handling.deferred > 0 || daemon_) {
    setDeferred(options.deferred);
  }
  return options;
}

void Inbox::setDeferred(DeferredOptions& options) {
  const Handling& handling = common_.swarm.handling;
  options.framesMax = handling.inboxFrames;
  options.handler = [this](DeferredFrame frame) {
    judgeExpiry(frame.frame());
    if (daemon_ && daemon_->takes(frame.frame())) {
      daemon_->add(std::move(frame));
    } else {
      think(std::move(frame));
    }
  };
  options.concurrency = handling.concurrency;
  options.pools = {{{kPoolType}, handling.concurrency}};
  if (daemon_) {
    daemon_->configure(options);
  }
  const bool poolAlways = handling.deferred > 0 && handling.poolAlways && !common_.canary;
  if (poolAlways || daemon_) {
    options.always = [this, poolAlways](std::string_view type) {
      return (poolAlways && type == kPoolType) || (daemon_ && daemon_->takes(type));
    };
  }
  options.timeout = handling.thinkTimeout;
  options.retry = common_.swarm.outbox.retry;
  options.executor = std::make_shared<boost::asio::any_io_executor>(process_.executor());
}

void Inbox::mayDie() {
  if (!common_.healed && drawChance(process_.random(), common_.swarm.handling.suicide)) {
    common_.simulation.killAtWrite(place_.process, drawBelow(process_.random(), 4));
  }
}

void Inbox::judgeExpiry(const InboundFrame& frame) {
  // A frame may expire between its claim and its handler's call.
  constexpr std::chrono::seconds kOnItsWay{1};
  const bool areCalendarsSteady = common_.swarm.clockFaults.count() == 0;
  if (areCalendarsSteady && frame.expiresAt && *frame.expiresAt + kOnItsWay <= process_.clock().wallNow()) {
    common_.ledger.violated("P3", frame.id + " was given to a handler after it had expired");
  }
}

// A file that was restored has forgotten what its operator sent again.
void Inbox::judgeResent(const InboundFrame& frame, const Entry& entry) {
  const bool isSaid = !frame.resentOf.empty();
  const bool isMeant = entry.resentAs != 0 && frame.sequence >= entry.resentAs && !common_.ledger.hasAccidents;
  if ((isSaid && (frame.resentOf != frame.id || entry.resends == 0)) || (isMeant && !isSaid)) {
    common_.ledger.violated("P10", frame.id + " with the number " + std::to_string(frame.sequence) +
                                       " was sent again by an operator " + std::to_string(entry.resends) +
                                       " times, and says '" + frame.resentOf + "'");
  }
}

HandlerResult Inbox::handle(const InboundFrame& frame, InboundTransaction& transaction) {
  judgeExpiry(frame);
  if (frame.type.starts_with(Publications::kType)) {
    common_.hub.worked(place_.agent, frame.id);
    common_.publications.took(place_.agent, frame.id);
    return HandlerResult::ack();
  }
  const Handling& handling = common_.swarm.handling;
  Random& random = process_.random();
  common_.reach.asked(frame.id);
  if (daemon_ && daemon_->takes(frame.type)) {
    return HandlerResult::defer();
  }
  Entry& entry = common_.ledger.entries[nameOf(frame.id)];
  if (entry.to != place_.agent) {
    common_.ledger.violated("P11", frame.id + " for " + entry.to + " reached " + place_.agent);
  }
  judgeResent(frame, entry);
  mayDie();
  if (!common_.healed && drawChance(random, handling.asides)) {
    sayAside(agentOfUri(frame.source));
  }
  if (!common_.healed && drawChance(random, handling.notNow)) {
    ++entry.refusals;
    return HandlerResult::notNow("busy");
  }
  if (common_.canary) {
    late_.push_back({frame.id, frame.origin, frame.session, frame.sequence, ""});
    if (late_.size() > 5 || common_.healed) {
      writeLate(transaction);
    }
    return HandlerResult::ack();
  }
  if (drawChance(random, handling.deferred)) {
    entry.deferred = true;
    return HandlerResult::defer();
  }
  return work(frame, transaction);
}

// The effect, the reply, and then perhaps a failure that must undo both.
HandlerResult Inbox::work(const InboundFrame& frame, InboundTransaction& transaction) {
  const Handling& handling = common_.swarm.handling;
  Random& random = process_.random();
  const bool faulty = !common_.healed;
  common_.hands.worked(place_.agent, frame);
  Entry& entry = common_.ledger.entries[nameOf(frame.id)];
  const bool replies = frame.id.starts_with('m') && drawChance(random, handling.replies);
  const std::string replyId = replies ? "re-" + nameOf(frame.id) + "-" + std::to_string(frame.sequence) : "";
  common_.places.write(transaction, {frame.id, frame.origin, frame.session, frame.sequence, replyId});
  if (replies && !reply(frame, transaction, replyId)) {
    ++entry.refusals;
    return HandlerResult::notNow("no room for the reply");
  }
  if (faulty && drawChance(random, handling.rejected)) {
    // A failure function may nevertheless have it tried again.
    ++entry.refusals;
    entry.rejected = true;
    return HandlerResult::reject("never");
  }
  if (faulty && drawChance(random, handling.thrown)) {
    ++entry.refusals;
    throw std::runtime_error("a handler's defect");
  }
  common_.hub.worked(place_.agent, frame.id);
  return HandlerResult::ack();
}

bool Inbox::reply(const InboundFrame& frame, InboundTransaction& transaction, const std::string& id) {
  Frame reply;
  reply.peer = agentOfUri(frame.source);
  reply.session = drawChance(process_.random(), common_.swarm.wishes.unordered) ? "" : "replies";
  reply.type = "sim.replied";
  reply.id = id;
  reply.correlationId = frame.id;
  Entry& said = common_.ledger.entries[id];
  said.from = place_.agent;
  said.to = reply.peer;
  said.session = reply.session;
  const bool isTaken = transaction.enqueue(reply).accepted();
  if (isTaken) {
    common_.reach.saw(Situation::replied);
  }
  return isTaken;
}

// Enqueues while the handler's own commit is under way, so that only another commit can store the message.
void Inbox::sayAside(const std::string& to) {
  Frame aside;
  aside.peer = to;
  aside.session = "asides";
  aside.type = "sim.aside";
  aside.id = "as" + std::to_string(++common_.asides);
  Entry& said = common_.ledger.entries[aside.id];
  said.from = place_.agent;
  said.to = to;
  said.session = aside.session;
  manager_.enqueueThen(aside, [&ledger = common_.ledger, &simulation = common_.simulation, name = aside.id](
                                  const std::error_code& error, const EnqueueReceipt& receipt) {
    if (!error && receipt.accepted()) {
      ledger.confirm(name, receipt.sequence, simulation.now());
    }
  });
}

void Inbox::think(DeferredFrame frame) {
  const Handling& handling = common_.swarm.handling;
  Random& random = process_.random();
  common_.ledger.entries[nameOf(frame.frame().id)].deferred = true;
  common_.reach.deferredRun(place_, frame);
  mayDie();
  if (!common_.healed && drawChance(random, handling.forgotten)) {
    if (drawChance(random, 0.5)) {
      throw std::runtime_error("a thinker's defect");
    }
    return;
  }
  const std::uint64_t thought = ++lastThought_;
  thoughts_.emplace(thought, Thought{std::move(frame), process_.clock().makeAlarm(process_.executor())});
  thinkOn(thought);
}

void Inbox::thinkOn(std::uint64_t thought, std::chrono::nanoseconds least) {
  const Handling& handling = common_.swarm.handling;
  // After the world has healed, every handler answers in time.
  const std::chrono::nanoseconds longest =
      common_.healed ? std::min(handling.thinkMax, handling.thinkTimeout / 2) : handling.thinkMax;
  const auto most = static_cast<std::uint64_t>(longest.count());
  const std::chrono::nanoseconds wait = least + std::chrono::nanoseconds(drawBelow(process_.random(), most));
  thoughts_.at(thought).alarm->set(process_.clock().steadyNow() + wait, [this, thought] {
    mayDie();
    Random& random = process_.random();
    if (thoughts_.at(thought).frame.frame().type == kPoolType && othersMayRun()) {
      common_.reach.saw(Situation::poolStalled);
      (void)thoughts_.at(thought).frame.progress();
      thinkOn(thought, kStallGlance);
      return;
    }
    if (!common_.healed && drawChance(random, common_.swarm.handling.thinksOn)) {
      // Some handlers report progress; the others exceed their deadline.
      if (drawChance(random, 0.5)) {
        (void)thoughts_.at(thought).frame.progress();
      }
      thinkOn(thought);
      return;
    }
    const auto ended = thoughts_.extract(thought);
    const DeferredFrame& frame = ended.mapped().frame;
    if (!DeferredFrame(frame).commit(
            [this, read = frame.frame()](InboundTransaction& transaction) { return work(read, transaction); })) {
      common_.reach.saw(Situation::deferredTooLate);
    }
  });
}

// The pool stalls for these frames: if they had to wait for the pool, the world would never come to rest. The frames of
// applications wait for these.
bool Inbox::othersMayRun() {
  std::set<std::string> sessions;
  try {
    for (const InboxInfo& frame : OutboxReader(manager_).inbox({}, 1'000).frames) {
      const bool isHead =
          frame.session.empty() ||
          sessions.insert(frame.mailbox + ' ' + frame.source + ' ' + frame.origin + ' ' + frame.session).second;
      const bool isApplications = daemon_ && (!frame.mailbox.empty() || daemon_->takes(frame.type));
      if (isHead && !isApplications && frame.type != kPoolType && frame.state != InboxState::backoff) {
        return true;
      }
    }
  } catch (const Error&) {
    // The disk fails for a while.
  }
  return false;
}

void Inbox::writeLate(InboundTransaction& transaction) {
  for (const Effect& late : std::exchange(late_, {})) {
    common_.places.write(transaction, late);
  }
}

}  // namespace ackbox::simulation
