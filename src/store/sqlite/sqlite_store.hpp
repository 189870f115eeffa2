#pragma once

#include <filesystem>
#include <memory>

#include "ackbox/file_info.hpp"
#include "ackbox/file_repair.hpp"
#include "ackbox/options.hpp"
#include "store/sqlite/peers/liveness.hpp"
#include "store/store.hpp"

namespace SQLite {
class Database;
}

namespace ackbox::store::sqlite {

/// The options of an opening, including those beyond `OutboxOptions`.
struct StoreOptions {
  std::filesystem::path file;
  OutboxOptions outbox;
  /// How owners prove that they live; null: kernel locks in the sidecar file `<file>-ackbox-owners`, followed by
  /// `-<tablePrefix>` if the prefix is not the default.
  std::shared_ptr<Liveness> liveness = {};
};

/// A store in the tables of one SQLite file. A commit checkpoints when the log has grown enough.
///
/// Thread-safety: as `store::Store`.
class SqliteStore final : public store::Store {
public:
  /// Creates the tables if there are none, registers this process as an owner, and releases the rows of dead owners.
  explicit SqliteStore(const StoreOptions& options);
  ~SqliteStore() override;

  void begin(bool durable, bool patient = true) override;
  void commit() override;
  void rollback() noexcept override;
  [[nodiscard]] bool inTransaction() const noexcept override;
  bool makeRoom() noexcept override;
  void savepoint() override;
  void releaseSavepoint() override;
  void rollbackToSavepoint() override;
  void guardTransaction(bool on) override;
  [[nodiscard]] bool transactionLost() const noexcept override;
  [[nodiscard]] Errc whyTransactionLost(const std::exception_ptr& thrown) noexcept override;

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
  /// The same for a file that perhaps cannot be opened. A rehearsal is rolled back.
  static FileRepairReport repairFile(const StoreOptions& options, bool isRehearsal);
  void advanceOldest(std::size_t looks) override;
  std::size_t vacuum(std::size_t pages) override;
  bool tidy() override;

  [[nodiscard]] const std::string& origin() const noexcept override;
  [[nodiscard]] std::uint64_t epoch() const noexcept override;
  [[nodiscard]] std::int64_t owner() const noexcept override;
  [[nodiscard]] std::filesystem::path logFile() const override;
  [[nodiscard]] const OpeningLook& openingLook() const noexcept override;
  [[nodiscard]] std::string whyLogNotBatched() const override;
  [[nodiscard]] SyncHealth syncHealth() const noexcept override;
  [[nodiscard]] bool isReplaced() const noexcept override;
  [[nodiscard]] std::filesystem::path ownersFile() const override;
  [[nodiscard]] const LatencyWindow& latencies() const noexcept override;

  /// In a transaction; the store is closed afterwards. Throws `alreadyRunning` when another process has the file open.
  NewStoreReport makeNewStore();
  [[nodiscard]] SQLite::Database& database() noexcept;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ackbox::store::sqlite
