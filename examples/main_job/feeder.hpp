#pragma once

#include <SQLiteCpp/Database.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_writer.hpp"
#include "input.hpp"

namespace main_job {

/// Reads input files into an outbox. The place that was reached is a row of the application's own table, written in
/// the transaction that enqueues the frames: whenever the process dies, no line is lost and none is repeated (P2).
class Feeder {
public:
  Feeder(ackbox::OutboxManager& manager, const std::filesystem::path& database,
         std::vector<std::filesystem::path> inputs, std::string peer);

  /// Enqueues the next `lines` lines and moves the position, in one transaction. A full queue changes nothing: the
  /// same lines come with the next call. Malformed lines are told on standard error and skipped.
  ///
  /// Returns false when nothing is left. Throws what SQLiteCpp throws, `ackbox::Error`, and `std::runtime_error` for
  /// a frame that the outbox refuses.
  bool feed(std::size_t lines);

private:
  bool fill(std::size_t lines);
  void skipWhatIsDone(InputFile& file);

  const std::vector<std::filesystem::path> inputs_;
  const std::string peer_;
  SQLite::Database connection_;
  ackbox::OutboxWriter writer_;
  std::size_t next_ = 0;
  std::optional<InputFile> file_;
  // Read, not yet committed; all of one file.
  std::vector<InputLine> slice_;
};

}  // namespace main_job
