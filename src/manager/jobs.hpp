#pragma once

#include <functional>
#include <memory>
#include <semaphore>
#include <system_error>
#include <type_traits>
#include <utility>

#include "ackbox/error.hpp"
#include "store/store.hpp"
#include "store/writer.hpp"

namespace ackbox::manager {

/// A job that lives on its caller's stack: `wait` blocks until its transaction has committed, and throws if it cannot.
template <typename Work>
class BlockingJob final : public store::Job {
public:
  using Result = std::invoke_result_t<Work&, store::Store&>;

  BlockingJob(bool mustSync, Work work) : work_(std::move(work)) {
    durable = mustSync;
    awaited = true;
  }

  void run(store::Store& store) override { result_ = work_(store); }
  void done(const std::error_code& error) noexcept override {
    error_ = error;
    if (isElsewhere_) {
      finished_.release();
    }
  }

  /// Another thread may do it from now on.
  void goElsewhere() noexcept { isElsewhere_ = true; }

  /// `help()`: does a part of the writer's work if it is the caller's to do.
  template <typename Help>
  [[nodiscard]] Result wait(Help&& help) {
    while (isElsewhere_ && !finished_.try_acquire()) {
      if (!help()) {
        finished_.acquire();
        break;
      }
    }
    if (error_) {
      throw Error(static_cast<Errc>(error_.value()), "nothing was stored");
    }
    return std::move(result_);
  }

private:
  Work work_;
  Result result_{};
  std::error_code error_;
  // Done in its own thread, it needs no system call to say so.
  bool isElsewhere_ = false;
  std::binary_semaphore finished_{0};
};

/// Runs `work` in the writer's next group commit and returns its result. Throws `Error`.
template <typename Work>
auto commitBlocking(store::Writer& writer, bool mustSync, Work work) {
  if (writer.runsInThisThread()) {
    throw Error(Errc::wouldDeadlock, "nothing was stored");
  }
  BlockingJob<Work> job(mustSync, std::move(work));
  if (!writer.commitHere(job)) {
    job.goElsewhere();
    writer.submit(job);
  }
  return job.wait([&writer] { return writer.help(); });
}

/// A job that owns itself: `work` runs in the transaction, `finished(error, result)` after it, on the writer's thread.
template <typename Work, typename Finished>
class DetachedJob final : public store::Job {
public:
  using Result = std::invoke_result_t<Work&, store::Store&>;

  DetachedJob(bool mustSync, Work work, Finished finished) : work_(std::move(work)), finished_(std::move(finished)) {
    durable = mustSync;
  }

  void run(store::Store& store) override { result_ = work_(store); }
  void done(const std::error_code& error) noexcept override {
    const std::unique_ptr<DetachedJob> self(this);
    finished_(error, std::move(result_));
  }

private:
  Work work_;
  Finished finished_;
  Result result_{};
};

template <typename Work, typename Finished>
void commitDetached(store::Writer& writer, bool mustSync, Work work, Finished finished) {
  auto job = std::make_unique<DetachedJob<Work, Finished>>(mustSync, std::move(work), std::move(finished));
  writer.submit(*job.release());
}

}  // namespace ackbox::manager
