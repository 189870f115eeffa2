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

/// What was put in, by whom it may be recognised when it comes out.
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
  /// Of these, what the peers have taken.
  std::set<std::string> taken;
  /// Frames that came in and wait: data by id.
  std::map<std::string, std::string> heard;
};

/// One agent without threads on a disk that may hold damage. It notes what its sender and its handlers are given, and
/// whether anything tells of damage: an error, its log, a dead letter, `verify`.
class DamageTrial {
public:
  DamageTrial(const TempDir& folder, MemoryDisk& disk, DamageLedger ledger, std::uint64_t seed);
  ~DamageTrial();
  DamageTrial(const DamageTrial&) = delete;
  DamageTrial& operator=(const DamageTrial&) = delete;

  /// Enqueues and takes in what the trials are about: messages that wait, were tried, were deferred and are dead
  /// letters, and deferred frames that wait. `moment` is called now and then.
  void prepare(const std::function<void()>& moment);
  /// Lets everything that is there be delivered and handled.
  void work();
  /// The senders of the frames that wait send them once more, as they do when they ask for the result. What is
  /// acknowledged then and is never handled breaks a promise.
  void hearAgain();
  /// Opens, if it is not open. False: an error tells why not.
  bool open();
  void close();
  /// What `verify` finds counts as told.
  void verify();
  /// What was put in and neither came out, nor is said to be given up, nor is still there.
  [[nodiscard]] std::vector<std::string> missing();
  /// What no peer has taken so far.
  [[nodiscard]] std::set<std::string> untaken() const;

  [[nodiscard]] const DamageLedger& ledger() const noexcept { return ledger_; }
  /// How a promise was broken: what was delivered is not what was put in, or something else than `Error` was thrown.
  [[nodiscard]] const std::set<std::string>& violations() const noexcept { return violations_; }
  /// What told of damage; nothing: nothing did.
  [[nodiscard]] const std::vector<std::string>& told() const noexcept { return told_; }

  static constexpr const char* kFile = "agent.db";
  /// Of a session that messages wait in.
  static constexpr const char* kSessionOne = "session-one";

private:
  bool attempt(const char* step, const std::function<void()>& work);
  void enqueue();
  void hear();
  void takeIn(const std::string& id, const std::string& type, const std::string& data);
  void settle();
  [[nodiscard]] SendReport answer(const SendRequest& request);
  /// What of it is not as it was enqueued; empty: nothing.
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
  // Of those that came once more.
  std::set<std::string> acknowledged_;
  std::set<std::string> violations_;
  std::vector<std::string> told_;
};

}  // namespace ackbox::testing
