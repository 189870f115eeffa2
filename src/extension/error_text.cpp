#include "extension/error_text.hpp"

#include <sqlite3.h>

#include "base/nested_error.hpp"

namespace ackbox::extension {
namespace {

bool hasCode(const Error& error, int code) {
  return circumstancesOf(error).find("(SQLite code " + std::to_string(code) + ")") != std::string::npos;
}

/// Another connection has committed since the transaction's first read, so that it can never write.
bool isSnapshotPast(const Error& error) {
  return error.code() == Errc::databaseBusy && hasCode(error, SQLITE_BUSY_SNAPSHOT);
}

bool isBetween(char letter, char least, char most) noexcept {
  return letter >= least && letter <= most;
}

}  // namespace

std::string sqlNames(std::string_view text) {
  constexpr std::string_view kRetention = "idempotencyRetention";
  std::string made;
  for (std::size_t index = 0; index < text.size(); ++index) {
    if (text.substr(index).starts_with(kRetention)) {
      made += "idempotency_retention_ms";
      index += kRetention.size() - 1;
    } else if (index > 0 && isBetween(text[index - 1], 'a', 'z') && isBetween(text[index], 'A', 'Z') &&
               // A unit, such as MiB, is no name.
               index + 1 < text.size() && isBetween(text[index + 1], 'a', 'z')) {
      made += {'_', static_cast<char>(text[index] - 'A' + 'a')};
    } else {
      made += text[index];
    }
  }
  return made;
}

std::string sqlText(const Error& error) {
  if (const auto* const option = dynamic_cast<const OptionError*>(&error)) {
    return sqlNames(option->field() + ": " + option->problem() +
                    (option->allowed().empty() ? "" : ", allowed: " + option->allowed()));
  }
  std::string cause = circumstancesOf(error);
  if (isSnapshotPast(error)) {
    return cause +
           ": another connection has committed since this transaction began by reading: ROLLBACK, and begin it "
           "with BEGIN IMMEDIATE";
  }
  switch (static_cast<Errc>(error.code().value())) {
    case Errc::databaseBusy:
      return cause +
             ": another connection writes: ROLLBACK, and begin with BEGIN IMMEDIATE, which waits for as long as "
             "PRAGMA busy_timeout says";
    case Errc::schemaMissing:
      return cause +
             ": this file is no outbox: open the one that ackbox serve has, or start ackbox serve on this one once; "
             "tables with another prefix: SELECT ackbox_configure('{\"table_prefix\":\"NAME_\"}')";
    case Errc::notDurable:
      return cause + (cause.starts_with("journal_mode") ? ": PRAGMA journal_mode=WAL before BEGIN"
                                                        : ": PRAGMA synchronous=FULL before BEGIN");
    case Errc::invalidOption:
      return cause;
    default:
      return error.what();
  }
}

int sqlCode(const Error& error) {
  if (isSnapshotPast(error)) {
    return SQLITE_BUSY_SNAPSHOT;
  }
  if (error.code() == Errc::databaseError && hasCode(error, SQLITE_INTERRUPT)) {
    return SQLITE_INTERRUPT;
  }
  if (error.code() == Errc::databaseBusy) {
    return SQLITE_BUSY;
  }
  if (error.code() == Errc::diskFull) {
    return SQLITE_FULL;
  }
  return error.code() == Errc::databaseReadOnly ? SQLITE_READONLY : SQLITE_ERROR;
}

}  // namespace ackbox::extension
