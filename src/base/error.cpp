#include "ackbox/error.hpp"

#include <utility>

namespace ackbox {
namespace {

const char* text(Errc errc) noexcept {
  switch (errc) {
    case Errc::databaseBusy:
      return "the database is locked by another connection: try again, or raise busyTimeout";
    case Errc::databaseReadOnly:
      return "the database or its folder is not writable: mend the permissions or open another path";
    case Errc::schemaTooNew:
      return "the database was written by a newer ackbox: upgrade this program";
    case Errc::notADatabase:
      return "the file is not an SQLite database: check the path";
    case Errc::databaseCorrupt:
      return "the database is damaged: restore a backup, or recover it with 'sqlite3 FILE .recover'";
    case Errc::diskFull:
      return "the disk is full: free some space and try again";
    case Errc::ioError:
      return "the disk failed to read, write or sync: check the device and try again";
    case Errc::cannotOpen:
      return "the file cannot be opened: check that its folder exists, and may be entered and written";
    case Errc::schemaMissing:
      return "the outbox tables are missing: check file and tablePrefix, or turn createSchema on";
    case Errc::invalidOption:
      return "an option cannot be used: give it another value";
    case Errc::alreadyRunning:
      return "the manager is running: stop it first";
    case Errc::stopped:
      return "the manager was stopped before the operation could finish; nothing of it happened: open it again";
    case Errc::invalidTransition:
      return "the message's state does not allow this change: look at its state";
    case Errc::unknownMessage:
      return "no message has this id: check the id";
    case Errc::noSender:
      return "no sender is set: call setSender or setSendFunction first";
    case Errc::handlerEndedTransaction:
      return "a handler ended the transaction that it was given: leave BEGIN, COMMIT and ROLLBACK to ackbox";
    case Errc::notDurable:
      return "the connection's synchronous level is below FULL inside a transaction: bind the writer before BEGIN";
    case Errc::noTransaction:
      return "the connection is not in a transaction: begin one first";
    case Errc::outOfMemory:
      return "out of memory: free some and try again";
    case Errc::databaseError:
      return "SQLite refused the operation";
    case Errc::cannotListen:
      return "the address cannot be listened on: is it taken, or not this machine's?";
    case Errc::wouldDeadlock:
      return "a blocking call on the store's own thread would wait for itself: in a handler use the transaction's "
             "enqueue, elsewhere asyncEnqueue";
    case Errc::unknownPeer:
      return "no peer of this name is in the file: check the name, or configure it";
    case Errc::databaseReplaced:
      return "the file was replaced or restored while it was open: restart the process, with the newer file if there "
             "is one";
    case Errc::outOfDescriptors:
      return "the process may open no more files: raise its limit, as with 'ulimit -n'";
    case Errc::secretsUnreadable:
      return "there are no secrets: check the source's name and its permissions";
    case Errc::otherProcess:
      return "locks do not pass a fork: fork before the file is opened, or let the child execute a program";
    case Errc::schemaTooOld:
      return "the database was written by a build from before the first release: deliver what is in it with that "
             "build, and begin with a new file";
  }
  return "unknown ackbox error";
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
