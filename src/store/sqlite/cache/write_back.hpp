#pragma once

#include <stdexcept>

namespace ackbox::store::sqlite {

/// Checks a condition that must hold regardless of callers and other processes. A violation is a defect of this
/// library: the transaction is rolled back, and no wrong data reaches the file. Enabled in every build.
inline void requireInvariant(bool holds, const char* violation) {
  if (!holds) {
    throw std::logic_error(violation);
  }
}

/// A part of the store's memory that runs ahead of the file inside a write transaction: it gathers changes that a
/// commit writes, or caches data that was read or written. `components.hpp` keeps all parts in one list, in the order
/// of a commit: `flush`, `committed` and `scopeBegun` go forward in it, all other steps backward.
///
/// `forget` drops all gathered and cached data; from then on the part agrees with the file. Only `begun`, `flush`,
/// `flushAll` and `scopeBegun` may throw.
class WriteBack {
public:
  WriteBack() = default;
  virtual ~WriteBack() = default;
  WriteBack(const WriteBack&) = delete;
  WriteBack& operator=(const WriteBack&) = delete;

  /// A transaction has begun. `othersCommitted`: another connection has, or may have, committed since the last one.
  virtual void begun(bool othersCommitted) {
    if (othersCommitted) {
      forget();
    }
  }
  /// Before the commit: writes the changes that it must include.
  virtual void flush() {}
  /// The same, but leaves no change to a later commit.
  virtual void flushAll() { flush(); }
  virtual void committed() noexcept {}
  virtual void rolledBack() noexcept { forget(); }

  /// A nested scope begins. A part that cannot undo single changes must have none pending.
  virtual void scopeBegun() { requireInvariant(!isPending(), "write-back: a change is pending where a scope begins"); }
  /// The innermost scope ended, and its changes stay.
  virtual void scopeReleased() noexcept {}
  /// The innermost scope ended, and the file is as it was when the scope began.
  virtual void scopeUndone() noexcept { forget(); }

  virtual void forget() noexcept = 0;
  /// Whether there are changes that the file does not have.
  [[nodiscard]] virtual bool isPending() const noexcept { return false; }
};

/// A part that changes only outside nested scopes, which is checked. Undoing a scope does not affect it.
class UnscopedWriteBack : public WriteBack {
public:
  void committed() noexcept override { scopes_ = 0; }
  void rolledBack() noexcept override {
    scopes_ = 0;
    forget();
  }
  void scopeBegun() final { ++scopes_; }
  void scopeReleased() noexcept final { --scopes_; }
  void scopeUndone() noexcept override { --scopes_; }

protected:
  void requireNoScope() const {
    requireInvariant(scopes_ == 0, "write-back: a change inside a nested scope that could not be taken back");
  }

private:
  int scopes_ = 0;
};

}  // namespace ackbox::store::sqlite
