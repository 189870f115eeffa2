#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/log.hpp"
#include "ackbox/secret.hpp"
#include "base/mutex.hpp"
#include "protocol/exposition.hpp"
#include "serve/config/config.hpp"

namespace ackbox::serve {

/// Secrets that cannot be used.
struct SecretProblem {
  /// The list of the configuration: `peers`, `inbox.peers`, `inbox.deliver` or `inbox.fetch`; followed by `.headers`
  /// for headers, and by `.oauth` for tokens.
  std::string use;
  /// The peer's name, the first of its agents, or the URL of the application or the mailbox.
  std::string name;
  std::string cause;
  WallTime since;
};

/// Checks every ten seconds whether all secrets of a configuration, and of added peers, can be read and used. Requests
/// find out as well, but only when one comes: until then the loss of a file would show nowhere. What becomes of the
/// earlier secrets is decided where they are used (`SecretSource`).
///
/// Thread-safety: all members may be called from any thread.
class SecretWatch : public std::enable_shared_from_this<SecretWatch> {
public:
  SecretWatch(boost::asio::any_io_executor executor, std::shared_ptr<Clock> clock, const Config& config);

  void start();
  void stop();

  /// Watches the secrets of a peer that was added at run time, in place of those that it had. `tokens` may be null.
  void watchAdded(const PeerOptions& peer, const std::shared_ptr<OauthTokens>& tokens) ACKBOX_EXCLUDES(mutex_);
  /// The peer was removed.
  void forgetAdded(std::string_view name) ACKBOX_EXCLUDES(mutex_);

  /// In the order of the configuration, followed by added peers, as of the last look at each.
  [[nodiscard]] std::vector<SecretProblem> problems() const ACKBOX_EXCLUDES(mutex_);
  /// The gauge `ackbox_secrets_usable`.
  void write(protocol::Exposition& out) const ACKBOX_EXCLUDES(mutex_);

private:
  /// Why the secrets of a source cannot be used; empty: they can.
  using Check = std::string (*)(const SecretSource& source);
  struct Entry {
    SecretSource source;
    Check check = nullptr;
    SecretProblem state;
    bool isAdded = false;
    std::uint64_t number = 0;
  };

  void addPeer(const PeerOptions& peer, const std::shared_ptr<OauthTokens>& tokens, bool isAdded)
      ACKBOX_REQUIRES(mutex_);
  void add(std::string_view use, const std::string& name, const SecretSource& source, Check check, bool isAdded = false)
      ACKBOX_REQUIRES(mutex_);
  void arm();
  /// Looks at the next part of the entries, so that thousands of files do not delay requests.
  void look();
  void lookAt(std::size_t index) ACKBOX_EXCLUDES(mutex_);
  void report(const SecretProblem& state) const;

  const boost::asio::any_io_executor executor_;
  const std::shared_ptr<Clock> clock_;
  const LogSink log_;
  const std::chrono::milliseconds grace_;
  const std::unique_ptr<Alarm> alarm_;
  // The entry that was looked at last.
  std::size_t next_ = 0;
  bool isStopped_ = false;
  mutable Mutex mutex_;
  std::vector<Entry> entries_ ACKBOX_GUARDED_BY(mutex_);
  std::uint64_t lastNumber_ ACKBOX_GUARDED_BY(mutex_) = 0;
};

}  // namespace ackbox::serve
