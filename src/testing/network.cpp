#include "testing/network.hpp"

#include <string>
#include <utility>
#include <vector>

#include "protocol/wire.hpp"

namespace ackbox::testing {
namespace {

constexpr std::string_view kScheme = "sim://";

SendReport failure(RequestOutcome outcome, std::string error) {
  SendReport report;
  report.outcome = outcome;
  report.error = std::move(error);
  return report;
}

std::string describe(std::uint64_t exchange, const SendRequest& request) {
  std::string text = "request " + std::to_string(exchange) + ":";
  for (const OutboundFrame& frame : request.frames) {
    text += " " + frame.messageId;
    if (!frame.session.empty()) {
      text += "(" + frame.session + "#" + std::to_string(frame.sequence) + ")";
    }
  }
  return text;
}

std::string describe(const SendRequest& request, const SendReport& report) {
  if (report.outcome != RequestOutcome::answered) {
    return std::string(toString(report.outcome)) + (report.error.empty() ? "" : ": " + report.error);
  }
  std::string text;
  for (std::size_t index = 0; index < report.results.size() && index < request.frames.size(); ++index) {
    const FrameResult& result = report.results[index];
    text += (text.empty() ? "" : ", ") + request.frames[index].messageId + " " + std::string(toString(result.outcome)) +
            (result.duplicate ? " (duplicate)" : "") + (result.code.empty() ? "" : " " + result.code);
  }
  return text;
}

}  // namespace

void Network::block(std::string_view from, std::string_view to) {
  trace_.add(from, to, "is blocked");
  blocked_.emplace(from, to);
}

void Network::heal() {
  trace_.add("network", "heals");
  faults_ = {};
  blocked_.clear();
}

bool Network::chance(double probability) {
  // Always drawn, so that adding or removing one fault does not shift all later draws.
  const double drawn = static_cast<double>(random_.next() >> 11U) * 0x1p-53;
  return drawn < probability;
}

std::chrono::nanoseconds Network::delay() {
  const auto range = std::chrono::nanoseconds(faults_.delayMax - faults_.delayMin).count();
  return faults_.delayMin +
         std::chrono::nanoseconds(range <= 0 ? 0 : random_.next() % static_cast<std::uint64_t>(range));
}

bool Network::isBlocked(const std::string& from, const std::string& to) const {
  return blocked_.contains({from, to});
}

void Network::later(std::chrono::nanoseconds after, std::function<void()> work) {
  events_.emplace(std::pair(now_ + after, ++lastEvent_), std::move(work));
}

std::optional<std::chrono::nanoseconds> Network::next() const {
  return events_.empty() ? std::nullopt : std::optional(events_.begin()->first.first);
}

void Network::moveTo(std::chrono::nanoseconds now) {
  now_ = now;
  while (!events_.empty() && events_.begin()->first.first <= now_) {
    const auto work = std::move(events_.extract(events_.begin()).mapped());
    work();
  }
}

void Network::note(std::uint64_t exchange, std::string_view event) {
  if (const auto found = exchanges_.find(exchange); trace_.isOn() && found != exchanges_.end()) {
    trace_.add(found->second.from.process, found->second.to,
               "request " + std::to_string(exchange) + " " + std::string(event));
  }
}

void Network::end(std::uint64_t exchange, SendReport report) {
  if (auto ended = exchanges_.extract(exchange); !ended.empty()) {
    if (trace_.isOn()) {
      trace_.add(ended.mapped().to, ended.mapped().from.process,
                 "answer " + std::to_string(exchange) + ": " + describe(ended.mapped().request, report));
    }
    ended.mapped().handler(std::move(report));
  }
}

void Network::endLater(std::uint64_t exchange, RequestOutcome outcome, std::string error) {
  later(delay(), [this, exchange, report = failure(outcome, std::move(error))] { end(exchange, report); });
}

void Network::answerLater(std::uint64_t exchange, InboundResponse response) {
  later(delay(), [this, exchange, answer = std::move(response)] {
    const auto found = exchanges_.find(exchange);
    if (found == exchanges_.end() || isBlocked(found->second.to, found->second.from.process)) {
      return;
    }
    const std::string retryAfter = answer.retryAfterSeconds ? std::to_string(*answer.retryAfterSeconds) : "";
    end(exchange, protocol::readAnswer(found->second.request, found->second.delivery, answer.status, answer.contentType,
                                       retryAfter, answer.body));
  });
}

void Network::send(Address from, SendRequest request, SendHandler handler) {
  const std::uint64_t id = ++lastExchange_;
  const bool known = request.url.starts_with(kScheme);
  const std::string to = known ? request.url.substr(kScheme.size()) : "";
  const std::string delivery = "dlv_" + std::to_string(random_.next());
  protocol::EncodedRequest encoded = protocol::encodeRequest(request, delivery);
  const auto timeout = request.timeout;
  const std::string sender = from.process;
  const std::string agent = request.agent;
  if (trace_.isOn()) {
    trace_.add(sender, to, describe(id, request));
  }
  const std::string hop = request.traceparent;
  exchanges_.emplace(id, Exchange{std::move(from), to, std::move(request), encoded.webhookId, std::move(handler)});
  if (!known) {
    endLater(id, RequestOutcome::peerRefused, "not a sim:// URL");
    return;
  }
  later(timeout, [this, id] { end(id, failure(RequestOutcome::peerUnavailable, "timed out")); });
  const Fate fate = drawFate();
  InboundRequest inbound;
  inbound.contentType = std::move(encoded.contentType);
  inbound.body = std::move(encoded.body);
  inbound.webhookId = std::move(encoded.webhookId);
  inbound.traceparent = hop;
  // As on connections with mutual TLS, on which only the agents can write.
  inbound.certificateAgents = {agent};
  carry(id, inbound, fate);
  if (fate.twice) {
    later(10 * delay(), [this, id, sender, to, inbound] { arriveAgain(id, sender, to, inbound); });
  }
}

Network::Fate Network::drawFate() {
  Fate fate;
  fate.refused = chance(faults_.refused);
  fate.lost = chance(faults_.requestLost);
  fate.cutBefore = chance(faults_.cutBefore);
  fate.overloaded = chance(faults_.overloaded);
  fate.captured = chance(faults_.captured);
  fate.misdirected = chance(faults_.misdirected);
  fate.twice = chance(faults_.duplicated);
  fate.cutAfter = chance(faults_.cutAfter);
  fate.answerLost = chance(faults_.answerLost);
  return fate;
}

void Network::carry(std::uint64_t id, const InboundRequest& inbound, const Fate& fate) {
  if (fate.refused) {
    endLater(id, RequestOutcome::peerUnavailable, "connection refused");
  } else if (fate.cutBefore) {
    endLater(id, RequestOutcome::connectionLost, "connection reset");
  } else if (fate.overloaded) {
    InboundResponse busy;
    busy.status = 503;
    busy.retryAfterSeconds = 1;
    answerLater(id, std::move(busy));
  } else if (faults_.bodyBytesMax > 0 && inbound.body.size() > faults_.bodyBytesMax) {
    InboundResponse tooLarge;
    tooLarge.status = 413;
    answerLater(id, std::move(tooLarge));
  } else if (fate.captured) {
    InboundResponse page;
    page.contentType = "text/html";
    page.body = "<html>Please log in</html>";
    answerLater(id, std::move(page));
  } else if (fate.misdirected) {
    InboundResponse nobody;
    nobody.status = 404;
    answerLater(id, std::move(nobody));
  } else if (!fate.lost) {
    later(delay(), [this, id, inbound, fate] { arrive(id, inbound, fate); });
  } else {
    note(id, "is lost");
  }
}

void Network::arrive(std::uint64_t exchange, const InboundRequest& request, const Fate& fate) {
  const auto found = exchanges_.find(exchange);
  if (found == exchanges_.end() || isBlocked(found->second.from.process, found->second.to)) {
    return;
  }
  found->second.handled = true;
  note(exchange, "arrives");
  const bool listening = deliver_(found->second.to, request, [this, exchange, fate](InboundResponse response) {
    if (fate.cutAfter) {
      note(exchange, "was handled, and the connection breaks");
      endLater(exchange, RequestOutcome::connectionLost, "connection reset");
    } else if (fate.answerLost) {
      note(exchange, "was handled, and its answer is lost");
    } else {
      answerLater(exchange, std::move(response));
    }
  });
  if (!listening) {
    endLater(exchange, RequestOutcome::peerUnavailable, "connection refused");
  }
}

void Network::arriveAgain(std::uint64_t exchange, const std::string& from, const std::string& to,
                          const InboundRequest& request) {
  if (!isBlocked(from, to)) {
    trace_.add(from, to, "request " + std::to_string(exchange) + " arrives a second time");
    deliver_(to, request, [](const InboundResponse&) {});
  }
}

void Network::cancel(const Address& from) {
  std::vector<std::uint64_t> ended;
  for (const auto& [id, exchange] : exchanges_) {
    if (exchange.from == from) {
      ended.push_back(id);
    }
  }
  for (const std::uint64_t id : ended) {
    end(id, failure(RequestOutcome::cancelled, "the sender was stopped"));
  }
}

void Network::died(const Address& process) {
  std::vector<Exchange> silenced;
  std::erase_if(exchanges_, [&](auto& entry) {
    const bool gone = entry.second.from == process;
    if (gone) {
      // Destroyed after the map is consistent again, because destroying it may end further exchanges.
      silenced.push_back(std::move(entry.second));
    }
    return gone;
  });
  for (const auto& [id, exchange] : exchanges_) {
    if (exchange.to == process.process && exchange.handled) {
      endLater(id, RequestOutcome::connectionLost, "the peer died");
    }
  }
}

}  // namespace ackbox::testing
