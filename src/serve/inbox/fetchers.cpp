#include "serve/inbox/fetchers.hpp"

#include <array>
#include <optional>
#include <span>
#include <utility>

#include "ackbox/error.hpp"
#include "base/nested_error.hpp"
#include "records/text.hpp"
#include "serve/report.hpp"

namespace ackbox::serve {
namespace {

// A sender that the configuration does not name may send many frames.
constexpr std::chrono::minutes kRefusalsLogged{1};

bool isTrouble(const MailboxStatus& status) {
  return status.state == MailboxState::away || status.state == MailboxState::refused ||
         (status.state == MailboxState::fetching && !status.what.empty());
}

std::string_view remedyOf(MailboxState state) {
  switch (state) {
    case MailboxState::refused:
      return "the hub refuses this agent: correct url, token_file or agent of inbox.fetch, or the hub's mailboxes; it "
             "is asked again each minute at most";
    case MailboxState::fetching:
      return "frames come, but their outcomes cannot be reported to the hub, and are tried again: see the cause";
    default:
      return "no frames come from this mailbox; they wait at the hub, which is tried again: check that it runs and can "
             "be reached";
  }
}

}  // namespace

/// Logs what a fetcher says. Called on its strand.
class Fetchers::Reporter {
public:
  Reporter(std::string url, std::shared_ptr<Clock> clock, LogSink log)
      : url_(std::move(url)), clock_(std::move(clock)), log_(std::move(log)) {}

  void onState(const MailboxStatus& status) {
    const std::string_view event = eventOf(status);
    // An outage whose text changes from try to try is logged once.
    if (event == logged_) {
      return;
    }
    logged_ = event;
    const std::array<LogField, 2> fields = {LogField{"url", url_}, {"cause", status.what}};
    if (isTrouble(status)) {
      report(log_, *clock_, LogLevel::warning, event, remedyOf(status.state), fields);
    } else if (status.state == MailboxState::fetching) {
      report(log_, *clock_, LogLevel::info, event, "frames of this mailbox are fetched", std::span(fields).first(1));
    }
  }

  void onRefused(std::string_view source, std::string_view id, std::string_view what) {
    const SteadyTime now = clock_->steadyNow();
    if (refusedAt_ && now - *refusedAt_ < kRefusalsLogged) {
      return;
    }
    refusedAt_ = now;
    const std::array<LogField, 4> fields = {
        LogField{"url", url_}, {"source", source}, {"message", id}, {"cause", what}};
    report(log_, *clock_, LogLevel::warning, "mailbox-frame-refused",
           "a fetched frame is not believed or not acceptable here; it is kept and tried again: list its source in "
           "inbox.peers with by_mailbox, or discard it at the hub",
           fields);
  }

private:
  static std::string_view eventOf(const MailboxStatus& status) {
    if (!isTrouble(status)) {
      return status.state == MailboxState::fetching ? "mailbox-fetching" : "";
    }
    return status.state == MailboxState::refused ? "mailbox-refused" : "mailbox-away";
  }

  const std::string url_;
  const std::shared_ptr<Clock> clock_;
  const LogSink log_;
  std::string_view logged_;
  std::optional<SteadyTime> refusedAt_;
};

Fetchers::Fetchers(InboundHandler& handler, const std::vector<FetchRule>& rules, std::shared_ptr<Clock> clock,
                   const LogSink& log) {
  for (std::size_t index = 0; index < rules.size(); ++index) {
    MailboxFetcherOptions options = rules[index].options;
    const auto reporter = std::make_shared<Reporter>(options.url, clock, log);
    options.onState = [reporter](const MailboxStatus& status) { reporter->onState(status); };
    options.onRefused = [reporter](std::string_view source, std::string_view id, std::string_view what) {
      reporter->onRefused(source, id, what);
    };
    options.clock = clock;
    try {
      entries_.push_back({.url = options.url, .fetcher = MailboxFetcher(handler, options)});
    } catch (const Error& error) {
      throwNested("fetch[" + std::to_string(index) + "].", error);
    }
  }
}

void Fetchers::start(const boost::asio::any_io_executor& executor) {
  for (Entry& entry : entries_) {
    entry.fetcher.start(executor);
  }
}

void Fetchers::stop() {
  for (Entry& entry : entries_) {
    entry.fetcher.stop();
  }
}

std::string Fetchers::problem() const {
  for (const Entry& entry : entries_) {
    const MailboxStatus status = entry.fetcher.status();
    if (isTrouble(status)) {
      return (status.state == MailboxState::fetching ? "outcomes of frames do not reach the mailbox "
                                                     : "no frames come from the mailbox ") +
             entry.url + ": " + status.what;
    }
    if (status.refusedInHand > 0) {
      return records::countText(status.refusedInHand, "frame") + " from the mailbox " + entry.url +
             " are not taken here: list their sources in inbox.peers with by_mailbox";
    }
  }
  return {};
}

void Fetchers::write(const Fetchers* fetchers, protocol::Exposition& out) {
  const auto write = [&](std::uint64_t (*figureOf)(const MailboxStatus&)) {
    if (fetchers != nullptr) {
      for (const Entry& entry : fetchers->entries_) {
        out.sample(figureOf(entry.fetcher.status()), {{"url", entry.url}});
      }
    }
  };
  out.family("ackbox_mailbox_fetching", protocol::Exposition::Type::gauge,
             "1 while the stream of a mailbox of inbox.fetch is open.");
  write([](const MailboxStatus& status) -> std::uint64_t { return status.state == MailboxState::fetching ? 1 : 0; });
  out.family("ackbox_mailbox_refused_frames", protocol::Exposition::Type::gauge,
             "Fetched frames that this agent does not take: their source is not in inbox.peers with by_mailbox.");
  write([](const MailboxStatus& status) -> std::uint64_t { return status.refusedInHand; });
}

}  // namespace ackbox::serve
