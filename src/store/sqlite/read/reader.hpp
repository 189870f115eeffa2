#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
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
#include "ackbox/stats.hpp"
#include "sqlite/snapshot.hpp"
#include "store/reader.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {

/// Reads the file on a connection of its own, so that no reader waits for the writer.
///
/// Throws `Error`. Thread-safety: all members may be called from any thread.
class SqliteReader final : public store::Reader {
public:
  /// As `openReader`.
  SqliteReader(const std::filesystem::path& file, const OutboxOptions& options, PeerLookup peers = {});
  ~SqliteReader() override;

  [[nodiscard]] bool isOutdated() const override;
  [[nodiscard]] Stats stats() const override;
  [[nodiscard]] std::vector<PeerStats> peerStats() const override;
  [[nodiscard]] std::optional<SessionStats> sessionStats(std::string_view peer,
                                                         std::string_view session) const override;
  [[nodiscard]] SessionPage sessions(const SessionFilter& filter, std::size_t limit, std::int64_t after) const override;
  [[nodiscard]] std::optional<MessageInfo> find(std::string_view messageId) const override;
  [[nodiscard]] std::optional<Frame> frame(std::string_view messageId) const override;
  [[nodiscard]] std::vector<std::string> idsOfKey(std::string_view key, std::size_t limit) const override;
  [[nodiscard]] MessagePage messages(const MessageFilter& filter, std::size_t limit, std::int64_t after) const override;
  [[nodiscard]] DeadLetterPage deadLetters(const DeadLetterFilter& filter, std::size_t limit,
                                           std::int64_t after) const override;
  [[nodiscard]] std::vector<MessageInfo> newestDeadLetters(std::size_t limit) const override;
  [[nodiscard]] std::vector<KeyedStatus> peers() const override;
  [[nodiscard]] std::vector<PeerSubscription> subscriptions() const override;
  [[nodiscard]] std::vector<BlockedSession> blockedSessions(std::size_t limit) const override;
  [[nodiscard]] StoredPage storedDeadLetters(const DeadLetterFilter& filter, std::size_t limit,
                                             std::int64_t after) const override;
  [[nodiscard]] StoredPage storedMessages(const MessageFilter& filter, std::size_t limit,
                                          std::int64_t after) const override;
  [[nodiscard]] std::vector<InboundSenderStats> inboundSenders(std::size_t limit) const override;
  [[nodiscard]] std::vector<InboundOriginStats> inboundOrigins(std::string_view source,
                                                               std::size_t limit) const override;
  [[nodiscard]] std::optional<Explanation> explain(std::string_view messageId) const override;
  [[nodiscard]] InboxPage inbox(const InboxFilter& filter, std::size_t limit, std::int64_t after) const override;
  [[nodiscard]] UnattendedFrames unattendedFrames() const override;
  [[nodiscard]] std::vector<Application> applications() const override;
  [[nodiscard]] std::optional<InboxInfo> findInbox(std::string_view source, std::string_view messageId,
                                                   std::int64_t row) const override;
  [[nodiscard]] std::optional<InboundFrame> inboxFrame(std::string_view source, std::string_view messageId,
                                                       std::int64_t row) const override;
  [[nodiscard]] std::vector<std::string> inboxSources(std::string_view messageId) const override;
  [[nodiscard]] std::optional<InboxExplanation> explainInbox(std::string_view source, std::string_view messageId,
                                                             std::int64_t row) const override;
  [[nodiscard]] std::vector<std::int64_t> processIds() const override;
  [[nodiscard]] FileInfo fileInfo() const override;
  [[nodiscard]] VerifyReport verify() const override;
  void backUp(const std::filesystem::path& to,
              const std::function<void(std::uint64_t done, std::uint64_t of)>& progress) const override;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ackbox::store::sqlite
