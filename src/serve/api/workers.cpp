#include "serve/api/workers.hpp"

#include <boost/asio/post.hpp>
#include <utility>

#include "protocol/wire.hpp"
#include "serve/http/answer.hpp"
#include "serve/http/places.hpp"

namespace ackbox::serve {

Workers::Workers(std::size_t threads, std::size_t waitingMax) : waitingMax_(waitingMax), threads_(threads) {}

Workers::~Workers() {
  join();
}

void Workers::answer(const std::string& sharer, std::function<Response()> work, Respond respond) {
  bool isTaken = false;
  {
    const MutexLock lock(mutex_);
    isTaken = mayTakePlace(waitingMax_, waiting_, sharer, turns_.of(sharer));
    if (isTaken) {
      ++waiting_;
      turns_.push(sharer, {[work = std::move(work), respond = std::move(respond)] {
                             Response response;
                             try {
                               response = work();
                             } catch (...) {
                               response = exceptionAnswer();
                             }
                             respond(std::move(response));
                           },
                           true});
    }
  }
  if (!isTaken) {
    // NOLINTNEXTLINE(bugprone-use-after-move): it was moved only if it was taken.
    respond(protocol::unavailable(false, "Too many requests wait for the outbox, or too many with this token."));
    return;
  }
  post();
}

void Workers::run(const std::string& sharer, std::function<void()> work) {
  {
    const MutexLock lock(mutex_);
    turns_.push(sharer, {std::move(work)});
  }
  post();
}

void Workers::join() {
  threads_.join();
}

// One call of `runNext` for each task: which task it is, the turns decide when a thread is free.
void Workers::post() {
  boost::asio::post(threads_, [this] { runNext(); });
}

void Workers::runNext() {
  Task task;
  {
    const MutexLock lock(mutex_);
    task = turns_.pop();
    waiting_ -= task.isCounted ? 1U : 0U;
  }
  task.work();
}

}  // namespace ackbox::serve
