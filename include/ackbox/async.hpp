#pragma once

// The token-taking operations of `OutboxManager`, for callbacks, `use_awaitable`, `use_future` and the like. Separate
// from `outbox_manager.hpp` because Asio's headers add a second to the compilation of each translation unit.

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/system/error_code.hpp>
#include <utility>

#include "ackbox/outbox_manager.hpp"

namespace ackbox {

namespace detail {

using EnqueueCompletion = boost::asio::any_completion_handler<void(boost::system::error_code, EnqueueReceipt)>;
using RunCompletion = boost::asio::any_completion_handler<void(boost::system::error_code)>;

/// The type-erased bodies, compiled once.
void startEnqueue(OutboxManager& manager, Frame frame, WhenFull whenFull, EnqueueCompletion completion);
void startRun(OutboxManager& manager, const boost::asio::any_io_executor& executor, RunCompletion completion);

}  // namespace detail

template <typename CompletionToken>
auto OutboxManager::asyncEnqueue(Frame frame, CompletionToken&& token) {
  return asyncEnqueue(std::move(frame), WhenFull::refuse, std::forward<CompletionToken>(token));
}

template <typename CompletionToken>
auto OutboxManager::asyncEnqueue(Frame frame, WhenFull whenFull, CompletionToken&& token) {
  return boost::asio::async_initiate<CompletionToken, void(boost::system::error_code, EnqueueReceipt)>(
      [this, whenFull](auto handler, Frame toStore) {
        detail::startEnqueue(*this, std::move(toStore), whenFull, detail::EnqueueCompletion(std::move(handler)));
      },
      token, std::move(frame));
}

template <typename CompletionToken>
auto OutboxManager::asyncRun(const boost::asio::any_io_executor& executor, CompletionToken&& token) {
  return boost::asio::async_initiate<CompletionToken, void(boost::system::error_code)>(
      [this](auto handler, const boost::asio::any_io_executor& runOn) {
        detail::startRun(*this, runOn, detail::RunCompletion(std::move(handler)));
      },
      token, executor);
}

}  // namespace ackbox
