#pragma once

namespace ackbox::store::postgres {

/// What a part of the store remembers of a transaction: changes that it gathers, and rows that it has read and locked.
/// Nothing else is remembered, except where the count of orders says when it changes: rows of another transaction may
/// be another process's.
class Memory {
public:
  Memory() = default;
  virtual ~Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// Writes the changes: before a commit, a nested scope, and a look at rows.
  virtual void flush() {}
  virtual void committed() noexcept {}
  virtual void rolledBack() noexcept {}
  /// A nested scope begins; all is flushed.
  virtual void scopeBegun() {}
  /// It ended, and its changes stay.
  virtual void scopeReleased() noexcept {}
  /// It ended, and its changes and its locks are gone.
  virtual void scopeUndone() noexcept {}
};

}  // namespace ackbox::store::postgres
