#include "ackbox/error.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace ackbox {
namespace {

struct ErrcText {
  Errc errc;
  const char* text;
};

constexpr ErrcText kTexts[] = {
    {Errc::databaseBusy,
     "the database is locked by another connection: try again, or raise busyTimeout; where it is locked by a "
     "transaction of this program itself, end that first, or enqueue in it with OutboxWriter"},
    {Errc::databaseReadOnly,
     "the database, its folder or its server takes no writes: mend the permissions, or open another path or server"},
    {Errc::schemaTooNew, "the database was written by a newer ackbox: upgrade this program"},
    {Errc::notADatabase, "the file is not an SQLite database: check the path"},
    {Errc::databaseCorrupt, "the database is damaged: restore a backup, or recover it with 'sqlite3 FILE .recover'"},
    {Errc::diskFull, "the disk is full: free some space and try again"},
    {Errc::ioError,
     "the disk failed to read, write or sync, or the database's server is out of reach: check the device or the server "
     "and try again"},
    {Errc::cannotOpen,
     "the file or database cannot be opened: check that its folder exists, and may be entered and written; or the URL "
     "and the server"},
    {Errc::schemaMissing,
     "the outbox tables are missing: check the file, or the database and its schema ackbox, and tablePrefix, or turn "
     "createSchema on"},
    {Errc::invalidOption, "an option cannot be used: give it another value"},
    {Errc::alreadyRunning, "the manager is running: stop it first"},
    {Errc::stopped, "the manager was stopped before the operation finished; it had no effect: open it again"},
    {Errc::invalidTransition, "the message's state does not allow this change: look at its state"},
    {Errc::unknownMessage, "no message has this id: check the id"},
    {Errc::noSender, "no sender is set: call setSender or setSendFunction first"},
    {Errc::handlerEndedTransaction,
     "a handler ended the transaction that it was given: leave BEGIN, COMMIT and ROLLBACK to ackbox"},
    {Errc::notDurable,
     "the connection's synchronous level is below FULL inside a transaction: bind the writer before BEGIN"},
    {Errc::noTransaction, "the connection is not in a transaction: begin one first"},
    {Errc::outOfMemory, "out of memory: free some and try again"},
    {Errc::databaseError, "the database refused the operation"},
    {Errc::cannotListen, "the address cannot be listened on: is it taken, or not this machine's?"},
    {Errc::wouldDeadlock,
     "a blocking call on the store's own thread would wait for itself: in a handler use the transaction's "
     "enqueue, elsewhere asyncEnqueue"},
    {Errc::unknownPeer, "no peer of this name is in the file: check the name, or configure it"},
    {Errc::databaseReplaced,
     "the file was replaced or restored while it was open: restart the process, with the newer file if there "
     "is one"},
    {Errc::outOfDescriptors, "the process may open no more files: raise its limit, as with 'ulimit -n'"},
    {Errc::secretsUnreadable, "the secrets cannot be read: check the source's name and its permissions"},
    {Errc::otherProcess,
     "locks do not pass a fork: fork before the file is opened, or let the child execute a program"},
    {Errc::schemaTooOld,
     "the database was written by a build from before the first release: deliver what is in it with that "
     "build, and begin with a new file"},
    {Errc::schemaOutdated,
     "the database was written by an earlier ackbox: run `ackbox migrate` on it, on a file while no process has it "
     "open"},
    {Errc::pooledConnection,
     "the database is reached through a pooler, whose connections keep no locks: connect to the server itself"},
    {Errc::databaseMoved,
     "the outbox was moved to a PostgreSQL database: open that one; if the move was interrupted, run it again"},
    {Errc::outcomeUnknown,
     "the connection was lost during the commit, and it is not known whether that was made: enqueue again with the "
     "same id or idempotency key, which stores the message once"},
};

const char* text(Errc errc) noexcept {
  const auto* const found = std::ranges::find(kTexts, errc, &ErrcText::errc);
  return found == std::end(kTexts) ? "unknown ackbox error" : found->text;
}

class Category final : public std::error_category {
public:
  [[nodiscard]] const char* name() const noexcept override { return "ackbox"; }
  [[nodiscard]] std::string message(int value) const override { return text(static_cast<Errc>(value)); }
};

}  // namespace

const std::error_category& errorCategory() noexcept {
  static const Category category;
  return category;
}

std::error_code make_error_code(Errc errc) noexcept {
  return {static_cast<int>(errc), errorCategory()};
}

struct OptionError::Parts {
  std::string field;
  std::string problem;
  std::string allowed;
};

OptionError::OptionError(std::string field, std::string problem, std::string allowed)
    : Error(Errc::invalidOption, field + ": " + problem + (allowed.empty() ? "" : ", allowed: " + allowed)),
      parts_(std::make_shared<const Parts>(Parts{std::move(field), std::move(problem), std::move(allowed)})) {}

const std::string& OptionError::field() const noexcept {
  return parts_->field;
}

const std::string& OptionError::problem() const noexcept {
  return parts_->problem;
}

const std::string& OptionError::allowed() const noexcept {
  return parts_->allowed;
}

bool isRetryable(const std::error_code& error) noexcept {
  return error == Errc::databaseBusy || error == Errc::diskFull || error == Errc::ioError || error == Errc::outOfMemory;
}

}  // namespace ackbox
