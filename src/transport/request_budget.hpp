#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace ackbox::transport {

/// The bytes that all connections of one server hold together, for requests that are read or handled. It only counts: a
/// session that finds it overdrawn has another session closed.
///
/// Thread-safety: all members may be called from any thread.
class RequestBudget {
public:
  explicit RequestBudget(std::size_t bytesMax) : bytesMax_(bytesMax) {}

  /// A holder of `before` bytes now holds `after` bytes.
  void change(std::size_t before, std::size_t after) noexcept {
    // The sum is modulo 2^64 where it shrinks.
    bytes_ += after - before;
  }

  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool isOverdrawn() const noexcept { return bytes_ > bytesMax_; }

private:
  const std::size_t bytesMax_;
  std::atomic<std::size_t> bytes_ = 0;
};

/// Some bytes of a budget; the destructor gives them back.
class BudgetShare {
public:
  BudgetShare(std::shared_ptr<RequestBudget> budget, std::size_t bytes) : budget_(std::move(budget)), bytes_(bytes) {
    budget_->change(0, bytes_);
  }
  ~BudgetShare() { budget_->change(bytes_, 0); }
  BudgetShare(const BudgetShare&) = delete;
  BudgetShare& operator=(const BudgetShare&) = delete;

private:
  const std::shared_ptr<RequestBudget> budget_;
  const std::size_t bytes_;
};

}  // namespace ackbox::transport
