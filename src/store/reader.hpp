#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/dead_letters.hpp"
#include "ackbox/diagnosis.hpp"
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
#include "delivery/types.hpp"

namespace ackbox::store {

/// A peer's status, with the peer's key in a run.
struct KeyedStatus {
  delivery::PeerKey key = 0;
  PeerStatus status;
};

/// The options of a peer; null: it is no peer of this process. Thread-safe.
using PeerLookup = std::function<std::shared_ptr<const PeerOptions>(std::string_view name)>;

/// All fields of a message, for an export.
struct StoredMessage {
  MessageInfo info;
  std::optional<WallTime> expiresAt;
  std::optional<WallTime> notBefore;
  std::uint64_t priority = 0;
  std::string supersedeKey;
  std::string traceparent;
  std::string correlationId;
  std::string resentOf;
  std::string data;
  /// The row of the message, or of its session, is not what was written.
  bool isDamaged = false;
};

/// As `MessagePage`.
struct StoredPage {
  std::vector<StoredMessage> messages;
  std::int64_t next = 0;
};

/// Reads a store beside its writer, and never waits for the writer. Each call reads one snapshot.
///
/// Throws `Error`. Thread-safety: all members may be called from any thread.
class Reader {
public:
  Reader() = default;
  virtual ~Reader() = default;
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  /// Whether the file was opened as immutable and has been changed since: the reader must then be opened again. Throws
  /// as the file system functions do.
  [[nodiscard]] virtual bool isOutdated() const = 0;
  [[nodiscard]] virtual Stats stats() const = 0;
  [[nodiscard]] virtual std::vector<PeerStats> peerStats() const = 0;
  [[nodiscard]] virtual std::optional<SessionStats> sessionStats(std::string_view peer,
                                                                 std::string_view session) const = 0;
  [[nodiscard]] virtual SessionPage sessions(const SessionFilter& filter, std::size_t limit,
                                             std::int64_t after) const = 0;
  [[nodiscard]] virtual std::optional<MessageInfo> find(std::string_view messageId) const = 0;
  [[nodiscard]] virtual std::optional<Frame> frame(std::string_view messageId) const = 0;
  [[nodiscard]] virtual std::vector<std::string> idsOfKey(std::string_view key, std::size_t limit) const = 0;
  [[nodiscard]] virtual MessagePage messages(const MessageFilter& filter, std::size_t limit,
                                             std::int64_t after) const = 0;
  [[nodiscard]] virtual DeadLetterPage deadLetters(const DeadLetterFilter& filter, std::size_t limit,
                                                   std::int64_t after) const = 0;
  [[nodiscard]] virtual std::vector<MessageInfo> newestDeadLetters(std::size_t limit) const = 0;
  [[nodiscard]] virtual std::vector<KeyedStatus> peers() const = 0;
  /// Ordered by name.
  [[nodiscard]] virtual std::vector<PeerSubscription> subscriptions() const = 0;
  [[nodiscard]] virtual std::vector<BlockedSession> blockedSessions(std::size_t limit) const = 0;
  [[nodiscard]] virtual StoredPage storedDeadLetters(const DeadLetterFilter& filter, std::size_t limit,
                                                     std::int64_t after) const = 0;
  [[nodiscard]] virtual StoredPage storedMessages(const MessageFilter& filter, std::size_t limit,
                                                  std::int64_t after) const = 0;
  [[nodiscard]] virtual std::vector<InboundSenderStats> inboundSenders(std::size_t limit) const = 0;
  [[nodiscard]] virtual std::vector<InboundOriginStats> inboundOrigins(std::string_view source,
                                                                       std::size_t limit) const = 0;
  /// The reasons that the file shows; the caller adds the sentence.
  [[nodiscard]] virtual std::optional<Explanation> explain(std::string_view messageId) const = 0;
  [[nodiscard]] virtual InboxPage inbox(const InboxFilter& filter, std::size_t limit, std::int64_t after) const = 0;
  [[nodiscard]] virtual UnattendedFrames unattendedFrames() const = 0;
  /// The applications that the first live owner with any has noted by `Inbox::noteApplications`.
  [[nodiscard]] virtual std::vector<Application> applications() const = 0;
  /// See `OutboxReader::findInbox` for `row`, here and below.
  [[nodiscard]] virtual std::optional<InboxInfo> findInbox(std::string_view source, std::string_view messageId,
                                                           std::int64_t row = 0) const = 0;
  [[nodiscard]] virtual std::optional<InboundFrame> inboxFrame(std::string_view source, std::string_view messageId,
                                                               std::int64_t row = 0) const = 0;
  [[nodiscard]] virtual std::vector<std::string> inboxSources(std::string_view messageId) const = 0;
  /// As `explain`.
  [[nodiscard]] virtual std::optional<InboxExplanation> explainInbox(std::string_view source,
                                                                     std::string_view messageId,
                                                                     std::int64_t row = 0) const = 0;
  /// Of the live owners.
  [[nodiscard]] virtual std::vector<std::int64_t> processIds() const = 0;
  [[nodiscard]] virtual FileInfo fileInfo() const = 0;
  /// Checks every invariant of the store in one snapshot, on a connection of its own.
  [[nodiscard]] virtual VerifyReport verify() const = 0;
  /// See `OutboxReader::backUp`.
  virtual void backUp(const std::filesystem::path& to,
                      const std::function<void(std::uint64_t done, std::uint64_t of)>& progress) const = 0;
};

}  // namespace ackbox::store
