#pragma once

#include <stdexcept>

namespace ackbox::store::sqlite {

/// Checks what must hold whatever callers and other processes do. A violation is a defect of this library: the
/// transaction is rolled back, and nothing wrong reaches the file. Stays on in every build.
inline void requireInvariant(bool holds, const char* violation) {
  if (!holds) {
    throw std::logic_error(violation);
  }
}

/// A part of the store's memory that runs ahead of the file inside a write transaction: it gathers changes that a
/// commit writes, or remembers what was read or written. `components.hpp` keeps all parts in one list, in the
/// order of a commit: `flush`, `committed` and `scopeBegun` go forward in it, all other steps backward.
///
/// There is one way to forget: `forget` drops what was gathered and what was remembered, and from then on the part says
/// what the file says. Nothing throws but `begun`, `flush`, `flushAll` and `scopeBegun`.
class WriteBack {
public:
  WriteBack() = default;
  virtual ~WriteBack() = default;
  WriteBack(const WriteBack&) = delete;
  WriteBack& operator=(const WriteBack&) = delete;

  /// A transaction has begun. `othersCommitted`: another connection has committed since the last one, or that is not
  /// known.
  virtual void begun(bool othersCommitted) {
    if (othersCommitted) {
      forget();
    }
  }
  /// Before the commit: writes what must be in it.
  virtual void flush() {}
  /// The same, but puts nothing off.
  virtual void flushAll() { flush(); }
  virtual void committed() noexcept {}
  virtual void rolledBack() noexcept { forget(); }

  /// A nested scope begins. A part that cannot take changes back one by one has none at that moment.
  virtual void scopeBegun() { requireInvariant(!isPending(), "write-back: a change is pending where a scope begins"); }
  /// The innermost scope ended, and its changes stay.
  virtual void scopeReleased() noexcept {}
  /// The innermost scope ended, and the file is as it was at its begin.
  virtual void scopeUndone() noexcept { forget(); }

  virtual void forget() noexcept = 0;
  /// Whether there are changes that the file does not have.
  [[nodiscard]] virtual bool isPending() const noexcept { return false; }
};

/// A part that changes outside nested scopes only, which is checked. A scope that is undone leaves it as it is.
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
