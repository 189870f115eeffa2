#include "serve/api/service.hpp"

#include <exception>
#include <functional>
#include <string>
#include <utility>

#include "ackbox/error.hpp"
#include "serve/api/figures.hpp"
#include "serve/events/event_streams.hpp"

namespace ackbox::serve {
namespace {

// Reads are short, and SQLite's readers do not wait for each other.
constexpr std::size_t kWorkerThreads = 2;

std::shared_ptr<Clock> clockOf(const OutboxOptions& options) {
  return options.clock ? options.clock : systemClock();
}

}  // namespace

Service::Service(const boost::asio::any_io_executor& executor, OutboxManager manager, const OutboxOptions& options,
                 std::filesystem::path file, const Places& places, std::shared_ptr<EventStreams> events,
                 OwnFigures ownFigures)
    : events_(std::move(events)),
      audit_(options.log, clockOf(options)),
      workers_(kWorkerThreads, places.work),
      waits_(std::make_shared<MessageWaits>(executor, clockOf(options), places.waits)),
      bulkChanges_(std::make_shared<BulkChanges>(executor, clockOf(options))),
      manager_(std::move(manager)),
      changes_(manager_),
      reader_(manager_),
      runWatch_(std::make_shared<RunWatch>(executor, clockOf(options), manager_, options.log)),
      writeHealth_(std::move(file), clockOf(options)),
      ownFigures_(std::move(ownFigures)) {
  waits_->watch(manager_);
  ownFigures_.watch(manager_);
  events_->setFigures([this](std::function<void(std::string)> done) {
    workers_.run([this, done = std::move(done)] {
      std::string json;
      try {
        json = readFigures(*this);
      } catch (const std::exception&) {
        // A file that cannot be read has no figures; other operations report the problem.
      }
      done(std::move(json));
    });
  });
}

Service::~Service() {
  drain();
}

void Service::deliver() {
  manager_.start();
  runWatch_->start();
}

void Service::drain() {
  beginDraining();
  if (ended_.exchange(true)) {
    return;
  }
  // The stop has taken effect before `waits_->close()` returns, because that waits for the executor.
  runWatch_->stop();
  events_->close();
  waits_->close();
  bulkChanges_->close();
  workers_.join();
  manager_.stop();
}

}  // namespace ackbox::serve
