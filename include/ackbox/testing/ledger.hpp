#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ackbox/frame.hpp"
#include "ackbox/message.hpp"

namespace SQLite {
class Database;
}

namespace ackbox::testing {

/// One frame that a sender of the world enqueued, and its outcome.
struct SentFrame {
  /// Its place in the order in which the senders got the frames, from 1.
  std::uint64_t number = 0;
  /// The name of the sender's process, such as `alice`; its agent URI is `urn:agent:` and this name.
  std::string sender = {};
  /// The frame as enqueued, with its id: `m` and the number.
  Frame frame = {};
  /// Its number in its session, from 1; 0 if it has no session.
  std::uint64_t sequence = 0;
  /// Its final state at the sender: `acked`, or `failed` with the reason.
  MessageState state = MessageState::pending;
  std::string reason = {};
  /// The JSON text of the handler's answer, if the sender was running when it came; otherwise empty.
  std::string result = {};
};

/// One frame that the receiver enqueued and that took effect at its destination.
struct ReceivedReply {
  /// The name of the process.
  std::string to = {};
  std::string id = {};
  std::string session = {};
  std::string type = {};
  std::string data = {};
  /// The frame that it answers, if the handler said so (`Frame::correlationId`).
  std::string correlationId = {};
};

/// The events of one world, recorded outside the handler, for an invariant to compare with the receiver's file.
///
/// Each check returns what is wrong, one line for each fault, ended by a newline; empty if nothing is. Texts of several
/// checks can be concatenated. All throw `SQLite::Exception` if the query fails.
///
/// Thread-safety: none. Lifetime: the call of the invariant.
class Ledger {
public:
  /// All frames that the senders enqueued, by number. Each was stored, also where its sender was killed meanwhile.
  [[nodiscard]] const std::vector<SentFrame>& sent() const noexcept { return sent_; }

  /// The frames that the receiver applied: the handler's `ack` for them was committed. In the order of those commits,
  /// followed by the frames that a `DeferredHandler` ended, in the order of their commits.
  [[nodiscard]] const std::vector<SentFrame>& applied() const noexcept { return applied_; }

  /// The frames that the receiver enqueued and its peers applied, by peer, in the order in which they were applied.
  [[nodiscard]] const std::vector<ReceivedReply>& replies() const noexcept { return replies_; }

  /// The world's folder, with the receiver's file and any files that the handler made beside it.
  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }

  /// `effects` is a query, such as `SELECT frame FROM deposits`, with a frame's id in its first column and one row for
  /// each effect. Each applied frame must have exactly one effect, each other frame none.
  [[nodiscard]] std::string eachOnce(SQLite::Database& database, const std::string& effects) const;

  /// As `eachOnce`, and the effects of each session of a sender must be in the order of the sequences. The query must
  /// return the effects in the order in which they were made, such as `SELECT frame FROM deposits ORDER BY rowid`.
  [[nodiscard]] std::string eachOnceInOrder(SQLite::Database& database, const std::string& effects) const;

  /// `effects` is a query as for `eachOnce`, one row for each effect that a reply answers. There must be exactly one
  /// reply for each such row, with the row's id as its `correlationId`, and no other reply. If the query has a second
  /// column, the reply's data must equal it.
  [[nodiscard]] std::string repliesEqualEffects(SQLite::Database& database, const std::string& effects) const;

private:
  friend class HandlerWorld;
  std::vector<SentFrame> sent_;
  std::vector<SentFrame> applied_;
  std::vector<ReceivedReply> replies_;
  std::filesystem::path folder_;
};

}  // namespace ackbox::testing
