#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "store/postgres/context.hpp"
#include "store/postgres/memory.hpp"
#include "store/postgres/peers/holds.hpp"
#include "store/postgres/snapshot_view.hpp"
#include "store/store.hpp"

namespace ackbox::store::postgres {

/// Finds new rows by the difference of two snapshots, this store's and others' alike: what is found is in the order of
/// each session, because the gate of a session is passed by one transaction after the other.
///
/// Between transactions. Thread-safety: none.
class Discovery final : public store::Discovery, public Memory {
public:
  Discovery(Context& context, Holds& holds) : context_(context), holds_(holds) {}

  [[nodiscard]] store::NewRows take(std::size_t limit) override;
  /// New rows are looked for, and not remembered, so there is nothing to stop.
  void stop() noexcept override {}
  void restart() noexcept override;
  [[nodiscard]] const std::string& sessionName(delivery::SessionKey key) const override;
  /// All live rows are returned once more, because of rows that were put back; known sessions stay known.
  void startOver(std::int64_t recalls) noexcept;
  /// A transaction has begun, or was committed: there may be new rows.
  void mayHaveNews() noexcept { hasNews_ = true; }

  void committed() noexcept override { mayHaveNews(); }

private:
  void scan(std::size_t limit, store::NewRows& found);
  void introduce(const Row& row, store::NewRows& found, delivery::RowSeen& seen);

  Context& context_;
  Holds& holds_;
  std::unordered_map<delivery::SessionKey, std::string> sessions_;
  // All rows of it were returned.
  SnapshotView seen_;
  // Of its rows, those up to a key were returned; none: no scan is under way.
  SnapshotView scanned_;
  delivery::MessageKey lastTaken_ = 0;
  std::int64_t recalls_ = 0;
  std::int64_t recallsHanded_ = 0;
  bool hasNews_ = true;
  bool caughtUp_ = false;
};

}  // namespace ackbox::store::postgres
