#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "bench/measurement.hpp"
#include "bench/settings.hpp"

namespace ackbox::bench {

/// What an agent's author writes by hand: a WAL file, a plain table, and one insert in one FULL transaction for each
/// message. Thread-safety: none; each thread opens its own.
class NaiveTable {
public:
  explicit NaiveTable(const std::filesystem::path& file);

  void insert(const std::string& messageId, const std::string& session, const std::string& data);

private:
  SQLite::Database database_;
  SQLite::Statement insert_;
};

/// `threads` threads, each inserting through its own connection as fast as it can.
[[nodiscard]] Rate naiveInserts(const Settings& settings, unsigned threads);

}  // namespace ackbox::bench
