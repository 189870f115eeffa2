// The promises of the store, tried on SQLite: as production opens it, and, where ACKBOX_LOG_NOT_BATCHED is defined,
// with a log that SQLite writes by itself.

#include <SQLiteCpp/SQLiteCpp.h>

#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include "store/sqlite/open.hpp"
#include "store/sqlite/outbound/application_writer.hpp"
#include "store/sqlite/peers/liveness.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "store_conformance/store_under_test.hpp"
#include "support/memory_disk.hpp"
#include "support/temp_dir.hpp"

namespace ackbox::testing {
namespace {

#ifdef ACKBOX_LOG_NOT_BATCHED
constexpr bool kIsBatched = false;
#else
constexpr bool kIsBatched = true;
#endif

/// The kernel's locks, dropped before their holder is destroyed.
class MortalLiveness final : public store::sqlite::Liveness {
public:
  explicit MortalLiveness(std::shared_ptr<Liveness> kernel) : kernel_(std::move(kernel)) {}
  void end() { kernel_.reset(); }
  void hold(std::int64_t owner) override { kernel_->hold(owner); }
  [[nodiscard]] bool alive(std::int64_t owner) const override { return !kernel_ || kernel_->alive(owner); }
  bool showDoubt(bool isDoubtful) noexcept override { return kernel_ && kernel_->showDoubt(isDoubtful); }
  [[nodiscard]] bool showsDoubt() const noexcept override { return kernel_ && kernel_->showsDoubt(); }

private:
  std::shared_ptr<Liveness> kernel_;
};

class SqliteApplication final : public Application {
public:
  SqliteApplication(const std::filesystem::path& file, const OutboxOptions& options)
      : connection_(file.string(), SQLite::OPEN_READWRITE, 0, options.vfs),
        writer_(connection_.getHandle(), options, {}) {}
  void begin() override { connection_.exec("BEGIN IMMEDIATE"); }
  EnqueueReceipt enqueue(const Frame& frame) override { return writer_.enqueue(frame); }
  PublishReceipt publish(const Frame& frame) override { return writer_.publish(frame); }
  void commit() override { connection_.exec("COMMIT"); }
  void rollback() override { connection_.exec("ROLLBACK"); }

private:
  SQLite::Database connection_;
  store::sqlite::ApplicationWriter writer_;
};

class SqliteUnderTest final : public StoreUnderTest {
public:
  SqliteUnderTest() {
    if (!kIsBatched) {
      // There the store leaves its log to SQLite.
      disk_.emplace().sparesNeighbours = false;
    }
  }

  [[nodiscard]] std::string name() const override {
    return kIsBatched ? "SQLite, its log batched" : "SQLite, its log not batched";
  }
  [[nodiscard]] std::unique_ptr<store::Store> open(const OutboxOptions& options) override {
    auto life =
        std::make_shared<MortalLiveness>(store::sqlite::kernelLiveness(file_.string() + "-ackbox-owners", file_));
    auto store =
        std::make_unique<store::sqlite::SqliteStore>(store::sqlite::StoreOptions{file_, onDisk(options), life});
    if (store->whyLogNotBatched().empty() != kIsBatched) {
      throw std::logic_error("the log: " + store->whyLogNotBatched());
    }
    lives_[store->owner()] = std::move(life);
    return store;
  }
  [[nodiscard]] std::unique_ptr<const store::Reader> read(const OutboxOptions& options) override {
    return store::sqlite::openReader(file_, onDisk(options));
  }
  [[nodiscard]] VerifyReport verify(const OutboxOptions& options) override {
    return store::sqlite::verify(file_, onDisk(options));
  }
  [[nodiscard]] std::unique_ptr<Application> application(const OutboxOptions& options) override {
    return std::make_unique<SqliteApplication>(file_, onDisk(options));
  }
  void crash(store::Store& handle) override {
    if (handle.inTransaction()) {
      handle.rollback();
    }
    lives_.at(handle.owner())->end();
  }

private:
  [[nodiscard]] OutboxOptions onDisk(OutboxOptions options) const {
    if (disk_) {
      options.vfs = disk_->name();
    }
    return options;
  }

  const TempDir folder_;
  const std::filesystem::path file_ = folder_.file("agent.db");
  std::optional<MemoryDisk> disk_;
  std::map<std::int64_t, std::shared_ptr<MortalLiveness>> lives_;
};

}  // namespace

std::unique_ptr<StoreUnderTest> makeStoreUnderTest() {
  return std::make_unique<SqliteUnderTest>();
}

}  // namespace ackbox::testing
