#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "ackbox/dead_letters.hpp"
#include "ackbox/diagnosis.hpp"
#include "ackbox/error.hpp"
#include "ackbox/file_info.hpp"
#include "ackbox/frame.hpp"
#include "ackbox/inbound_frame.hpp"
#include "ackbox/inbox.hpp"
#include "ackbox/message.hpp"
#include "ackbox/message_page.hpp"
#include "ackbox/options.hpp"
#include "ackbox/peer_status.hpp"
#include "ackbox/publication.hpp"
#include "ackbox/stats.hpp"

namespace ackbox {

class OutboxManager;
// Defined in ackbox/postgres.hpp.
struct PostgresLocation;

namespace store {
class Place;
}

/// Reads an outbox: figures, messages, dead letters, peers, sessions, and why a message is not moving. Writes nothing
/// and keeps no writer waiting.
///
/// Opened on a file, it takes no part in the outbox: for tools and monitors beside running agents. Read permission is
/// enough, also when no agent runs; the file and its log are not changed, even if a killed agent left the log behind.
/// Made from a manager, it reads that manager's file, and also knows the state of its run.
///
/// Each call sees one committed instant. All throw `Error` as reads fail: `databaseBusy`, `databaseReadOnly`,
/// `databaseCorrupt`, `notADatabase`, `cannotOpen`, `ioError`, `outOfMemory`, `databaseError`. `verify`, and a call
/// that reopens the file because an agent has started since, throw as `open`. Made from a manager, `getStats` and
/// `verify` also throw `databaseReplaced`. A page's `limit` is 1 to 10,000; any other value throws `invalidOption`.
///
/// Thread-safety: all members may be called from any thread.
/// Lifetime: one made from a manager shares the manager's open file, which stays open until both are gone.
class OutboxReader {
public:
  /// Opens the outbox in `file`, which must exist, with the tables of this version. Of `options` it uses `tablePrefix`,
  /// `vfs`, `busyTimeout`, `clock`, `trustSchema` and `retry.horizon`.
  ///
  /// Throws `Error`: `invalidOption`, `cannotOpen`, `databaseBusy`, `databaseReadOnly`, `schemaTooNew`,
  /// `schemaTooOld`, `schemaOutdated`, `schemaMissing`, `notADatabase`, `databaseCorrupt`, `ioError`, `outOfMemory`,
  /// `databaseError`. The file is not changed, whatever happens.
  [[nodiscard]] static OutboxReader open(const std::filesystem::path& file, OutboxOptions options = {});

  /// The same for an outbox in a PostgreSQL database. Needs the component `ackbox::postgres`; see ackbox/postgres.hpp.
  [[nodiscard]] static OutboxReader open(const PostgresLocation& location, OutboxOptions options = {});

  /// Reads the file of `manager`.
  explicit OutboxReader(const OutboxManager& manager);

  OutboxReader(OutboxReader&&) noexcept;
  OutboxReader& operator=(OutboxReader&&) noexcept;
  OutboxReader(const OutboxReader&) = delete;
  OutboxReader& operator=(const OutboxReader&) = delete;
  ~OutboxReader();

  /// Counters and gauges, in O(1).
  [[nodiscard]] Stats getStats() const;

  /// The same for each peer in the file, including peers of earlier configurations, in O(peers).
  [[nodiscard]] std::vector<PeerStats> peerStats() const;

  /// One session's gauges, in O(1); empty if no message was ever enqueued to it.
  [[nodiscard]] std::optional<SessionStats> sessionStats(std::string_view peer, std::string_view session) const;

  /// Up to `limit` sessions that match `filter`, from the end of the previous page (its `next`); 0: from the start.
  [[nodiscard]] SessionPage sessions(const SessionFilter& filter = {}, std::size_t limit = 100,
                                     std::int64_t after = 0) const;

  /// Every peer in the file, ordered by name, with its state. `isConfigured` and the gauges of a run are set only by a
  /// reader made from a manager; otherwise they stay false and 0.
  [[nodiscard]] std::vector<PeerStatus> peers() const;

  /// Every subscription in the file, ordered by name.
  [[nodiscard]] std::vector<PeerSubscription> subscriptions() const;

  /// Up to `limit` blocked sessions, in the order of their dead letters, with the number of waiting messages; O(limit).
  [[nodiscard]] std::vector<BlockedSession> blockedSessions(std::size_t limit = 100) const;

  /// The message's current state; empty if it was never here, or is acknowledged and not retained.
  [[nodiscard]] std::optional<MessageInfo> find(std::string_view messageId) const;

  /// The frame enqueued under this id, with the id, its session's current priority, and without its idempotency key;
  /// empty if `find` returns nothing.
  [[nodiscard]] std::optional<Frame> frame(std::string_view messageId) const;

  /// The ids of up to `limit` messages that were enqueued with this idempotency key: one, or those of a publish, in the
  /// order of its receipt. The messages may be gone: a key is kept for `OutboxOptions::idempotencyRetention`. Empty if
  /// the key is unknown; O(limit).
  [[nodiscard]] std::vector<std::string> idsOfKey(std::string_view idempotencyKey, std::size_t limit = 100) const;

  /// Up to `limit` messages that match `filter`, from the end of the previous page (its `next`, or the `row` of its
  /// last message); 0: from the start. Dead letters and messages in flight are found without reading other rows;
  /// otherwise the cost grows with the rows passed, a bounded number per page.
  [[nodiscard]] MessagePage messages(const MessageFilter& filter, std::size_t limit = 100,
                                     std::int64_t after = 0) const;

  /// Up to `limit` dead letters that match `filter`, from the end of the previous page; 0: from the start. The cost
  /// grows with the number of dead letters examined, not with the backlog.
  [[nodiscard]] DeadLetterPage deadLetters(const DeadLetterFilter& filter, std::size_t limit = 100,
                                           std::int64_t after = 0) const;

  /// Up to `limit` dead letters, newest enqueue first; O(limit).
  [[nodiscard]] std::vector<MessageInfo> newestDeadLetters(std::size_t limit = 100) const;

  /// Writes the messages that match `filter`, oldest enqueue first: calls `sink` with one line of JSON for each, line
  /// break included, in the form of proto/export.md. No snapshot is held meanwhile: a message that is retired before
  /// its turn is left out. The cost grows with the backlog. Returns the number of messages written. Also throws what
  /// `sink` throws.
  std::uint64_t exportMessages(const MessageFilter& filter,
                               const std::function<void(std::string_view line)>& sink) const;

  /// The same for dead letters.
  std::uint64_t exportDeadLetters(const DeadLetterFilter& filter,
                                  const std::function<void(std::string_view line)>& sink) const;

  /// Explains why a message is not moving, in data and in a sentence; empty if the id is unknown. Reads a bounded
  /// number of the rows ahead of it. `BlockReason::notRunning` means, in a reader made from a manager, that no run is
  /// under way in this process; in any other reader, that no process has the outbox open as a manager.
  [[nodiscard]] std::optional<Explanation> explain(std::string_view messageId) const;

  /// Checks every invariant of the file on a connection of its own, at one committed instant. Takes time in proportion
  /// to the file's size. No writer waits, but the log cannot be checkpointed meanwhile.
  [[nodiscard]] VerifyReport verify() const;

  /// The file's version and identity, and the SQLite that reads it.
  [[nodiscard]] FileInfo fileInfo() const;

  /// Copies the file as of this instant to `to`, which must not exist; agents may keep running. The copy has the file's
  /// permissions, is synced with its folder, and needs no log; on a failure it is deleted. `progress` is called now and
  /// then with the number of bytes copied and the total. The log cannot be checkpointed meanwhile. Throws as `verify`;
  /// `cannotOpen` if `to` exists or cannot be created; and what `progress` throws.
  void backUp(const std::filesystem::path& to,
              const std::function<void(std::uint64_t done, std::uint64_t of)>& progress = {}) const;

  /// Up to `limit` senders of inbound frames; those for which this file keeps most come first. The cost grows with the
  /// number of senders.
  [[nodiscard]] std::vector<InboundSenderStats> inboundSenders(std::size_t limit = 100) const;

  /// Up to `limit` stores of one sender of inbound frames; the store with the newest frame comes first. The cost grows
  /// with the number of that sender's stores and sessions.
  [[nodiscard]] std::vector<InboundOriginStats> inboundOrigins(std::string_view source, std::size_t limit = 100) const;

  /// Up to `limit` deferred frames that match `filter`, from the end of the previous page (its `next`, or the `row` of
  /// its last frame); 0: from the start. The cost grows with the rows passed, a bounded number per page.
  [[nodiscard]] InboxPage inbox(const InboxFilter& filter, std::size_t limit = 100, std::int64_t after = 0) const;

  /// A sender's deferred frame; empty if it was never here, or has ended and its end is not kept. If stores or sessions
  /// of that sender have used the id twice, the waiting frame; of several, the oldest. The cost grows with the number
  /// of waiting frames, as does that of `inboxFrame`, `explainInbox` and `inboxSources`. `row` is the frame's
  /// `InboxInfo::row`, if the caller knows it: then only a frame in that row is found, in O(1).
  [[nodiscard]] std::optional<InboxInfo> findInbox(std::string_view source, std::string_view messageId,
                                                   std::int64_t row = 0) const;

  /// The deferred frames that wait for an application, among the first 10,000 of the inbox.
  [[nodiscard]] UnattendedFrames unattendedFrames() const;

  /// The applications that deferred frames are given to, as known to the live process that gives them out; empty if no
  /// process does. Of several processes, the one that opened the file first counts.
  [[nodiscard]] std::vector<Application> applications() const;

  /// The deferred frame as its handler gets it; empty if it has ended, or `findInbox` returns nothing.
  [[nodiscard]] std::optional<InboundFrame> inboxFrame(std::string_view source, std::string_view messageId,
                                                       std::int64_t row = 0) const;

  /// The senders of deferred frames with this id, ordered by name, including frames that have ended.
  [[nodiscard]] std::vector<std::string> inboxSources(std::string_view messageId) const;

  /// Explains why a deferred frame is not done, in data and in a sentence; empty if `findInbox` returns nothing.
  [[nodiscard]] std::optional<InboxExplanation> explainInbox(std::string_view source, std::string_view messageId,
                                                             std::int64_t row = 0) const;

  /// The ids of the live processes that have the file open as managers, delivering or not, once for each manager.
  [[nodiscard]] std::vector<std::int64_t> processIds() const;

private:
  struct Impl;
  explicit OutboxReader(std::unique_ptr<Impl> impl);
  [[nodiscard]] static OutboxReader at(const std::function<std::unique_ptr<const store::Place>()>& place,
                                       OutboxOptions options);
  /// Throws `Error` with `otherProcess` in a child of the process that opened it.
  [[nodiscard]] Impl& here() const;

  std::unique_ptr<Impl> impl_;
};

}  // namespace ackbox
