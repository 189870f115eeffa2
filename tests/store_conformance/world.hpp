#pragma once

#include <memory>
#include <string>

#include "ackbox/random.hpp"
#include "store_conformance/messages.hpp"
#include "store_conformance/store_under_test.hpp"
#include "support/manual_clock.hpp"

namespace ackbox::testing {

/// A store under test, time that stands still, and seeded randomness.
struct World {
  World() {
    options.clock = clock;
    options.random = seededRandom(7);
  }

  [[nodiscard]] std::unique_ptr<store::Store> open() const { return place->open(options); }
  [[nodiscard]] std::unique_ptr<const store::Reader> reader() const { return place->read(options); }
  [[nodiscard]] std::unique_ptr<Application> application() const { return place->application(options); }
  void crash(store::Store& handle) const { place->crash(handle); }
  [[nodiscard]] Stats stats() const { return reader()->stats(); }
  [[nodiscard]] std::optional<MessageInfo> find(std::string_view messageId) const { return reader()->find(messageId); }
  /// Of the invariants that `verify` knows; empty: all hold.
  [[nodiscard]] std::string problems() const {
    std::string text;
    for (const Finding& finding : place->verify(options).findings) {
      text += finding.table + " " + std::to_string(finding.row) + ": " + finding.problem + "\n";
    }
    return text;
  }

  std::unique_ptr<StoreUnderTest> place = makeStoreUnderTest();
  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  OutboxOptions options;
};

}  // namespace ackbox::testing
