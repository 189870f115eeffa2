#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/log.hpp"
#include "ackbox/mailbox_fetcher.hpp"
#include "protocol/exposition.hpp"

namespace ackbox {
class InboundHandler;
}

namespace ackbox::serve {

/// A mailbox that frames are fetched from: an entry of `inbox.fetch`.
struct FetchRule {
  /// Without the callbacks.
  MailboxFetcherOptions options = {};
  /// The file of the token. Empty if the hub wants no token.
  std::filesystem::path tokenFile = {};
};

/// Fetches the frames of mailboxes at other daemons, and logs when a hub is away, refuses, or is back.
///
/// Thread-safety: all members may be called from any thread.
/// Lifetime: `stop` before the executor's context ends.
class Fetchers {
public:
  /// Throws as `MailboxFetcher`, with the field of the rule, such as `fetch[0].url`.
  Fetchers(InboundHandler& handler, const std::vector<FetchRule>& rules, std::shared_ptr<Clock> clock,
           const LogSink& log);

  void start(const boost::asio::any_io_executor& executor);
  void stop();

  /// The sentence about the first mailbox whose frames do not come; empty if all come.
  [[nodiscard]] std::string problem() const;
  /// Writes the gauge `ackbox_mailbox_fetching`, without a sample if `fetchers` is null.
  static void write(const Fetchers* fetchers, protocol::Exposition& out);

private:
  class Reporter;
  struct Entry {
    std::string url;
    MailboxFetcher fetcher;
  };

  std::list<Entry> entries_;
};

}  // namespace ackbox::serve
