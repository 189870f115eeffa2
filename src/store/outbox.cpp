#include "store/outbox.hpp"

#include <utility>

namespace ackbox::store {
namespace {

// About 10 MB of names and tails; the next enqueue of a forgotten session reads its row again.
constexpr std::size_t kCachedSessionsMax = 100'000;

}  // namespace

Outbox::Outbox(Context& context, const Peers& peers)
    : context_(context), peers_(peers), rows_(context.connection.handle(), context.connection.prefix()) {}

EnqueueReceipt Outbox::enqueue(const Frame& frame) {
  const PeerRow* peer = peers_.find(frame.peer);
  if (auto refusal = refuseFrame(frame, peer != nullptr, context_.options)) {
    return *refusal;
  }
  Counters& counters = context_.counters;
  if (auto refusal = refuseFull(frame, counters.live(),
                                static_cast<std::uint64_t>(counters.value(Counter::pendingBytes)), context_.options)) {
    // A repetition is told the truth even while the queue is full.
    const auto sequence = frame.id.empty() ? std::nullopt : rows_.sequenceOf(frame.id);
    return sequence ? EnqueueReceipt{EnqueueStatus::duplicate, frame.id, *sequence, {}} : *refusal;
  }
  const WallTime now = context_.clock.wallNow();
  CachedTail& cached = tailOf(peer->key, frame.session);
  const SessionTail place{cached.tail.key, cached.tail.lastSequence + 1};
  EnqueueReceipt receipt{EnqueueStatus::stored, frame.id, place.lastSequence, {}};
  if (receipt.messageId.empty()) {
    receipt.messageId = uuids_.next(now, context_.random);
  }
  const auto key = rows_.insert(frame, receipt.messageId, place, now);
  if (!key) {
    receipt.status = EnqueueStatus::duplicate;
    receipt.sequence = rows_.sequenceOf(receipt.messageId).value_or(0);
    return receipt;
  }
  stored_.push_back({*key, place.key, MessageState::pending, {}});
  cached.tail = place;
  if (!std::exchange(cached.dirty, true)) {
    dirty_.push_back(&cached);
  }
  counters.enter(MessageState::pending, 1, static_cast<std::int64_t>(frame.data.size()));
  counters.add(Counter::enqueued, 1);
  return receipt;
}

std::vector<delivery::RowSeen> Outbox::takeStored() {
  return std::exchange(stored_, {});
}

void Outbox::forgetStoredAfter(std::size_t count) {
  stored_.resize(count);
}

void Outbox::flush() {
  for (CachedTail* cached : dirty_) {
    rows_.updateSession(cached->tail);
    cached->dirty = false;
  }
  dirty_.clear();
  if (cached_ > kCachedSessionsMax) {
    forgetSessions();
  }
}

void Outbox::forgetSessions() noexcept {
  dirty_.clear();
  lanes_.clear();
  cached_ = 0;
}

Outbox::CachedTail& Outbox::tailOf(delivery::PeerKey peer, std::string_view session) {
  Lane& lane = lanes_[peer];
  if (const auto found = lane.find(session); found != lane.end()) {
    return found->second;
  }
  const auto known = rows_.findSession(peer, session);
  const SessionTail tail = known ? *known : rows_.insertSession(peer, session);
  ++cached_;
  return lane.emplace(std::string(session), CachedTail{tail, false}).first->second;
}

}  // namespace ackbox::store
