#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "ackbox/options.hpp"
#include "store/moving.hpp"
#include "store/sqlite/schema/moved.hpp"

namespace ackbox::store::sqlite {

/// A file whose outbox moves to a database. From the mark on, the file is opened by nothing else; while its rows are
/// read, nothing else can write to it.
///
/// Throws `Error`. Thread-safety: none.
class MovingFile {
public:
  /// Opens the file; one that is not marked is verified, and what dead processes left in flight is put back. Throws
  /// `alreadyRunning` if another process has it open, `databaseCorrupt` if it breaks an invariant.
  MovingFile(const std::filesystem::path& file, const OutboxOptions& options);
  ~MovingFile();
  MovingFile(const MovingFile&) = delete;
  MovingFile& operator=(const MovingFile&) = delete;

  /// Nothing if the file is not marked.
  [[nodiscard]] const std::optional<MovedMark>& marked() const noexcept;
  [[nodiscard]] const MovedOutbox& outbox() const noexcept;

  /// Marks the file before its outbox is anywhere else. Durable.
  void mark(const std::string& database, const std::string& name);
  /// Takes the mark away again. Durable.
  void unmark();
  /// Gives all rows. The file stays locked until this object ends.
  void read(MovedRows& rows);
  /// The database has the outbox. Durable.
  void finish();

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ackbox::store::sqlite
