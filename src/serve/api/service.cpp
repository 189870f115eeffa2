#include "serve/api/service.hpp"

#include <exception>
#include <functional>
#include <string>
#include <utility>

#include "ackbox/error.hpp"
#include "base/timestamp.hpp"
#include "location/location.hpp"
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
                 const std::filesystem::path& file, const Places& places, std::shared_ptr<EventStreams> events,
                 OwnFigures ownFigures)
    : agent_(options.agent),
      file_(location::shown(file)),
      isOfDatabase_(location::isUrl(file)),
      events_(std::move(events)),
      audit_(options.log, clockOf(options)),
      workers_(kWorkerThreads, places.work),
      waits_(std::make_shared<MessageWaits>(executor, clockOf(options), places.waits)),
      bulkChanges_(std::make_shared<BulkChanges>(executor, clockOf(options))),
      manager_(std::move(manager)),
      changes_(manager_),
      reader_(manager_),
      runWatch_(std::make_shared<RunWatch>(executor, clockOf(options), manager_, options.log)),
      history_(std::make_shared<History>(executor, clockOf(options),
                                         [this](History::Done done) { readStats(std::move(done)); })),
      writeHealth_(isOfDatabase_ ? std::filesystem::path() : file, clockOf(options)),
      ownFigures_(std::move(ownFigures)) {
  waits_->watch(manager_);
  ownFigures_.watch(manager_);
  events_->setFigures([this](std::function<void(std::string)> done) {
    workers_.run({}, [this, done = std::move(done)] {
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

std::vector<records::Symptom> Service::troubles() {
  std::vector<records::Symptom> found;
  if (const std::string trouble = manager_.fileTrouble(); !trouble.empty()) {
    found.push_back({"messages", records::Weight::problem, "messages are not delivered: " + trouble, {}});
  }
  if (std::string problem = writeHealth_.problem(); !problem.empty()) {
    found.push_back({"disk", records::Weight::problem, std::move(problem),
                     "nothing can be enqueued or settled until then: free some space, or correct the permissions"});
  }
  const std::vector<SecretProblem> secrets = secretWatch_->problems();
  if (!secrets.empty()) {
    const SecretProblem& first = secrets.front();
    const std::string others = secrets.size() > 1 ? " (and " + std::to_string(secrets.size() - 1) + " more)" : "";
    found.push_back({"secrets", records::Weight::warning,
                     "the secrets of " + first.name + " in " + first.use + others + " cannot be used since " +
                         formatTimestamp(first.since) + ": " + first.cause,
                     "correct the cause: the earlier secrets stay valid for 10 minutes after they were last read"});
  }
  if (std::string problem = fetchers_ ? fetchers_->problem() : std::string(); !problem.empty()) {
    found.push_back({"mailbox", records::Weight::warning, std::move(problem),
                     "check the hub, and url, token_file and agent of inbox.fetch; frames wait at the hub"});
  }
  return found;
}

void Service::readStats(History::Done done) {
  workers_.run({}, [this, done = std::move(done)] {
    try {
      done(reader_.getStats());
    } catch (const std::exception&) {
      // The minute is missing; other operations report the problem.
    }
  });
}

void Service::deliver() {
  manager_.start();
  runWatch_->start();
  history_->start();
}

void Service::drain() {
  beginDraining();
  if (ended_.exchange(true)) {
    return;
  }
  // The stop has taken effect before `waits_->close()` returns, because that waits for the executor.
  runWatch_->stop();
  history_->stop();
  events_->close();
  waits_->close();
  bulkChanges_->close();
  workers_.join();
  manager_.stop();
}

}  // namespace ackbox::serve
