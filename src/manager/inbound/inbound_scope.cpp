#include "manager/inbound/inbound_scope.hpp"

#include <exception>
#include <utility>

#include "ackbox/error.hpp"
#include "manager/facade/enqueue.hpp"
#include "protocol/statuses.hpp"
#include "store/sqlite/open.hpp"

namespace ackbox::manager {
namespace {

class Transaction final : public InboundTransaction {
public:
  Transaction(store::Store& store, const ScopeContext& context) : store_(store), context_(context) {}

  [[nodiscard]] SQLite::Database& database() override { return store::sqlite::databaseOf(store_); }

  EnqueueReceipt enqueue(const Frame& frame) override {
    return context_.enqueues.aroundEnqueue(frame, [this](const Frame& one) {
      EnqueueReceipt refusal = checkFrame(one, context_.outbox);
      return refusal.accepted() ? store_.outbox().enqueue(one) : refusal;
    });
  }

private:
  store::Store& store_;
  const ScopeContext& context_;
};

std::string textOf(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception of an unknown type";
  }
}

}  // namespace

HandlerResult callInScope(store::Store& store, const ScopeContext& context, const InboundFrame& frame,
                          const std::function<HandlerResult(InboundTransaction&)>& effects, std::string* what) {
  store.savepoint();
  Transaction transaction(store, context);
  store.guardTransaction(true);
  HandlerResult answer;
  std::exception_ptr thrown;
  try {
    answer = effects(transaction);
  } catch (...) {
    thrown = std::current_exception();
  }
  const Errc failure = store.transactionLost() ? store.whyTransactionLost(thrown) : Errc::handlerEndedTransaction;
  if (failure != Errc::handlerEndedTransaction) {
    // The store's, not the handler's.
    throw Error(failure, "handling a frame of type " + frame.type);
  }
  if (thrown) {
    std::string text = textOf(thrown);
    answer = handlerFailed(context.inbound, frame, text.c_str());
    if (what != nullptr) {
      *what = std::move(text);
    }
  }
  store.guardTransaction(false);
  if (store.transactionLost()) {
    throw Error(Errc::handlerEndedTransaction, "handling a frame of type " + frame.type);
  }
  if (answer.outcome == Outcome::ack) {
    store.releaseSavepoint();
  } else {
    store.rollbackToSavepoint();
  }
  return answer;
}

HandlerResult handlerFailed(const InboundOptions& options, const InboundFrame& frame, const char* what) {
  try {
    if (options.onHandlerError) {
      options.onHandlerError(frame, what);
    }
  } catch (...) {
    // Documented: a listener harms nobody.
  }
  HandlerResult answer = HandlerResult::notNow("the handler failed");
  answer.code = "handler-error";
  return answer;
}

FrameResult toFrameResult(HandlerResult answer, const InboundOptions& options) {
  FrameResult result;
  result.outcome = answer.outcome;
  result.code = std::move(answer.code);
  result.detail = std::move(answer.detail);
  const bool isRefusal = answer.outcome == Outcome::nack || answer.outcome == Outcome::term;
  if (isRefusal && protocol::isReceiversOwn(result.code)) {
    // The sender would hold its peer, or look for a restored file, for what one handler thinks of one frame.
    result.detail = result.detail.empty() ? result.code : result.code + ": " + result.detail;
    result.code = answer.outcome == Outcome::term ? "rejected" : "not-now";
  }
  result.retryAfter = answer.retryAfter;
  if (answer.outcome == Outcome::ack && protocol::isValidJson(answer.result, options.depthMax)) {
    result.result = std::move(answer.result);
  }
  return result;
}

}  // namespace ackbox::manager
