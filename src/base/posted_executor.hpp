#pragma once

#include <boost/asio/execution.hpp>
#include <boost/asio/execution_context.hpp>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace ackbox {

/// The work that a `PostedExecutor` posts. By this type a harness distinguishes the work of a run, which ends with its
/// process, from the store's transactions.
struct PostedWork {
  std::function<void()> work;
  void operator()() const { work(); }
};

/// `OutboxOptions::storeExecutor` as an executor of Asio's, for a run and its alarms. It runs nothing inside a call,
/// and keeps the order if the function does.
///
/// Thread-safety: that of the function. Lifetime: any copy keeps the shared state alive.
class PostedExecutor {
public:
  using Post = std::function<void(std::function<void()>)>;

  explicit PostedExecutor(Post post) : shared_(std::make_shared<Shared>(std::move(post))) {}

  template <typename Function>
  void execute(Function&& function) const {
    // Asio's functions can only be moved, so the copyable function holds them by pointer.
    auto held = std::make_shared<std::decay_t<Function>>(std::forward<Function>(function));
    shared_->post(PostedWork{[held] { std::move (*held)(); }});
  }

  [[nodiscard]] boost::asio::execution_context& query(boost::asio::execution::context_t) const noexcept {
    return shared_->context;
  }
  static constexpr boost::asio::execution::blocking_t query(boost::asio::execution::blocking_t) noexcept {
    return boost::asio::execution::blocking.never;
  }
  bool operator==(const PostedExecutor& other) const noexcept = default;

private:
  struct Shared {
    explicit Shared(Post given) : post(std::move(given)) {}
    const Post post;
    // For the services that Asio keeps, such as timers.
    boost::asio::execution_context context;
  };

  std::shared_ptr<Shared> shared_;
};

}  // namespace ackbox
