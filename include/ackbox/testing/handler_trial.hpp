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

/// What `HandlerTrial` makes its file with.
struct HandlerTrialOptions {
  /// SQL that makes the handler's tables and rows. Default: none.
  std::string schema = {};
  /// The peers that the handler may enqueue to. Default: `alice`.
  std::vector<std::string> peers = {"alice"};
  /// The receiver's agent URI.
  std::string agent = "urn:agent:bank";
};

/// What one call of a handler came to.
struct HandlerTrialResult {
  /// Whether the handler was called: not with a frame that is a duplicate, has expired or is refused.
  bool wasCalled = false;
  /// What it returned; when it threw, the `notNow` that stands for that.
  HandlerResult result = {};
  /// The text of what it threw; empty: nothing.
  std::string thrown = {};
  /// What the sender would be answered.
  FrameResult answer = {};
  /// What it enqueued, as far as it was committed, with the ids that were assigned.
  std::vector<Frame> enqueued = {};
  /// The rows by which the application's tables differ from before, by table: `- table: column=value, …` for a row that
  /// is gone, `+` for one that has come; a changed row is one of each.
  std::vector<std::string> written = {};
};

/// A receiver for unit tests of a handler: one temporary file, no faults, nothing beside the frame at hand. Each frame
/// goes the way of production: admission, savepoint, handler, mark, commit.
///
/// Thread-safety: none. Lifetime: the file goes with it.
class HandlerTrial {
public:
  /// Throws `SQLite::Exception` when `schema` fails, `Error` as `OutboxManager::open`.
  explicit HandlerTrial(const HandlerTrialOptions& options = {});
  HandlerTrial(const HandlerTrial&) = delete;
  HandlerTrial& operator=(const HandlerTrial&) = delete;
  ~HandlerTrial();

  /// Gives `frame` to `handler` and returns when its transaction has ended. What `frame` leaves out is filled in: `id`
  /// (`frame-1`, `frame-2`, …), `source` (`urn:agent:alice`), `type` (`test.frame`), and in a session `origin` and the
  /// sequence numbers, one above the last of the session.
  ///
  /// A deferral is answered as in production; nothing works on the frame then.
  HandlerTrialResult run(const FrameHandler& handler, InboundFrame frame);

  /// A connection to the file, to prepare rows and to look at them.
  [[nodiscard]] SQLite::Database& database();

private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ackbox::testing
