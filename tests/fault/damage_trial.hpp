#pragma once

#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "ackbox/inbound_handler.hpp"
#include "ackbox/log.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/sender.hpp"
#include "support/manual_clock.hpp"
#include "support/memory_disk.hpp"
#include "support/temp_dir.hpp"

namespace ackbox::testing {

/// The data put in, by which the data that comes out is checked.
struct DamageLedger {
  struct Entry {
    std::string peer;
    std::string session;
    std::uint64_t sequence = 0;
    std::string type;
    std::string data;
    std::string correlationId;
  };
  /// By message id.
  std::map<std::string, Entry> sent;
  /// The ids of the sent messages that the peers have taken.
  std::set<std::string> taken;
  /// Frames that were received and wait: data by id.
  std::map<std::string, std::string> heard;
};

/// One agent without threads on a disk that may hold damage. It records the data that its sender and its handlers
/// receive, and any report of damage: an error, its log, a dead letter, `verify`.
class DamageTrial {
public:
  DamageTrial(const TempDir& folder, MemoryDisk& disk, DamageLedger ledger, std::uint64_t seed);
  ~DamageTrial();
  DamageTrial(const DamageTrial&) = delete;
  DamageTrial& operator=(const DamageTrial&) = delete;

  /// Enqueues messages and takes frames in for the trials: messages that wait, were tried, were deferred or are dead
  /// letters, and deferred frames that wait. `moment` is called now and then.
  void prepare(const std::function<void()>& moment);
  /// Lets all messages be delivered and all frames be handled.
  void work();
  /// The senders of the waiting frames send them once more, as they do when they ask again. A frame that is then
  /// acknowledged and never handled breaks a promise.
  void hearAgain();
  /// Opens the agent if it is not open. False: an error gives the reason.
  bool open();
  void close();
  /// Findings of `verify` count as reports of damage.
  void verify();
  /// The messages and frames that neither came out, nor are reported as given up, nor are still there.
  [[nodiscard]] std::vector<std::string> missing();
  /// The messages that no peer has taken so far.
  [[nodiscard]] std::set<std::string> untaken() const;

  [[nodiscard]] const DamageLedger& ledger() const noexcept { return ledger_; }
  /// The broken promises: delivered data differs from the original, or an exception other than `Error` was thrown.
  [[nodiscard]] const std::set<std::string>& violations() const noexcept { return violations_; }
  /// The reports of damage; empty: there was no report.
  [[nodiscard]] const std::vector<std::string>& told() const noexcept { return told_; }

  static constexpr const char* kFile = "agent.db";
  /// A session with messages that wait.
  static constexpr const char* kSessionOne = "session-one";

private:
  bool attempt(const char* step, const std::function<void()>& work);
  void enqueue();
  void hear();
  void takeIn(const std::string& id, const std::string& type, const std::string& data);
  void settle();
  [[nodiscard]] SendReport answer(const SendRequest& request);
  /// The part of the message that differs from the enqueued one; empty: no part differs.
  [[nodiscard]] std::string differenceOf(const std::string& peer, const OutboundFrame& frame) const;
  void look(const InboundFrame& frame);
  HandlerResult handle(const InboundFrame& frame);
  void note(const LogRecord& record);
  [[nodiscard]] std::string dataOf(const std::string& id);

  const TempDir& folder_;
  MemoryDisk& disk_;
  DamageLedger ledger_;
  const std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  std::mt19937_64 random_;
  boost::asio::io_context context_;
  std::shared_ptr<Sender> sender_;
  std::optional<OutboxManager> manager_;
  std::optional<InboundHandler> inbound_;
  bool isPreparing_ = false;
  std::set<std::string> handled_;
  // Of the frames that were sent once more.
  std::set<std::string> acknowledged_;
  std::set<std::string> violations_;
  std::vector<std::string> told_;
};

}  // namespace ackbox::testing
