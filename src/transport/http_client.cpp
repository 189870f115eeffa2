#include "transport/http_client.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <utility>

#include "transport/connection_budget.hpp"
#include "transport/connection_pool.hpp"
#include "transport/descriptors.hpp"

namespace ackbox::transport {

namespace asio = boost::asio;

namespace {

// An outbox gives a strand, or a context that one thread runs. Neither needs another strand, which would cost every
// completion a hop and an allocation.
asio::any_io_executor strandOn(const asio::any_io_executor& executor) {
  const bool isSerial = executor.target<asio::strand<asio::any_io_executor>>() != nullptr ||
                        executor.target<asio::io_context::executor_type>() != nullptr;
  return isSerial ? executor : asio::any_io_executor(asio::make_strand(executor));
}

}  // namespace

HttpClient::HttpClient(const asio::any_io_executor& executor, std::shared_ptr<const HttpSenderOptions> options)
    : strand_(strandOn(executor)),
      options_(std::move(options)),
      pool_(std::make_shared<ConnectionPool>(strand_, options_->clock, options_->idleTimeout, options_->connectionAge)),
      budget_(std::make_shared<ConnectionBudget>(strand_, options_->clock,
                                                 connectionsWithinLimit(options_->connectionsMax),
                                                 [pool = pool_] { return pool->closeOldest(); })) {}

void HttpClient::asyncPost(HttpPost post, HttpHandler handler) {
  asio::dispatch(strand_, [self = shared_from_this(), post = std::move(post), handler = std::move(handler)]() mutable {
    self->start(std::move(post), std::move(handler));
  });
}

void HttpClient::start(HttpPost post, HttpHandler handler) {
  if (closed_) {
    HttpAnswer answer;
    answer.end = HttpEnd::cancelled;
    answer.error = "the sender was stopped";
    asio::post(strand_,
               [handler = std::move(handler), answer = std::move(answer)]() mutable { handler(std::move(answer)); });
    return;
  }
  // The callback must find the exchange, which is known only after it was made. The pointer is weak, so that destroying
  // a context with exchanges under way leaves no cycle.
  const auto place = std::make_shared<std::weak_ptr<HttpExchange>>();
  const std::shared_ptr<HttpExchange> exchange =
      makeHttpExchange(strand_, options_, pool_, budget_, std::move(post),
                       [weak = weak_from_this(), place, handler = std::move(handler)](HttpAnswer answer) {
                         if (const auto self = weak.lock()) {
                           self->exchanges_.erase(place->lock());
                         }
                         handler(std::move(answer));
                       });
  *place = exchange;
  exchanges_.insert(exchange);
  exchange->start();
}

std::size_t HttpClient::connections() const noexcept {
  return budget_->used();
}

std::size_t HttpClient::connectionsMax() const noexcept {
  return budget_->most();
}

void HttpClient::post(std::function<void()> task) {
  asio::post(strand_, std::move(task));
}

void HttpClient::close() {
  asio::post(strand_, [self = shared_from_this()] {
    self->closed_ = true;
    self->pool_->close();
    self->budget_->close();
    const auto ending = std::exchange(self->exchanges_, {});
    for (const std::shared_ptr<HttpExchange>& exchange : ending) {
      exchange->cancel();
    }
  });
}

}  // namespace ackbox::transport
