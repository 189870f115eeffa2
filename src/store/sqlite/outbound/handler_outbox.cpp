#include "store/sqlite/outbound/handler_outbox.hpp"

#include "ackbox/error.hpp"
#include "store/sqlite/components.hpp"

namespace ackbox::store::sqlite {
namespace {

constexpr std::size_t kScopesMax = 64;

}  // namespace

HandlerOutbox::HandlerOutbox(Components& parts)
    : parts_(parts),
      step_(parts.context.connection.handle(), "#counters", parts.context.connection.prefix()),
      isThere_(parts.context.prepare("SELECT 1 FROM #outbox WHERE id BETWEEN ?1 AND ?2 LIMIT 1")) {}

// A row is written at once: later it could be written inside a savepoint that began after its enqueue.
template <typename Work>
auto HandlerOutbox::inScope(const Work& work) {
  followUndo();
  kept_.reserve(kScopesMax);
  const std::int64_t before = parts_.counters.value(Counter::lastKey);
  step_.begin();
  parts_.forward([](WriteBack& part) { part.scopeBegun(); });
  try {
    auto receipt = work();
    parts_.gathered.flush();
    parts_.inFlight.flush();
    step_.release();
    const std::int64_t last = parts_.counters.value(Counter::lastKey);
    if (receipt.isNew() && kept_.size() < kScopesMax) {
      kept_.push_back({before + 1, last});
      return receipt;
    }
    parts_.backward([](WriteBack& part) { part.scopeReleased(); });
    if (receipt.isNew()) {
      kept_.back().last = last;
    }
    return receipt;
  } catch (...) {
    step_.undo();
    parts_.backward([](WriteBack& part) { part.scopeUndone(); });
    throw;
  }
}

EnqueueReceipt HandlerOutbox::enqueue(const Frame& frame) {
  return inScope([&] { return parts_.outbox.enqueue(frame); });
}

PublishReceipt HandlerOutbox::publish(const Frame& frame) {
  return inScope([&] { return parts_.outbox.publish(frame); });
}

std::size_t HandlerOutbox::stored() const noexcept {
  return parts_.outbox.stored();
}

std::vector<SupersededMessage> HandlerOutbox::takeSuperseded() {
  return parts_.outbox.takeSuperseded();
}

void HandlerOutbox::end() {
  followUndo();
  for (; !kept_.empty(); kept_.pop_back()) {
    parts_.backward([](WriteBack& part) { part.scopeReleased(); });
  }
}

bool HandlerOutbox::isThere(std::int64_t first, std::int64_t last) {
  Query query(isThere_, first, last);
  return query.next();
}

void HandlerOutbox::followUndo() {
  for (; !kept_.empty(); kept_.pop_back()) {
    const Kept& kept = kept_.back();
    if (isThere(kept.last, kept.last)) {
      return;
    }
    // A part of them: a row may have been superseded since.
    if (isThere(kept.first, kept.last)) {
      step_.endTransaction();
      throw Error(Errc::handlerEndedTransaction, "a savepoint was undone behind 64 enqueues of one call");
    }
    parts_.backward([](WriteBack& part) { part.scopeUndone(); });
  }
}

}  // namespace ackbox::store::sqlite
