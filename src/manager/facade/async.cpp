#include "ackbox/async.hpp"

#include <boost/asio/any_completion_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/system_executor.hpp>
#include <memory>
#include <utility>

namespace ackbox::detail {
namespace {

// Completes on the handler's own executor, which counts the operation as outstanding work until then.
template <typename Completion>
struct Pending {
  explicit Pending(Completion handler)
      : executor(boost::asio::get_associated_executor(
            handler, boost::asio::any_completion_executor(boost::asio::system_executor()))),
        work(executor),
        completion(std::move(handler)) {}

  boost::asio::any_completion_executor executor;
  boost::asio::executor_work_guard<boost::asio::any_completion_executor> work;
  Completion completion;
};

// As `post`, which in Boost 1.81 does not take this executor: its never-blocking property can be preferred only.
template <typename Function>
void later(const boost::asio::any_completion_executor& executor, Function&& function) {
  boost::asio::prefer(executor, boost::asio::execution::blocking.never).execute(std::forward<Function>(function));
}

// Completes `pending` with `arguments` from a foreign thread. The work guard is released last, in this thread: until
// then the executor's context has work, so it still exists while this thread uses it.
template <typename Completion, typename... Arguments>
void complete(std::shared_ptr<Pending<Completion>>&& pending, Arguments... arguments) {
  std::shared_ptr<Pending<Completion>> own = std::move(pending);
  const auto work = std::move(own->work);
  const auto executor = own->executor;
  later(executor, [completed = std::move(own), ... given = std::move(arguments)]() mutable {
    std::move(completed->completion)(std::move(given)...);
  });
}

}  // namespace

void startEnqueue(OutboxManager& manager, Frame frame, WhenFull whenFull, EnqueueCompletion completion) {
  manager.enqueueThen(std::move(frame), whenFull,
                      [pending = std::make_shared<Pending<EnqueueCompletion>>(std::move(completion))](
                          std::error_code error, EnqueueReceipt receipt) mutable {
                        complete(std::move(pending), boost::system::error_code(error), std::move(receipt));
                      });
}

void startRun(OutboxManager& manager, const boost::asio::any_io_executor& executor, RunCompletion completion) {
  manager.runThen(
      executor, [pending = std::make_shared<Pending<RunCompletion>>(std::move(completion))](
                    std::error_code error) mutable { complete(std::move(pending), boost::system::error_code(error)); });
}

}  // namespace ackbox::detail
