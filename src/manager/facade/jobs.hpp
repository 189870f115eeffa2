#pragma once

#include <functional>
#include <memory>
#include <semaphore>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "ackbox/error.hpp"
#include "ackbox/frame.hpp"
#include "store/store.hpp"
#include "store/writer.hpp"

namespace ackbox::manager {

/// A job that lives on its caller's stack.
class CallerJob : public store::Job {
public:
  /// Returns when the job is done: in this thread if no other job waits for a commit, otherwise by the writer.
  void commit(store::Writer& writer) {
    if (writer.commitHere(*this)) {
      return;
    }
    isElsewhere_ = true;
    writer.submit(*this);
    while (!finished_.try_acquire()) {
      if (!writer.help()) {
        finished_.acquire();
        return;
      }
    }
  }

protected:
  /// The last action of `done`: after it, the caller may go on and destroy the job.
  void letGo() noexcept {
    if (isElsewhere_) {
      finished_.release();
    }
  }

private:
  // False if the job runs in its caller's thread: then its end needs no system call.
  bool isElsewhere_ = false;
  std::binary_semaphore finished_{0};
};

/// Adds the messages that `work` is about to enqueue, if it knows them: see `store::Job::announce`.
template <typename Work>
void announceOf(const Work& work, std::vector<const Frame*>& frames) {
  if constexpr (requires { work.announce(frames); }) {
    work.announce(frames);
  }
}

/// Keeps the result of `work`, which runs in the transaction.
template <typename Work>
class BlockingJob final : public CallerJob {
public:
  using Result = std::invoke_result_t<Work&, store::Store&>;

  BlockingJob(bool mustSync, Work work) : work_(std::move(work)) {
    durable = mustSync;
    awaited = true;
  }

  void run(store::Store& store) override { result_ = work_(store); }
  void announce(std::vector<const Frame*>& frames) const override { announceOf(work_, frames); }
  void done(const std::error_code& error) noexcept override {
    error_ = error;
    letGo();
  }

  /// The result, after the commit. Throws if there was no commit.
  [[nodiscard]] Result take() {
    if (error_) {
      const std::string_view effect = error_ == Errc::outcomeUnknown ? "it may be stored" : "nothing was stored";
      throw Error(static_cast<Errc>(error_.value()),
                  std::string(effect) + (why().empty() ? std::string() : " (" + why() + ")"));
    }
    return std::move(result_);
  }

private:
  Work work_;
  Result result_{};
  std::error_code error_;
};

/// Runs `work` in the writer's next group commit and returns its result. Throws `Error`.
template <typename Work>
auto commitBlocking(store::Writer& writer, bool mustSync, Work work) {
  if (writer.runsInThisThread()) {
    throw Error(Errc::wouldDeadlock, "nothing was stored");
  }
  BlockingJob<Work> job(mustSync, std::move(work));
  job.commit(writer);
  return job.take();
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
  void announce(std::vector<const Frame*>& frames) const override { announceOf(work_, frames); }
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
