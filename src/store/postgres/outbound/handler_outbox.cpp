#include "store/postgres/outbound/handler_outbox.hpp"

namespace ackbox::store::postgres {
namespace {

const std::string& lastOf(const EnqueueReceipt& receipt) {
  return receipt.messageId;
}

const std::string& lastOf(const PublishReceipt& receipt) {
  return receipt.messages.back().messageId;
}

}  // namespace

// All that was written before is in the database: the store flushes its memory where a handler begins.
template <typename Work>
auto HandlerOutbox::inScope(const Work& work) {
  Connection& connection = context_.connection;
  connection.planByIndex();
  followUndo();
  if (scopes_.isLent()) {
    // The handler may have enqueued by SQL to the same sessions.
    rows_.forget();
  }
  for (Memory* const memory : memories_) {
    memory->scopeBegun();
  }
  try {
    auto receipt = work();
    for (Memory* const memory : memories_) {
      memory->flush();
    }
    connection.planFreely();
    connection.runPosted();
    if (receipt.isNew()) {
      kept_.push_back(lastOf(receipt));
      return receipt;
    }
    for (Memory* const memory : memories_) {
      memory->scopeReleased();
    }
    return receipt;
  } catch (...) {
    connection.forgetPosted();
    for (Memory* const memory : memories_) {
      memory->scopeUndone();
    }
    if (connection.inTransaction() && !connection.hasFailed()) {
      // Memory is short: a part of the enqueue may be written.
      connection.execute("ROLLBACK");
    }
    throw;
  }
}

EnqueueReceipt HandlerOutbox::enqueue(const Frame& frame) {
  return inScope([&] { return outbox_.enqueue(frame); });
}

PublishReceipt HandlerOutbox::publish(const Frame& frame) {
  return inScope([&] { return outbox_.publish(frame); });
}

void HandlerOutbox::kept() {
  followUndo();
  closeScopes();
}

// The scope around them takes their changes back.
void HandlerOutbox::undone() noexcept {
  closeScopes();
}

void HandlerOutbox::closeScopes() noexcept {
  for (; !kept_.empty(); kept_.pop_back()) {
    for (Memory* const memory : memories_) {
      memory->scopeReleased();
    }
  }
}

// An earlier one of them may have been superseded; then a later one is there.
void HandlerOutbox::followUndo() {
  for (; !kept_.empty(); kept_.pop_back()) {
    if (!context_.connection.run("SELECT 1 FROM #outbox WHERE message_id=$1", kept_.back()).empty()) {
      return;
    }
    for (Memory* const memory : memories_) {
      memory->scopeUndone();
    }
  }
}

}  // namespace ackbox::store::postgres
