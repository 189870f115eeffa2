#pragma once

#include <memory>
#include <string>

#include "ackbox/options.hpp"
#include "store/reader.hpp"

namespace ackbox::store::postgres {

/// Reads the store beside its writers, on a connection of its own. Registers no owner.
class PostgresReader final : public store::Reader {
public:
  /// Throws `schemaMissing`.
  PostgresReader(const std::string& location, const OutboxOptions& options, PeerLookup peers = {});
  ~PostgresReader() override;

  [[nodiscard]] bool isOutdated() const override { return false; }
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
  /// Throws: pg_dump copies a database.
  void backUp(const std::filesystem::path& to,
              const std::function<void(std::uint64_t done, std::uint64_t of)>& progress) const override;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ackbox::store::postgres
