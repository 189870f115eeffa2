#pragma once

#include <libpq-fe.h>
#include <chrono>

#include <functional>
#include <memory>
#include <string>

#include "ackbox/clock.hpp"
#include "ackbox/options.hpp"
#include "store/postgres/connection_events.hpp"
#include "store/store.hpp"

namespace ackbox::store::postgres {

/// A store in the schema `ackbox` of a PostgreSQL database, which several hosts share. Transactions are READ COMMITTED.
///
/// If the connection is lost, the transaction under way fails; the next one connects again, as another owner: what the
/// store had in flight is anybody's by then.
///
/// Thread-safety: as `store::Store`.
class PostgresStore final : public store::Store {
public:
  /// Makes the schema if it is missing, registers this process as an owner, and releases the rows of dead owners.
  /// `location`: a connection string or URL of libpq. With a token, other processes get a sign of each commit of
  /// messages, see `Notifier`.
  PostgresStore(const std::string& location, const OutboxOptions& options, const std::string& token = {},
                std::shared_ptr<ConnectionEvents> events = nullptr);
  ~PostgresStore() override;

  void begin(bool durable, bool patient = true) override;
  void commit() override;
  void rollback() noexcept override;
  [[nodiscard]] bool inTransaction() const noexcept override;
  bool makeRoom() noexcept override { return false; }
  void savepoint() override;
  void releaseSavepoint() override;
  void rollbackToSavepoint() override;
  void guardTransaction(bool on) override;
  [[nodiscard]] bool transactionLost() const noexcept override;
  [[nodiscard]] Errc whyTransactionLost(const std::exception_ptr& thrown) noexcept override;

  [[nodiscard]] store::FailedFor failedFor() const noexcept override;
  [[nodiscard]] std::chrono::milliseconds lockWaitMost() const noexcept override;
  [[nodiscard]] SteadyTime steadyNow() const noexcept override;

  [[nodiscard]] store::Outbox& outbox() noexcept override;
  [[nodiscard]] store::Claims& claims() noexcept override;
  [[nodiscard]] store::Settles& settles() noexcept override;
  [[nodiscard]] store::DeadLetters& deadLetters() noexcept override;
  [[nodiscard]] store::Holds& holds() noexcept override;
  [[nodiscard]] store::Peers& peers() noexcept override;
  [[nodiscard]] store::Subscriptions& subscriptions() noexcept override;
  [[nodiscard]] store::PeerResets& peerResets() noexcept override;
  [[nodiscard]] store::InboundMarks& inboundMarks() noexcept override;
  [[nodiscard]] store::Inbox& inbox() noexcept override;
  [[nodiscard]] store::Discovery& discovery() noexcept override;
  [[nodiscard]] store::Owners& owners() noexcept override;

  [[nodiscard]] Fill fill() override;
  [[nodiscard]] Vitals vitals() override;
  std::optional<bool> addPeer(const PeerOptions& peer, std::string_view definition) override;
  PeerRemoval removePeer(std::string_view name, WaitingMessages waiting) override;
  RepairReport repair() override;
  void advanceOldest(std::size_t /*looks*/) override {}
  std::size_t vacuum(std::size_t /*pages*/) override { return 0; }
  bool tidy() override;

  [[nodiscard]] const std::string& origin() const noexcept override;
  [[nodiscard]] std::uint64_t epoch() const noexcept override;
  [[nodiscard]] std::int64_t owner() const noexcept override;
  [[nodiscard]] std::filesystem::path logFile() const override { return {}; }
  [[nodiscard]] const OpeningLook& openingLook() const noexcept override;
  [[nodiscard]] std::string whyLogNotBatched() const override { return {}; }
  [[nodiscard]] SyncHealth syncHealth() const noexcept override { return {}; }
  [[nodiscard]] bool isReplaced() const noexcept override;
  [[nodiscard]] std::filesystem::path ownersFile() const override { return {}; }
  [[nodiscard]] const LatencyWindow& latencies() const noexcept override;

  /// Why a power cut may lose what is acknowledged, as of the opening; empty: nothing is known against it.
  [[nodiscard]] const std::string& whyUnsafe() const noexcept;
  /// As of the opening: the agent of another process that has the database open; empty: all are of this one.
  [[nodiscard]] const std::string& otherAgent() const noexcept;
  /// For handlers; their statements are part of the transaction.
  [[nodiscard]] PGconn* handlersConnection() noexcept;
  /// Of the server's process; for tests that end it.
  [[nodiscard]] int serverProcess() const noexcept;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ackbox::store::postgres
