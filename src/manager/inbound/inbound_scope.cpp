#include "manager/inbound/inbound_scope.hpp"

#include <exception>
#include <utility>

#include "ackbox/error.hpp"
#include "base/exception_report.hpp"
#include "manager/facade/enqueue.hpp"
#include "protocol/result_rules.hpp"
#include "protocol/statuses.hpp"
#include "store/sqlite/open.hpp"

namespace ackbox::manager {
namespace {

class Transaction final : public StoreTransaction {
public:
  Transaction(store::Store& store, const ScopeContext& context) : store_(store), context_(context) {}

  [[nodiscard]] store::Store& store() noexcept override { return store_; }
  [[nodiscard]] SQLite::Database& database() override { return store::sqlite::databaseOf(store_); }

  EnqueueReceipt enqueue(const Frame& frame) override {
    return context_.enqueues.aroundEnqueue(frame, [this](const Frame& one) {
      EnqueueReceipt refusal = checkFrame(one, context_.outbox);
      return refusal.accepted() ? store_.outbox().enqueue(one) : refusal;
    });
  }

  PublishReceipt publish(const Frame& frame) override {
    return context_.enqueues.aroundPublish(frame, [this](const Frame& one) {
      PublishReceipt refusal = checkPublished(one, context_.outbox);
      return refusal.accepted() ? store_.outbox().publish(one) : refusal;
    });
  }

private:
  store::Store& store_;
  const ScopeContext& context_;
};

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
    // A failure of the store, not of the handler.
    throw Error(failure, "handling a frame of type " + frame.type);
  }
  const auto failed = [&](std::string text) {
    answer = handlerFailed(context.inbound, frame, text.c_str());
    if (what != nullptr) {
      *what = std::move(text);
    }
  };
  if (thrown) {
    failed(whatOf(thrown));
  }
  store.guardTransaction(false);
  if (store.transactionLost()) {
    throw Error(Errc::handlerEndedTransaction, "handling a frame of type " + frame.type);
  }
  if (answer.outcome == Outcome::ack) {
    try {
      store.releaseSavepoint();
      return answer;
    } catch (const store::ScopeRefused& refused) {
      failed(refused.what());
    }
  }
  store.rollbackToSavepoint();
  return answer;
}

HandlerResult handlerFailed(const InboundOptions& options, const InboundFrame& frame, const char* what) {
  try {
    if (options.onHandlerError) {
      options.onHandlerError(frame, what);
    }
  } catch (...) {
    // Documented: exceptions of a listener are ignored.
  }
  HandlerResult answer = HandlerResult::notNow("the handler failed");
  answer.code = "handler-error";
  return answer;
}

FrameResult toFrameResult(HandlerResult answer, std::string_view* leftOut) {
  FrameResult result;
  result.outcome = answer.outcome;
  result.code = std::move(answer.code);
  result.detail = std::move(answer.detail);
  const bool isRefusal = answer.outcome == Outcome::nack || answer.outcome == Outcome::term;
  if (isRefusal && protocol::isReceiversOwn(result.code)) {
    // The sender would hold its peer, or suspect a restored file, because of one handler's answer for one frame.
    result.detail = result.detail.empty() ? result.code : result.code + ": " + result.detail;
    result.code = answer.outcome == Outcome::term ? "rejected" : "not-now";
  }
  result.retryAfter = answer.retryAfter;
  if (answer.outcome != Outcome::ack) {
    return result;
  }
  const std::string_view problem = protocol::resultProblem(answer.result);
  if (problem.empty()) {
    result.result = std::move(answer.result);
  } else if (result.detail.empty()) {
    result.detail = "the handler's result was left out, as it " + std::string(problem);
  }
  if (leftOut != nullptr) {
    *leftOut = problem;
  }
  return result;
}

void reportLeftOut(Log& log, const InboundFrame& frame, std::string_view leftOut) noexcept {
  try {
    log.writeUnasked(LogLevel::warning, "result-left-out", frame.type,
                     "a received frame was acknowledged without its handler's result, which " + std::string(leftOut) +
                         ": correct the handler's result",
                     {{"message", frame.id}, {"source", frame.source}, {"type", frame.type}, {"cause", leftOut}});
  } catch (...) {
    // Memory is short: the sender is still informed.
  }
}

void reportCannotDefer(Log& log, const InboundFrame& frame) noexcept {
  log.writeUnasked(LogLevel::warning, "cannot-defer", frame.type,
                   "the handler deferred a frame, and the receiver has no handler for deferred frames; its sender "
                   "repeats it until it is a dead letter there: set DeferredOptions::handler, or answer otherwise",
                   {{"message", frame.id}, {"source", frame.source}, {"type", frame.type}});
}

}  // namespace ackbox::manager
