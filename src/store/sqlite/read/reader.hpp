#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "ackbox/dead_letters.hpp"
#include "ackbox/diagnosis.hpp"
#include "ackbox/frame.hpp"
#include "ackbox/message.hpp"
#include "ackbox/message_page.hpp"
#include "ackbox/options.hpp"
#include "ackbox/stats.hpp"
#include "sqlite/snapshot.hpp"
#include "store/sqlite/read/message_pages.hpp"
#include "store/sqlite/read/status.hpp"

namespace ackbox::store {

/// Throws what opening `file` for reading would: `cannotOpen`, `notADatabase`, `schemaTooNew`, `schemaMissing`, …
void requireOutbox(const std::filesystem::path& file, const OutboxOptions& options);

/// Reads the file on a connection of its own, so that no reader waits for the writer.
///
/// Throws `Error`. Thread-safety: all members may be called from any thread.
class Reader {
public:
  /// The file must have been opened by a `Store` before, or have passed `requireOutbox`.
  Reader(const std::filesystem::path& file, const OutboxOptions& options, Reading reading = Reading::folds);
  ~Reader();

  /// See `ReadConnection`.
  [[nodiscard]] bool isImmutable() const noexcept;
  [[nodiscard]] Stats stats() const;
  [[nodiscard]] std::vector<PeerStats> peerStats() const;
  [[nodiscard]] std::optional<SessionStats> sessionStats(std::string_view peer, std::string_view session) const;
  [[nodiscard]] SessionPage sessions(const SessionFilter& filter, std::size_t limit, std::int64_t after) const;
  [[nodiscard]] std::optional<MessageInfo> find(std::string_view messageId) const;
  [[nodiscard]] std::optional<Frame> frame(std::string_view messageId) const;
  [[nodiscard]] MessagePage messages(const MessageFilter& filter, std::size_t limit, std::int64_t after) const;
  [[nodiscard]] DeadLetterPage deadLetters(const DeadLetterFilter& filter, std::size_t limit, std::int64_t after) const;
  [[nodiscard]] std::vector<KeyedStatus> peers() const;
  [[nodiscard]] std::vector<BlockedSession> blockedSessions(std::size_t limit) const;
  [[nodiscard]] StoredPage storedDeadLetters(const DeadLetterFilter& filter, std::size_t limit,
                                             std::int64_t after) const;
  [[nodiscard]] StoredPage storedMessages(const MessageFilter& filter, std::size_t limit, std::int64_t after) const;
  [[nodiscard]] std::vector<InboundSenderStats> inboundSenders(std::size_t limit) const;
  [[nodiscard]] std::vector<InboundOriginStats> inboundOrigins(std::string_view source, std::size_t limit) const;
  /// The reasons that the file knows; the sentence is the caller's to write.
  [[nodiscard]] std::optional<Explanation> explain(std::string_view messageId) const;
  /// Of the live owners.
  [[nodiscard]] std::vector<std::int64_t> processIds() const;

private:
  struct Body;
  std::unique_ptr<Body> body_;
};

}  // namespace ackbox::store
