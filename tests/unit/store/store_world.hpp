#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "store/sqlite/peers/liveness.hpp"
#include "store/sqlite/read/reader.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "store_conformance/messages.hpp"
#include "support/manual_clock.hpp"
#include "support/temp_dir.hpp"

namespace ackbox::testing {

/// Which owners live, in the test's hands.
using Lives = std::set<std::int64_t>;

class FakeLiveness final : public store::sqlite::Liveness {
public:
  explicit FakeLiveness(std::shared_ptr<Lives> lives) : lives_(std::move(lives)) {}
  void hold(std::int64_t owner) override { lives_->insert(owner); }
  [[nodiscard]] bool alive(std::int64_t owner) const override { return lives_->contains(owner); }
  bool showDoubt(bool isDoubtful) noexcept override {
    isDoubtful_ = isDoubtful;
    return true;
  }
  [[nodiscard]] bool showsDoubt() const noexcept override { return isDoubtful_; }

private:
  std::shared_ptr<Lives> lives_;
  bool isDoubtful_ = false;
};

/// One file, time that stands still, seeded randomness, and as many stores on it as a test opens.
struct StoreWorld {
  StoreWorld() {
    options.clock = clock;
    options.random = seededRandom(7);
  }

  std::unique_ptr<store::sqlite::SqliteStore> open() const {
    return std::make_unique<store::sqlite::SqliteStore>(
        store::sqlite::StoreOptions{file, options, lives ? std::make_shared<FakeLiveness>(lives) : nullptr});
  }

  [[nodiscard]] std::unique_ptr<const store::sqlite::SqliteReader> reader() const {
    return std::make_unique<store::sqlite::SqliteReader>(file, options);
  }

  TempDir directory;
  std::filesystem::path file = directory.file("agent.db");
  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  OutboxOptions options;
  /// Null: kernel locks.
  std::shared_ptr<Lives> lives;
};

}  // namespace ackbox::testing
