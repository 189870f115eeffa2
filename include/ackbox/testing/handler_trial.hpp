#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "ackbox/frame.hpp"
#include "ackbox/frame_handler.hpp"
#include "ackbox/inbound_frame.hpp"
#include "ackbox/sender.hpp"

namespace SQLite {
class Database;
}

namespace ackbox::testing {

/// Options of a `HandlerTrial`.
struct HandlerTrialOptions {
  /// SQL that makes the handler's tables and rows. Default: none.
  std::string schema = {};
  /// The peers that the handler may enqueue to. Default: `alice`.
  std::vector<std::string> peers = {"alice"};
  /// The receiver's agent URI.
  std::string agent = "urn:agent:bank";
};

/// The result of one call of a handler.
struct HandlerTrialResult {
  /// Whether the handler was called; it is not for a frame that is a duplicate, has expired or is refused.
  bool wasCalled = false;
  /// The handler's result; if it threw, the `notNow` that stands for the exception.
  HandlerResult result = {};
  /// The text of the handler's exception; empty if it did not throw.
  std::string thrown = {};
  /// The answer that the sender would get.
  FrameResult answer = {};
  /// The frames that the handler enqueued, as far as they were committed, with the assigned ids; and what it published,
  /// for the peer `*`, without one: in a trial, nobody has subscribed (`PublishStatus::noSubscriber`).
  std::vector<Frame> enqueued = {};
  /// The changed rows of the application's tables, by table: `- table: column=value, …` for a row that was removed, `+`
  /// for one that was added; a row that was updated appears as one of each.
  std::vector<std::string> written = {};
};

/// A receiver for unit tests of a handler: one temporary file, no faults, one frame at a time. Each frame takes the
/// steps of production: admission, savepoint, handler, mark, commit.
///
/// Thread-safety: none. Lifetime: the file is deleted with this object.
class HandlerTrial {
public:
  /// Throws `SQLite::Exception` when `schema` fails, `Error` as `OutboxManager::open`.
  explicit HandlerTrial(const HandlerTrialOptions& options = {});
  HandlerTrial(const HandlerTrial&) = delete;
  HandlerTrial& operator=(const HandlerTrial&) = delete;
  ~HandlerTrial();

  /// Gives `frame` to `handler` and returns when its transaction has ended. Fields that `frame` leaves out are filled
  /// in: `id` (`frame-1`, `frame-2`, …), `source` (`urn:agent:alice`), `type` (`test.frame`), and in a session `origin`
  /// and the sequence numbers, one above the last of the session.
  ///
  /// A `defer` is answered as in production, but nothing works on the frame afterwards.
  HandlerTrialResult run(const FrameHandler& handler, InboundFrame frame);

  /// A connection to the file, to prepare rows and to look at them.
  [[nodiscard]] SQLite::Database& database();

private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ackbox::testing
