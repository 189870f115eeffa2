#pragma once

#include <cstddef>

#include "sqlite/connection.hpp"

namespace ackbox::sqlite {

/// Gives free pages back, a few at a time. Only in files that ackbox made, which use incremental vacuum from their
/// first page: an application's file is never converted.
///
/// All in a transaction; the file shrinks at the checkpoint that follows. Thread-safety: none.
class Vacuum {
public:
  explicit Vacuum(const Connection& connection);

  /// Gives back up to `pages` pages; returns how many.
  std::size_t release(std::size_t pages);
  /// Gives back one slice when far more pages are free than the next messages will use. Returns whether more remain.
  bool releaseIfMany();

private:
  [[nodiscard]] std::size_t freePages();

  sqlite3* const connection_;
  const bool possible_;
  Statement pages_;
};

}  // namespace ackbox::sqlite
