#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "ackbox/options.hpp"
#include "store/reader.hpp"
#include "store/store.hpp"

namespace ackbox::store {

/// Signs that other processes have committed. They are only hints: each may be lost.
///
/// Thread-safety: none.
class Signs {
public:
  enum class Heard : std::uint8_t {
    nothing,
    /// Another process has committed.
    sign,
    /// No sign will come any more.
    end,
  };

  Signs() = default;
  virtual ~Signs() = default;
  Signs(const Signs&) = delete;
  Signs& operator=(const Signs&) = delete;

  /// It can be read when `take` has something to report.
  [[nodiscard]] virtual int descriptor() const noexcept = 0;
  [[nodiscard]] virtual Heard take() noexcept = 0;
};

/// Where a store is, and how it is opened there. Outlives what it opens.
///
/// Thread-safety: all members may be called from any thread.
class Place {
public:
  Place() = default;
  virtual ~Place() = default;
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  /// What records and errors call it.
  [[nodiscard]] virtual const std::string& name() const noexcept = 0;
  /// Opens the store, as `OutboxManager::open` documents.
  [[nodiscard]] virtual std::unique_ptr<Store> open(const OutboxOptions& options) const = 0;
  /// Opens a reader of a store that was opened before, or that `require` has found. Without `peers`, the peers are
  /// those of `options`.
  [[nodiscard]] virtual std::unique_ptr<const Reader> read(const OutboxOptions& options,
                                                           PeerLookup peers = {}) const = 0;
  /// Null: the store gives its signs in files, see `Store::logFile`, or none.
  [[nodiscard]] virtual std::unique_ptr<Signs> signs() const { return nullptr; }
  /// Throws as opening for reading would: `cannotOpen`, `schemaTooNew`, `schemaMissing`, …
  virtual void require(const OutboxOptions& options) const = 0;
};

}  // namespace ackbox::store
