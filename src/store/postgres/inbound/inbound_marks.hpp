#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "store/decisions/marking.hpp"
#include "store/postgres/context.hpp"
#include "store/postgres/memory.hpp"
#include "store/store.hpp"

namespace ackbox::store::postgres {

/// The marks of processed frames. The mark of a session is locked from the admission of its first frame to the end of
/// the transaction, and remembered as long: two hosts take the frames of a session one after the other. Of two that
/// make the same mark, its table refuses one, with `databaseBusy`.
///
/// All in a transaction; changed outside nested scopes only. Thread-safety: none.
class InboundMarks final : public store::InboundMarks, public Memory {
public:
  explicit InboundMarks(Context& context) : context_(context) {}

  [[nodiscard]] AdmissionReply admit(const InboundIdentity& frame) override;
  void markAccepted(const InboundIdentity& frame, std::uint64_t gap, const MarkLife& life) override;
  void markProcessed(const InboundIdentity& frame, std::uint64_t gap, const MarkLife& life) override;
  /// Keeps the mark of a frame outside sessions at least until `least`, and makes it again if it has expired. Returns
  /// until when it is kept.
  WallTime prolong(const InboundFrame& frame, WallTime least);
  void countDuplicate() override { context_.counts.add(Count::duplicates, 1); }
  void countRefused(Admission admission) override;
  void countRefusals(std::uint64_t unauthenticated, std::uint64_t forbidden) override;
  std::size_t purge(std::size_t limit) override;
  [[nodiscard]] std::optional<InboundLimit> limitReached(const InboundIdentity& frame,
                                                         const InboundLimits& limits) override;
  /// The same for the final outcome of a deferred frame; counts nothing.
  [[nodiscard]] std::optional<InboundLimit> resultLimitReached(std::string_view source, const InboundLimits& limits);
  ForgetReport forgetSender(std::string_view source, std::optional<std::string_view> origin, ForgetPlace& place,
                            std::size_t limit) override;

  void flush() override;
  void committed() noexcept override { forget(); }
  void rolledBack() noexcept override { forget(); }
  void scopeUndone() noexcept override { forget(); }

private:
  static constexpr std::size_t kSweptEach = 16;
  static constexpr std::size_t kSweptAtLimit = 512;

  struct Mark : SessionMark {
    /// The key of its row; 0 if it has none.
    std::int64_t key = 0;
    // The changes that the row does not have yet.
    bool isChanged = false;
    std::uint64_t gaps = 0;
  };
  struct Slice {
    std::size_t looked = 0;
    std::size_t dropped = 0;
  };

  /// Valid until the next call.
  [[nodiscard]] Mark& markOf(const InboundIdentity& frame);
  [[nodiscard]] SenderStore& originOf(const InboundIdentity& frame);
  void markOrigin(const InboundIdentity& frame, WallTime now, std::chrono::milliseconds silence);
  [[nodiscard]] std::optional<InboundLimit> findLimit(const InboundIdentity& frame, const InboundLimits& limits);
  [[nodiscard]] std::optional<InboundLimit> bytesLimitReached(std::string_view source, const InboundLimits& limits);
  void forget() noexcept;

  // --- forgetting.cpp: what may go.
  void closeSilent(std::string_view source, WallTime now, std::chrono::milliseconds silence);
  /// Looks at up to `limit` sessions of closed stores, and deletes those that are no longer needed.
  void sweep(std::string_view source, std::size_t limit);
  /// What becomes of a session that another transaction holds.
  enum class WhenHeld : std::uint8_t { leave, wait };
  Slice dropSessions(std::string_view source, std::optional<std::string_view> origin, ForgetPlace& place,
                     std::size_t limit, WhenHeld whenHeld);
  std::size_t forgetOrigins(std::string_view source, std::optional<std::string_view> origin, ForgetPlace& place,
                            std::size_t limit, ForgetReport& report);
  std::size_t forgetResults(std::string_view source, std::optional<std::string_view> origin, ForgetPlace& place,
                            std::size_t limit, ForgetReport& report);
  std::size_t forgetMarks(std::string_view source, ForgetPlace& place, std::size_t limit, ForgetReport& report);

  Context& context_;
  std::map<std::string, Mark, std::less<>> sessions_;
  std::map<std::string, SenderStore, std::less<>> origins_;
  // Frames outside sessions that had no mark when they were admitted.
  std::set<std::string> absent_;
};

}  // namespace ackbox::store::postgres
