#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "store/sqlite/peers/liveness.hpp"
#include "store/sqlite/sqlite_store.hpp"
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

  TempDir directory;
  std::filesystem::path file = directory.file("agent.db");
  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  OutboxOptions options;
  /// Null: kernel locks.
  std::shared_ptr<Lives> lives;
};

inline Frame frameOf(std::string session, std::string data = "{}", std::string id = {}) {
  Frame frame;
  frame.session = std::move(session);
  frame.type = "test";
  frame.data = std::move(data);
  frame.id = std::move(id);
  return frame;
}

/// Runs `work` in a transaction of its own.
template <typename Work>
auto inTransaction(store::sqlite::SqliteStore& store, Work work) {
  store.begin(false);
  if constexpr (std::is_void_v<decltype(work())>) {
    work();
    store.commit();
  } else {
    auto result = work();
    store.commit();
    return result;
  }
}

inline EnqueueReceipt enqueueOne(store::sqlite::SqliteStore& store, const Frame& frame) {
  return inTransaction(store, [&] { return store.outbox().enqueue(frame); });
}

/// Claims all of what is new, one claim per session.
inline store::ClaimReply claimNew(store::sqlite::SqliteStore& store) {
  std::vector<delivery::SessionClaim> claims;
  for (const delivery::RowSeen& row : store.discovery().take(1'000).rows) {
    if (claims.empty() || claims.back().session != row.session) {
      claims.push_back({row.session, {}});
    }
    claims.back().keys.push_back(row.key);
  }
  return inTransaction(store, [&] { return store.claims().claim(claims); });
}

/// A settlement of a claimed row.
inline delivery::Settlement settlementOf(const store::ClaimReply& reply, delivery::Transition transition,
                                         std::size_t session = 0, std::size_t row = 0) {
  delivery::Settlement settlement;
  settlement.key = reply.sessions.at(session).rows.at(row).key;
  settlement.session = reply.sessions.at(session).session;
  settlement.attempt = reply.sessions.at(session).rows.at(row).attempt;
  settlement.transition = transition;
  return settlement;
}

inline std::optional<store::SettledMessage> settleOne(store::sqlite::SqliteStore& store,
                                                      const delivery::Settlement& settlement) {
  return inTransaction(store, [&] { return store.settles().settle({&settlement, 1}).front(); });
}

}  // namespace ackbox::testing
