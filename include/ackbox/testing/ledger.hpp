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

/// One frame that a sender of the world enqueued, and what became of it.
struct SentFrame {
  /// In the order in which the senders were given them, from 1.
  std::uint64_t number = 0;
  /// The name of the sender's process, such as `alice`; its agent URI is `urn:agent:` and this name.
  std::string sender = {};
  /// As it was enqueued, its id among it: `m` and the number.
  Frame frame = {};
  /// Its place in its session, from 1; 0: it has no session.
  std::uint64_t sequence = 0;
  /// At its sender in the end: `acked`, or `failed` with the reason.
  MessageState state = MessageState::pending;
  std::string reason = {};
  /// The JSON text that the handler answered with, if the sender was running when it came; otherwise empty.
  std::string result = {};
};

/// One frame that the receiver enqueued and that took effect at the process it was for.
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

/// What happened in one world, seen from outside the handler: what an invariant compares the receiver's file with.
///
/// Each check returns what is wrong, a line for each fault, ended by a newline; an empty text: nothing. Texts of
/// several checks can be added up. All throw `SQLite::Exception` when the query fails.
///
/// Thread-safety: none. Lifetime: the call of the invariant.
class Ledger {
public:
  /// All frames that the senders enqueued, by number. Each was stored, also where its sender was killed meanwhile.
  [[nodiscard]] const std::vector<SentFrame>& sent() const noexcept { return sent_; }

  /// The frames that the receiver took into effect: the handler's `ack` for them was committed. In the order of those
  /// commits; behind them, in the same order among themselves, those of which a `DeferredHandler` committed the end.
  [[nodiscard]] const std::vector<SentFrame>& applied() const noexcept { return applied_; }

  /// What the receiver enqueued and its peers took into effect, by peer, in the order in which they did.
  [[nodiscard]] const std::vector<ReceivedReply>& replies() const noexcept { return replies_; }

  /// The world's folder, with the receiver's file and whatever the handler made beside it.
  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }

  /// `effects` is a query whose first column is the id of a frame, a row for each effect, such as
  /// `SELECT frame FROM deposits`. Each applied frame must have exactly one effect, each other frame none.
  [[nodiscard]] std::string eachOnce(SQLite::Database& database, const std::string& effects) const;

  /// The same, and of each sender's sessions the effects must be in the order of the sequence numbers. The query must
  /// return the effects in the order in which they were made, such as `SELECT frame FROM deposits ORDER BY rowid`.
  [[nodiscard]] std::string eachOnceInOrder(SQLite::Database& database, const std::string& effects) const;

  /// `effects` as for `eachOnce`, a row for each effect that is answered by a frame. There must be one reply for each
  /// such row, its `correlationId` that id, and no other. With a second column, the reply's data must be that text.
  [[nodiscard]] std::string repliesEqualEffects(SQLite::Database& database, const std::string& effects) const;

private:
  friend class HandlerWorld;
  std::vector<SentFrame> sent_;
  std::vector<SentFrame> applied_;
  std::vector<ReceivedReply> replies_;
  std::filesystem::path folder_;
};

}  // namespace ackbox::testing
