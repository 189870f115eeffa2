#include "serve/api/service.hpp"

#include <utility>

namespace ackbox::serve {
namespace {

// Reads are short, and SQLite's readers do not wait for each other.
constexpr std::size_t kWorkerThreads = 2;

std::shared_ptr<Clock> clockOf(const OutboxOptions& options) {
  return options.clock ? options.clock : systemClock();
}

}  // namespace

Service::Service(const boost::asio::any_io_executor& executor, OutboxManager manager, const OutboxOptions& options,
                 std::shared_ptr<const SpanCounts> spanCounts)
    : spanCounts_(std::move(spanCounts)),
      audit_(options.log, clockOf(options)),
      workers_(kWorkerThreads),
      waits_(std::make_shared<MessageWaits>(executor, clockOf(options))),
      bulkChanges_(std::make_shared<BulkChanges>(executor, clockOf(options))),
      manager_(std::move(manager)),
      changes_(manager_),
      reader_(manager_) {
  waits_->watch(manager_);
}

Service::~Service() {
  drain();
}

void Service::drain() {
  if (draining_.exchange(true)) {
    return;
  }
  waits_->close();
  bulkChanges_->close();
  workers_.join();
  manager_.stop();
}

}  // namespace ackbox::serve
