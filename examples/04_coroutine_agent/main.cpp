// An agent as C++20 coroutines on one io_context and one thread: `asyncRun` delivers there, `co_await asyncEnqueue`
// resumes there once the frame is on disk, and the callbacks come there too, so that the counter needs no lock.

#include <ackbox/async.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <iostream>
#include <string>
#include <utility>

namespace {

using namespace ackbox;
namespace asio = boost::asio;

constexpr int kReadings = 3;

/// Stores each reading before it takes the next one.
asio::awaitable<void> report(OutboxManager& manager) {
  for (int reading = 1; reading <= kReadings; ++reading) {
    // Named, because GCC 12 destroys the wrong object for a braced argument inside a co_await expression.
    Frame frame = {.session = "sensor", .type = "reading.taken", .data = std::to_string(reading * 10)};
    const EnqueueReceipt receipt = co_await manager.asyncEnqueue(std::move(frame), asio::use_awaitable);
    std::cout << "stored " << receipt.sequence << std::endl;
  }
}

/// Delivers until `stop`.
asio::awaitable<void> deliver(OutboxManager& manager) {
  co_await manager.asyncRun(co_await asio::this_coro::executor, asio::use_awaitable);
}

void rethrow(const std::exception_ptr& exception) {
  if (exception) {
    std::rethrow_exception(exception);
  }
}

}  // namespace

int main() {
  asio::io_context context;  // Outlives the manager, whose store has a thread of its own.
  auto manager = OutboxManager::open("sensor.db");
  std::string heard;
  // A blocking send function has a thread of its own; each frame's ACK comes after it.
  manager.setSendFunction([&heard](const std::string&, const OutboundFrame& frame) {
    heard += frame.data + " ";
    return SendFunctionResult{.success = true};
  });

  int acked = 0;
  const Subscription subscription = manager.onAcked([&](const AckedEvent&) {
    if (++acked == kReadings) {
      manager.stop();  // In a callback it does not wait: `deliver` goes on when the run has ended.
    }
  });
  asio::co_spawn(context, deliver(manager), rethrow);
  asio::co_spawn(context, report(manager), rethrow);
  context.run();

  std::cout << "heard " << heard << std::endl;
  return acked == kReadings && heard == "10 20 30 " ? 0 : 1;
}
