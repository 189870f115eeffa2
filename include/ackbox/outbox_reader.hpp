#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "ackbox/dead_letters.hpp"
#include "ackbox/diagnosis.hpp"
#include "ackbox/message_page.hpp"
#include "ackbox/options.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/peer_status.hpp"
#include "ackbox/stats.hpp"

namespace ackbox {

/// Looks at an outbox file without taking part in it: writes nothing, owns nothing, keeps no writer waiting. For tools
/// and monitors beside running agents; a file that may only be read will do, also when no agent runs. The file and its
/// log stay as they are, also where a killed agent left the log behind.
///
/// Each call sees one committed instant. All throw `Error` as reads fail (`databaseBusy`, `databaseCorrupt`, `ioError`,
/// `databaseError`).
///
/// Thread-safety: all members may be called from any thread.
class OutboxReader {
public:
  /// Opens the outbox in `file`, which must be there, with the tables of this version. Of `options` it uses
  /// `tablePrefix`, `vfs`, `busyTimeout`, `clock`, `trustSchema` and `retry.horizon`.
  ///
  /// Throws `Error`: `invalidOption`, `cannotOpen`, `databaseBusy`, `schemaTooNew`, `schemaMissing`, `notADatabase`,
  /// `databaseCorrupt`, `ioError`, `databaseError`. The file is not changed, whatever happens.
  [[nodiscard]] static OutboxReader open(const std::filesystem::path& file, OutboxOptions options = {});

  OutboxReader(OutboxReader&&) noexcept;
  OutboxReader& operator=(OutboxReader&&) noexcept;
  OutboxReader(const OutboxReader&) = delete;
  OutboxReader& operator=(const OutboxReader&) = delete;
  ~OutboxReader();

  /// As the members of `OutboxManager` of the same names.
  [[nodiscard]] Stats getStats() const;
  [[nodiscard]] std::vector<PeerStats> peerStats() const;
  [[nodiscard]] std::optional<SessionStats> sessionStats(std::string_view peer, std::string_view session) const;
  [[nodiscard]] SessionPage sessions(const SessionFilter& filter = {}, std::size_t limit = 100,
                                     std::int64_t after = 0) const;
  [[nodiscard]] std::optional<MessageInfo> find(std::string_view messageId) const;
  [[nodiscard]] std::optional<Frame> frame(std::string_view messageId) const;
  [[nodiscard]] MessagePage messages(const MessageFilter& filter, std::size_t limit = 100,
                                     std::int64_t after = 0) const;
  [[nodiscard]] DeadLetterPage deadLetters(const DeadLetterFilter& filter, std::size_t limit = 100,
                                           std::int64_t after = 0) const;
  [[nodiscard]] std::vector<BlockedSession> blockedSessions(std::size_t limit = 100) const;
  [[nodiscard]] VerifyReport verify() const;

  /// Up to `limit` (1 to 10,000) senders of inbound frames, those that make this file keep most first. Costs by the
  /// number of senders. Throws `invalidOption` besides.
  [[nodiscard]] std::vector<InboundSenderStats> inboundSenders(std::size_t limit = 100) const;

  /// As `OutboxManager::peers`, by what the file says: `isConfigured` and the gauges of a run are not in it, and stay
  /// false and 0.
  [[nodiscard]] std::vector<PeerStatus> peers() const;

  /// As `OutboxManager::explain`, by what the file says. `BlockReason::notRunning` stands for: no process has the file
  /// open as a manager, so that nobody can deliver it.
  [[nodiscard]] std::optional<Explanation> explain(std::string_view messageId) const;

  /// The ids of the live processes that have the file open as managers, delivering or not, once for each manager.
  [[nodiscard]] std::vector<std::int64_t> processIds() const;

private:
  struct Body;
  explicit OutboxReader(std::unique_ptr<Body> body);

  std::unique_ptr<Body> body_;
};

}  // namespace ackbox
