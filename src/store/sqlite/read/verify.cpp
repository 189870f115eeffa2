#include "store/sqlite/read/verify.hpp"

#include "sqlite/connection.hpp"
#include "sqlite/snapshot.hpp"
#include "sqlite/wal/log_check.hpp"
#include "sqlite/wal/log_tail.hpp"
#include "store/sqlite/schema/rules.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {
namespace {

constexpr int kFixedCheckpointVersion = 3'051'003;

}  // namespace

bool hasCheckpointDefect() noexcept {
  return sqlite3_libversion_number() < kFixedCheckpointVersion;
}

VerifyReport verify(const std::filesystem::path& file, const OutboxOptions& options) {
  const ReadConnection database(file, options);
  sqlite3* const connection = database.getHandle();
  VerifyReport report;
  report.sqliteVersion = sqlite3_libversion();
  report.hasCheckpointDefect = hasCheckpointDefect();
  report.logNotBatched = knownLogDifference();
  const Snapshot snapshot(connection);
  const auto count = [&](const char* sql) {
    return static_cast<std::uint64_t>(std::stoll(scalar(connection, expand(sql, options.tablePrefix))));
  };
  report.logCutShort = whatLogLeftOut(connection);
  report.pages = count("PRAGMA page_count");
  report.messages = count("SELECT count(*) FROM #outbox");
  report.sessions = count("SELECT count(*) FROM #sessions");
  report.peers = count("SELECT count(*) FROM #peers");
  report.findings = findingsOf(connection, options.tablePrefix, false, &report.notChecked);
  return report;
}

}  // namespace ackbox::store::sqlite
