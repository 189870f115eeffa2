#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include <cstdint>
#include <filesystem>

#include "bench/peers/message.hpp"

namespace ackbox::bench::peers {

/// What a consumer does with messages: rows of its own SQLite file, synced at each commit (WAL, FULL), as ackbox's
/// receiver does. Used by one thread.
class Effects {
public:
  /// Makes the file and its table.
  explicit Effects(const std::filesystem::path& file);

  void begin();
  void add(const Message& message);
  void commit();

private:
  SQLite::Database database_;
  SQLite::Statement begin_;
  SQLite::Statement insert_;
  SQLite::Statement commit_;
};

/// What became of the messages, counted from the file.
struct Outcome {
  std::uint64_t missing = 0;
  std::uint64_t repeated = 0;
  /// Effects that came after one of a later message of the same session.
  std::uint64_t disordered = 0;
};

/// Compares the effects in `file` with the first `sent` messages.
[[nodiscard]] Outcome compareEffects(const std::filesystem::path& file, std::uint64_t sent);

}  // namespace ackbox::bench::peers
