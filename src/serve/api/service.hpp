#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_operator.hpp"
#include "ackbox/outbox_reader.hpp"
#include "records/symptoms.hpp"
#include "serve/api/audit.hpp"
#include "serve/api/bulk_changes.hpp"
#include "serve/api/history.hpp"
#include "serve/api/message_waits.hpp"
#include "serve/api/own_figures.hpp"
#include "serve/api/run_watch.hpp"
#include "serve/api/workers.hpp"
#include "serve/api/write_health.hpp"
#include "serve/config/secret_watch.hpp"
#include "serve/http/places.hpp"
#include "serve/inbox/frame_waits.hpp"

namespace ackbox::serve {

class EventStreams;
class FrameStreams;

/// The state behind the operations: an open outbox, threads that may wait for its file, and state beyond a request.
///
/// Thread-safety: all members may be called from any thread, except where it is said.
class Service {
public:
  /// `executor` must be serial and be that of the connections; operations begin on it.
  Service(const boost::asio::any_io_executor& executor, OutboxManager manager, const OutboxOptions& options,
          const std::filesystem::path& file, const Places& places, std::shared_ptr<EventStreams> events,
          OwnFigures ownFigures);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// Begins the delivery, and restarts it until `drain` ends it. Throws as `OutboxManager::start`.
  void deliver();
  /// Ends all waits, and then the delivery (`OutboxManager::stop`). Idempotent.
  void drain();
  /// Makes the service report that it is not ready.
  void beginDraining() noexcept { draining_ = true; }
  [[nodiscard]] bool isDraining() const noexcept { return draining_; }

  /// Must be called before requests arrive.
  void setFrameStreams(std::shared_ptr<FrameStreams> streams) { frameStreams_ = std::move(streams); }
  /// Null if no frames are for streams.
  [[nodiscard]] const std::shared_ptr<FrameStreams>& frameStreams() const noexcept { return frameStreams_; }

  /// `read` is called on the executor. Must be called before requests arrive.
  void setFrameWaits(std::function<FrameWaits()> read) { readFrameWaits_ = std::move(read); }
  /// What frames in hand wait for. On the executor only.
  [[nodiscard]] FrameWaits frameWaits() const { return readFrameWaits_ ? readFrameWaits_() : FrameWaits(); }

  /// Must be called before requests arrive.
  void setSecretWatch(std::shared_ptr<const SecretWatch> watch) { secretWatch_ = std::move(watch); }
  [[nodiscard]] const SecretWatch& secretWatch() const noexcept { return *secretWatch_; }

  /// Must be called before requests arrive, if there are mailboxes.
  void setFetchers(std::shared_ptr<const Fetchers> fetchers) { fetchers_ = std::move(fetchers); }
  /// Null if no mailbox is fetched.
  [[nodiscard]] const Fetchers* fetchers() const noexcept { return fetchers_.get(); }

  /// Must be called before requests arrive.
  void setConfig(std::shared_ptr<const Config> config) { config_ = std::move(config); }
  [[nodiscard]] const Config& config() const noexcept { return *config_; }

  /// What is wrong with this process and its surroundings, which the file does not show; the worst first. May read from
  /// the disk.
  [[nodiscard]] std::vector<records::Symptom> troubles();

  [[nodiscard]] const std::string& agent() const noexcept { return agent_; }
  [[nodiscard]] const std::string& file() const noexcept { return file_; }
  /// Whether the outbox is in a database, and not in a file.
  [[nodiscard]] bool isOfDatabase() const noexcept { return isOfDatabase_; }
  [[nodiscard]] OutboxManager& manager() noexcept { return manager_; }
  [[nodiscard]] OutboxOperator& changes() noexcept { return changes_; }
  [[nodiscard]] const OutboxReader& reader() const noexcept { return reader_; }
  [[nodiscard]] Workers& workers() noexcept { return workers_; }
  [[nodiscard]] MessageWaits& waits() noexcept { return *waits_; }
  [[nodiscard]] BulkChanges& bulkChanges() noexcept { return *bulkChanges_; }
  [[nodiscard]] EventStreams& events() noexcept { return *events_; }
  [[nodiscard]] WriteHealth& writeHealth() noexcept { return writeHealth_; }
  [[nodiscard]] RunWatch& runWatch() noexcept { return *runWatch_; }
  [[nodiscard]] const History& history() const noexcept { return *history_; }
  [[nodiscard]] const OwnFigures& ownFigures() const noexcept { return ownFigures_; }
  [[nodiscard]] Audit& audit() noexcept { return audit_; }

private:
  void readStats(History::Done done);

  const std::string agent_;
  const std::string file_;
  const bool isOfDatabase_;
  std::atomic<bool> draining_ = false;
  std::atomic<bool> ended_ = false;
  std::shared_ptr<FrameStreams> frameStreams_;
  std::function<FrameWaits()> readFrameWaits_;
  std::shared_ptr<const SecretWatch> secretWatch_;
  std::shared_ptr<const Fetchers> fetchers_;
  std::shared_ptr<const Config> config_;
  const std::shared_ptr<EventStreams> events_;
  Audit audit_;
  // Before the manager: the manager's destructor makes the callbacks of commits that are still pending.
  Workers workers_;
  const std::shared_ptr<MessageWaits> waits_;
  const std::shared_ptr<BulkChanges> bulkChanges_;
  OutboxManager manager_;
  OutboxOperator changes_;
  OutboxReader reader_;
  const std::shared_ptr<RunWatch> runWatch_;
  const std::shared_ptr<History> history_;
  WriteHealth writeHealth_;
  OwnFigures ownFigures_;
};

}  // namespace ackbox::serve
