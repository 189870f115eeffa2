#include "extension/binding.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "ackbox/error.hpp"
#include "base/options.hpp"
#include "extension/lifetime.hpp"
#include "json/checked.hpp"
#include "json/line.hpp"
#include "manager/facade/enqueue.hpp"
#include "manager/facade/sentence.hpp"
#include "records/message.hpp"
#include "records/stats.hpp"
#include "sqlite/statement.hpp"
#include "store/sqlite/peers/liveness.hpp"
#include "store/sqlite/read/message_reader.hpp"
#include "store/sqlite/read/stats_reader.hpp"
#include "store/sqlite/schema/schema.hpp"

namespace ackbox::extension {
namespace {

/// Several statements that see one instant, inside a transaction or outside.
class Reading {
public:
  Reading(sqlite3* connection, const OutboxOptions& options) : connection_(connection) {
    sqlite::execute(connection, "SAVEPOINT ackbox_reading");
    try {
      store::sqlite::requireUsable(connection, options.tablePrefix, false);
    } catch (...) {
      end();
      throw;
    }
  }
  ~Reading() { end(); }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

private:
  void end() noexcept { sqlite3_exec(connection_, "RELEASE ackbox_reading", nullptr, nullptr, nullptr); }

  sqlite3* connection_;
};

OutboxOptions fileOptions() {
  OutboxOptions options;
  // Those that the file knows: which ones an agent was given is not asked.
  options.adoptPeers = true;
  return validated(std::move(options));
}

std::uint64_t numberOf(std::string_view key, std::string_view value) {
  const std::optional<std::uint64_t> number = json::wholeNumber(value);
  if (!number) {
    throw OptionError(std::string(key), "is no whole number");
  }
  return *number;
}

void set(OutboxOptions& options, json::Members& members, std::string_view key, std::string_view value) {
  if (key == "table_prefix") {
    const std::optional<std::string_view> text = members.decode(value);
    if (!text) {
      throw OptionError("table_prefix", "is no text");
    }
    options.tablePrefix = *text;
  } else if (key == "max_pending") {
    options.maxPending = numberOf(key, value);
  } else if (key == "max_pending_bytes") {
    options.maxPendingBytes = numberOf(key, value);
  } else if (key == "frame_bytes_max") {
    options.frameBytesMax = numberOf(key, value);
  } else if (key == "idempotency_retention_ms") {
    options.idempotencyRetention = std::chrono::milliseconds(numberOf(key, value));
  } else {
    throw Error(Errc::invalidOption, std::string(key) +
                                         ": is no option, allowed: table_prefix, max_pending, max_pending_bytes, "
                                         "frame_bytes_max, idempotency_retention_ms");
  }
}

}  // namespace

Binding::Binding(sqlite3* connection) : connection_(connection), options_(fileOptions()) {}

void Binding::release() noexcept {
  if (writer_ && !home_.isHere()) {
    HomeProcess::abandon(std::shared_ptr<void>(std::move(writer_)));
  }
  writer_.reset();
}

void Binding::bind() {
  keepUntilClose(connection_);
  writer_ = std::make_unique<store::sqlite::ApplicationWriter>(connection_, options_, [this] { committed(); });
  owners_ = store::sqlite::ownersFile(connection_, options_.tablePrefix).string();
}

void Binding::tryToBind() noexcept {
  try {
    if (!writer_ && sqlite3_get_autocommit(connection_) != 0) {
      bind();
    }
  } catch (...) {
    // The first use of the writer reports it.
    writer_.reset();
  }
}

// Closing a file that was open for writing is the sign that every running agent looks at. It drops no lock: theirs are
// locks of open file descriptions.
void Binding::committed() noexcept {
  if (std::exchange(hasEnqueued_, false)) {
    const int descriptor = open(owners_.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor >= 0) {
      close(descriptor);
    }
  }
}

store::sqlite::ApplicationWriter& Binding::writer() {
  if (!writer_) {
    bind();
  }
  // The host may have lowered it since.
  if (sqlite::scalar(connection_, "PRAGMA main.synchronous") < "2") {
    throw Error(Errc::notDurable, "synchronous was lowered on this connection");
  }
  // Without a write-ahead log a power cut may undo a commit, or damage the file, whatever `synchronous` is.
  if (const std::string mode = sqlite::scalar(connection_, "PRAGMA main.journal_mode"); mode != "wal") {
    throw Error(Errc::notDurable, "journal_mode is " + mode + " on this connection");
  }
  return *writer_;
}

EnqueueReceipt Binding::enqueue(const Frame& frame) {
  EnqueueReceipt receipt = manager::checkFrame(frame, options_);
  if (receipt.accepted()) {
    receipt = writer().enqueue(frame);
    hasEnqueued_ = true;
  }
  return receipt;
}

PublishReceipt Binding::publish(const Frame& frame) {
  PublishReceipt receipt = manager::checkPublished(frame, options_);
  if (receipt.accepted()) {
    receipt = writer().publish(frame);
    hasEnqueued_ = true;
  }
  return receipt;
}

void Binding::configure(std::string_view text) {
  json::CheckedMembers object = json::readObject(text);
  if (!object.problem.empty()) {
    throw Error(Errc::invalidOption, object.problem);
  }
  OutboxOptions changed = options_;
  for (const auto& [key, value] : object.members.all()) {
    set(changed, object.members, key, value);
  }
  options_ = validated(std::move(changed));
  release();
  tryToBind();
}

std::string Binding::stats() const {
  const Reading reading(connection_, options_);
  Stats stats = store::sqlite::StatsReader(connection_, options_).stats();
  stats.logNotBatched = "SQLite writes the log of an application's connection";
  return records::lineOf(stats, store::sqlite::MessageReader(connection_, options_).processIds()).text();
}

std::string Binding::explain(std::string_view messageId) const {
  const Reading reading(connection_, options_);
  store::sqlite::StatsReader stats(connection_, options_);
  store::sqlite::MessageReader messages(connection_, options_);
  std::optional<Explanation> explanation = messages.explain(messageId, stats);
  if (!explanation) {
    return {};
  }
  manager::completeFromFile(*explanation, !messages.processIds().empty(), options_.clock->wallNow());
  json::Line line = records::lineOf(explanation->message);
  line.raw("attempts", records::listOf(explanation->message.attempts));
  line.raw("reasons", records::listOf(explanation->reasons)).add("sentence", explanation->sentence);
  return line.text();
}

std::string Binding::peerNames() const {
  return sqlite::scalar(
      connection_, sqlite::expand("SELECT group_concat(name,', ') FROM (SELECT name FROM main.#peers ORDER BY name)",
                                  options_.tablePrefix));
}

}  // namespace ackbox::extension
