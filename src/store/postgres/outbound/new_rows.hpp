#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/frame.hpp"
#include "delivery/types.hpp"
#include "store/postgres/context.hpp"
#include "store/postgres/memory.hpp"

namespace ackbox::store::postgres {

/// Identifies a session's row: by its name, or as a peer's queue of unordered messages of one priority.
struct SessionName {
  delivery::PeerKey peer = 0;
  std::string name;
  /// 0 for a session.
  int lane = 0;

  auto operator<=>(const SessionName&) const = default;  // NOLINT(modernize-use-nullptr): version 14 misreads it
};

/// The end of a session whose gate this transaction holds.
struct SessionTail {
  delivery::SessionKey session = 0;
  std::uint64_t lastSequence = 0;
  int priority = kPriorityDefault;
  /// Which of the transaction's gates this is.
  std::size_t gate = 0;
  /// Drawn behind the gate; 0: it is used.
  delivery::MessageKey key = 0;
};

/// A message to be stored.
struct NewRow {
  delivery::MessageKey key = 0;
  delivery::SessionKey session = 0;
  std::uint64_t sequence = 0;
  WallTime enqueuedAt{};
  std::optional<WallTime> notBefore = {};
  std::string messageId;
  Frame frame;
};

/// The rows that a transaction appends: the ends of their sessions, their keys, and the rows until they are written
/// together.
///
/// A key is drawn after the session's gate was passed, so keys rise in each session in the order of its commits.
class NewRows final : public Memory {
public:
  explicit NewRows(Context& context) : context_(context) {}

  /// Passes the session's gate, and makes the session if it does not exist. Valid until the next call.
  [[nodiscard]] SessionTail& tailOf(const SessionName& session, int priority);
  [[nodiscard]] delivery::MessageKey newKey(SessionTail& tail);
  /// Passes the gates of many sessions at once, in their order, which is the same in every process: so no two of them
  /// wait for each other in turn. With the priority of a session that does not exist, which is made only if `makes`.
  void passGates(const std::map<SessionName, int>& sessions, bool makes);
  /// As `tailOf`; null for a session that does not exist.
  [[nodiscard]] SessionTail* findTail(const SessionName& session);
  void add(NewRow&& row);
  /// The priority of the session's messages, from now on.
  void setPriority(SessionTail& tail, int priority);
  /// A number goes, and a later message of its session stays: no transaction with an older snapshot passes the gate.
  void outdate(delivery::SessionKey session);

  void flush() override;
  void committed() noexcept override { forget(); }
  void rolledBack() noexcept override { forget(); }
  void scopeUndone() noexcept override { forget(); }
  void forget() noexcept;

private:
  SessionTail& passed(const SessionName& session, const Row& gate);

  // More are written at once. Each byte of their data takes some ten of memory on its way, and the server takes no
  // message of 1 GiB.
  static constexpr std::size_t kGatheredMax = 256;
  static constexpr std::size_t kGatheredBytesMax = std::size_t{4} << 20U;

  Context& context_;
  std::map<SessionName, SessionTail> tails_;
  std::vector<NewRow> rows_;
  std::size_t bytes_ = 0;
  // In ascending order, from the back.
  std::vector<delivery::MessageKey> keys_;
  // How many gates were passed, and how many of them before the keys were drawn.
  std::size_t gates_ = 0;
  std::size_t gatesOfKeys_ = 0;
  std::int64_t drawn_ = 1;
  // Whose numbers were given by a snapshot that may be old.
  std::vector<delivery::SessionKey> unproven_;
};

}  // namespace ackbox::store::postgres
