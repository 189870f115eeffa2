#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "store/decisions/marking.hpp"
#include "store/sqlite/context.hpp"
#include "store/store.hpp"

namespace ackbox::store::sqlite {

/// The marks of processed frames: a high-water mark per inbound session, kept forever (P6), and a mark per frame
/// outside any session, kept for a limited time.
///
/// Sessions' marks are kept in memory, and written once per commit, even if several frames moved them. Changed only
/// outside nested scopes.
///
/// All in a transaction. Thread-safety: none.
class InboundMarks final : public store::InboundMarks, public UnscopedWriteBack {
public:
  explicit InboundMarks(Context& context);

  [[nodiscard]] AdmissionReply admit(const InboundIdentity& frame) override;
  void markAccepted(const InboundIdentity& frame, std::uint64_t gap, const MarkLife& life) override;
  void markProcessed(const InboundIdentity& frame, std::uint64_t gap, const MarkLife& life) override;
  /// Keeps the mark of a frame outside sessions at least until `least`, and makes it again if it has expired. Returns
  /// until when it is kept.
  WallTime prolong(const InboundFrame& frame, WallTime least);
  void countDuplicate() override;
  void countRefused(Admission admission) override;
  void countRefusals(std::uint64_t unauthenticated, std::uint64_t forbidden) override;
  std::size_t purge(std::size_t limit) override;
  [[nodiscard]] std::optional<InboundLimit> limitReached(const InboundIdentity& frame,
                                                         const InboundLimits& limits) override;
  /// The same for the final outcome of a deferred frame; counts nothing.
  [[nodiscard]] std::optional<InboundLimit> resultLimitReached(std::string_view source, const InboundLimits& limits);
  ForgetReport forgetSender(std::string_view source, std::optional<std::string_view> origin, ForgetPlace& place,
                            std::size_t limit) override;

  /// Writes the marks that moved.
  void flush() override;
  void forget() noexcept override;
  [[nodiscard]] bool isPending() const noexcept override { return !changed_.empty(); }

private:
  // The number of senders' stores that are kept in memory.
  static constexpr std::size_t kOriginsMax = 1'024;
  // The number of sessions of closed stores that are deleted for each new session, and for a sender at its limit.
  static constexpr std::size_t kSweptEach = 4;
  static constexpr std::size_t kSweptAtLimit = 256;

  [[nodiscard]] std::optional<InboundLimit> findLimit(const InboundIdentity& frame, const InboundLimits& limits);

  struct Mark : SessionMark {
    /// The key of its row; 0 if it has none.
    std::int64_t key = 0;
    // The changes that the row does not have yet.
    bool isChanged = false;
    std::int64_t gaps = 0;
    WallTime updatedAt;
  };

  /// Valid until the next call with another frame.
  Mark& markOf(const InboundIdentity& frame);
  /// `frame` must be the one of the last `markOf`. Valid until the next call.
  SenderStore& originOf(const InboundIdentity& frame);
  [[nodiscard]] std::optional<InboundLimit> bytesLimitReached(std::string_view source, const InboundLimits& limits);
  /// Records that a frame of the store was accepted.
  void markOrigin(const InboundIdentity& frame, WallTime now, std::chrono::milliseconds silence);

  // --- forgetting.cpp: what may go.
  /// Closes a few stores of the sender that were silent for `silence` after another store replaced them.
  void closeSilent(std::string_view source, WallTime now, std::chrono::milliseconds silence);
  /// A position among a sender's sessions, in the order of their names.
  struct SessionPlace {
    std::string origin;
    std::string session;
  };
  struct Slice {
    std::size_t looked = 0;
    std::size_t dropped = 0;
  };
  /// Looks at up to `limit` closed stores and their sessions, and deletes those that are no longer needed.
  void sweep(std::string_view source, std::size_t limit);
  /// Looks at up to `limit` sessions from `place` on, of one store or of all, deletes those without frames in the
  /// inbox, and moves `place` behind them.
  Slice dropSessions(std::string_view source, std::optional<std::string_view> origin, SessionPlace& place,
                     std::size_t limit);
  // Steps of `forgetSender`: each looks at up to `limit` rows of one table from `place` on, and returns their number.
  std::size_t forgetSessions(std::string_view source, std::optional<std::string_view> origin, ForgetPlace& place,
                             std::size_t limit, ForgetReport& report);
  std::size_t forgetOrigins(std::string_view source, std::optional<std::string_view> origin, ForgetPlace& place,
                            std::size_t limit, ForgetReport& report);
  std::size_t forgetResults(std::string_view source, std::optional<std::string_view> origin, ForgetPlace& place,
                            std::size_t limit, ForgetReport& report);
  std::size_t forgetMarks(std::string_view source, ForgetPlace& place, std::size_t limit, ForgetReport& report);

  Context& context_;
  Statement selectOrigin_;
  Statement markOrigin_;
  Statement selectSession_;
  Statement insertSession_;
  Statement updateSession_;
  Statement selectMessage_;
  Statement markMessage_;
  Statement prolong_;
  Statement purge_;
  Statement closeSilent_;
  Statement selectClosing_;
  Statement closeSwept_;
  Statement selectSessions_;
  Statement dropSession_;
  Statement selectOrigins_;
  Statement dropOrigin_;
  Statement selectResults_;
  Statement dropResult_;
  Statement selectMarks_;
  Statement dropMark_;
  // The stores of senders that sent recently.
  std::map<std::string, SenderStore, std::less<>> origins_;
  // Where to continue the sweep of a sender with closed stores. A hint: without it the sweep begins at the first store.
  std::map<std::string, SessionPlace, std::less<>> sweeps_;
  std::unordered_map<std::string, Mark> sessions_;
  std::vector<Mark*> changed_;
  // Rewritten by each lookup; a member to reuse its memory. It begins with the name of the sender's store.
  std::string name_;
};

}  // namespace ackbox::store::sqlite
