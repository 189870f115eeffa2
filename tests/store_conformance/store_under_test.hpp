#pragma once

#include <memory>
#include <string>

#include "ackbox/diagnosis.hpp"
#include "ackbox/frame.hpp"
#include "ackbox/options.hpp"
#include "ackbox/publication.hpp"
#include "ackbox/receipt.hpp"
#include "store/reader.hpp"
#include "store/store.hpp"

namespace ackbox::testing {

/// An application with a connection of its own to where a store keeps its messages, which enqueues in its own
/// transactions.
class Application {
public:
  Application() = default;
  virtual ~Application() = default;
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;

  virtual void begin() = 0;
  virtual EnqueueReceipt enqueue(const Frame& frame) = 0;
  virtual PublishReceipt publish(const Frame& frame) = 0;
  virtual void commit() = 0;
  virtual void rollback() = 0;
};

/// What the promises of the seam (`store/store.hpp`) are tried on: one place where a store keeps its data, empty at
/// first, and removed with this object. To plug a store in is to derive from this, to define `makeStoreUnderTest`, and
/// to link both with the promises, see CMakeLists.txt.
class StoreUnderTest {
public:
  StoreUnderTest() = default;
  virtual ~StoreUnderTest() = default;
  StoreUnderTest(const StoreUnderTest&) = delete;
  StoreUnderTest& operator=(const StoreUnderTest&) = delete;

  /// For the report.
  [[nodiscard]] virtual std::string name() const = 0;
  /// A handle, as a process of its own has one: the first makes what a store needs, later ones find what is there. A
  /// handle that is destroyed was closed in an orderly way.
  [[nodiscard]] virtual std::unique_ptr<store::Store> open(const OutboxOptions& options) = 0;
  /// There was a handle before.
  [[nodiscard]] virtual std::unique_ptr<const store::Reader> read(const OutboxOptions& options) = 0;
  [[nodiscard]] virtual VerifyReport verify(const OutboxOptions& options) = 0;
  [[nodiscard]] virtual std::unique_ptr<Application> application(const OutboxOptions& options) = 0;
  /// The process of `handle` is dead to all others from now on, as after SIGKILL: its transaction is undone, and what
  /// it had only in memory is in no other place. The handle may still be asked, as by a process that was thought dead.
  virtual void crash(store::Store& handle) = 0;
};

/// Defined by each program that tries a store.
[[nodiscard]] std::unique_ptr<StoreUnderTest> makeStoreUnderTest();

}  // namespace ackbox::testing
