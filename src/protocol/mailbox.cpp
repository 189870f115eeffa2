#include "protocol/mailbox.hpp"

#include <algorithm>
#include <utility>

#include "ackbox/sender.hpp"
#include "base/hex.hpp"
#include "base/limit_code.hpp"
#include "json/checked.hpp"
#include "json/reader.hpp"
#include "json/writer.hpp"
#include "protocol/limits.hpp"
#include "protocol/result_rules.hpp"
#include "protocol/text_rules.hpp"
#include "protocol/wire.hpp"

namespace ackbox::protocol {
namespace {

constexpr std::size_t kReceiptBytesMax = 1024;

/// `code: detail`, or the one that there is.
std::string reasonOf(const FrameResult& result) {
  std::string reason = result.code;
  if (!result.detail.empty() && result.detail != result.code) {
    reason.append(reason.empty() ? "" : ": ").append(result.detail);
  }
  return reason;
}

/// Members of an object: the outcome, and what `add` writes.
template <typename Add>
std::string settlementWith(std::string_view outcome, const Add& add) {
  std::string json;
  json::ObjectWriter members(json);
  members.text("outcome", outcome);
  add(members);
  json.erase(0, 1);
  return json;
}

std::string ackSettlement(const std::string& result) {
  return settlementWith("ack", [&](json::ObjectWriter& members) {
    // A hub refuses a settlement with another result.
    if (!result.empty() && result.size() <= kSettledResultBytesMax && resultProblem(result).empty()) {
      members.raw("result", result);
    }
  });
}

std::string rejectSettlement(const FrameResult& result) {
  return settlementWith("reject", [&](json::ObjectWriter& members) {
    members.text("reason", !result.detail.empty() ? result.detail : !result.code.empty() ? result.code : "rejected");
    members.textIfAny("code", result.code);
  });
}

/// Whether a `nack` charges nothing: the frame was not attempted, or the handler is at a limit.
bool isUncharged(const FrameResult& result) {
  return result.held || isLimitCode(result.code);
}

/// Whether the session goes on behind frames that never came, see `MailboxAction::follow`.
bool mayFollow(const MailboxFrame& frame, const SendReport& report) {
  return report.results.front().outcome == Outcome::nack && report.results.front().code == "out-of-sequence" &&
         !report.sessions.empty() && report.sessions.front().accepted < frame.previousSequence;
}

MailboxVerdict verdictOf(FrameResult&& result) {
  MailboxVerdict verdict;
  verdict.pause = result.retryAfter.value_or(std::chrono::milliseconds(0));
  switch (result.outcome) {
    case Outcome::ack:
      verdict.action = MailboxAction::settle;
      verdict.settlement = ackSettlement(result.result);
      break;
    case Outcome::term:
      verdict.action = MailboxAction::settle;
      verdict.settlement = rejectSettlement(result);
      break;
    case Outcome::defer:
      break;
    case Outcome::nack:
      if (!isUncharged(result)) {
        verdict.action = MailboxAction::settle;
        verdict.settlement = retrySettlement(reasonOf(result), verdict.pause);
      }
      break;
  }
  return verdict;
}

/// Reads the attributes of a session, if there are any; false if they are wrong.
bool readSession(json::Members& attributes, MailboxFrame& frame) {
  const std::optional<std::string_view> sequence = attributes.text("sessionseq");
  if (!sequence) {
    return true;
  }
  const std::optional<std::uint64_t> number = parseCounter(*sequence);
  const std::optional<std::uint64_t> previous = parseCounter(attributes.text("sessionprev").value_or(""));
  if (!number || !previous || *previous >= *number) {
    return false;
  }
  frame.sequence = *number;
  frame.previousSequence = *previous;
  frame.session = attributes.text("sessionid").value_or("");
  frame.origin = attributes.text("sessionorigin").value_or("");
  if (!attributes.find("sessionepoch")) {
    frame.event.insert(frame.event.find('{') + 1, "\"sessionepoch\":\"0\",");
  }
  return true;
}

}  // namespace

std::optional<MailboxFrame> readMailboxLine(std::string_view line) {
  json::CheckedMembers read = json::readObject(line);
  if (!read.problem.empty()) {
    return std::nullopt;
  }
  const std::string_view event = read.members.find("event").value_or("");
  std::optional<json::Members> attributes = json::Members::read(event);
  const std::optional<std::string_view> receipt = read.members.text("receipt");
  if (!receipt || receipt->empty() || receipt->size() > kReceiptBytesMax || !attributes) {
    return std::nullopt;
  }
  MailboxFrame frame;
  frame.receipt = *receipt;
  frame.event = event;
  frame.id = attributes->text("id").value_or("");
  frame.source = attributes->text("source").value_or("");
  if (frame.id.empty() || frame.source.empty() || !readSession(*attributes, frame)) {
    return std::nullopt;
  }
  return frame;
}

void follow(MailboxFrame& frame, std::uint64_t accepted) {
  const std::optional<json::Members> attributes = json::Members::read(frame.event);
  const std::string_view previous = attributes ? attributes->find("sessionprev").value_or("") : std::string_view();
  if (!previous.empty()) {
    const auto at = static_cast<std::size_t>(previous.data() - frame.event.data());
    frame.event.replace(at, previous.size(), "\"" + std::to_string(accepted) + "\"");
    frame.previousSequence = accepted;
  }
}

InboundRequest requestOf(const MailboxFrame& frame) {
  InboundRequest request;
  request.contentType = kMediaTypeFrame;
  request.body = frame.event;
  request.webhookId = frame.id;
  request.version = kVersion;
  request.claimedAgent = frame.source;
  request.fetchedFrom = frame.source;
  return request;
}

MailboxVerdict verdictOf(const MailboxFrame& frame, const InboundResponse& response) {
  SendRequest request;
  OutboundFrame& sent = request.frames.emplace_back();
  sent.messageId = frame.id;
  sent.session = frame.session;
  sent.sequence = frame.sequence;
  request.origin = frame.origin;
  SendReport report = readAnswer(request, frame.id, response.status, response.contentType, {}, response.body);
  if (report.outcome == RequestOutcome::answered && mayFollow(frame, report)) {
    MailboxVerdict verdict;
    verdict.action = MailboxAction::follow;
    verdict.accepted = report.sessions.front().accepted;
    return verdict;
  }
  if (report.outcome == RequestOutcome::answered) {
    return verdictOf(std::move(report.results.front()));
  }
  MailboxVerdict verdict;
  verdict.pause = std::chrono::seconds(response.retryAfterSeconds.value_or(0));
  if (report.outcome != RequestOutcome::peerUnavailable) {
    verdict.action = MailboxAction::refused;
  }
  verdict.what = std::move(report.error);
  if (response.status == 401) {
    verdict.what = "no peer of the handler has the source '" + frame.source +
                   "' and takes a mailbox's word: list it in InboundOptions::peers, with byMailbox";
  }
  return verdict;
}

std::string retrySettlement(std::string_view reason, std::chrono::milliseconds after) {
  return settlementWith("retry", [&](json::ObjectWriter& members) {
    members.textIfAny("reason", reason);
    if (after.count() > 0) {
      members.text("after", std::to_string(after.count()) + "ms");
    }
  });
}

std::string releaseSettlement() {
  return settlementWith("release", [](json::ObjectWriter&) {});
}

std::string settlementOf(std::string_view receipt, std::string_view settlement) {
  std::string json;
  json::ObjectWriter members(json);
  members.text("receipt", receipt);
  return json.append(",").append(settlement).append("}");
}

std::optional<std::string> withoutCode(std::string_view settlement) {
  std::optional<json::Members> members = json::Members::read(settlement);
  const std::optional<std::string_view> code = members ? members->text("code") : std::nullopt;
  if (!code) {
    return std::nullopt;
  }
  FrameResult result;
  result.code = *code;
  result.detail = members->text("reason").value_or("");
  return settlementOf(members->text("receipt").value_or(""), settlementWith("reject", [&](json::ObjectWriter& plain) {
                        plain.text("reason", reasonOf(result));
                      }));
}

std::string settleBody(std::span<const std::string> settlements) {
  std::string body = "{\"settlements\":[";
  for (const std::string& settlement : settlements) {
    body.append(body.back() == '[' ? "" : ",").append(settlement);
  }
  return body.append("]}");
}

std::optional<std::size_t> readSettleAnswer(std::string_view body, std::size_t count) {
  const json::CheckedMembers document = json::readObject(body);
  if (!document.problem.empty()) {
    return std::nullopt;
  }
  const json::CheckedElements results = json::readArray(document.members.find("results").value_or(""), count);
  if (!results.problem.empty() || results.values.size() != count) {
    return std::nullopt;
  }
  std::size_t settled = 0;
  for (const std::string_view result : results.values) {
    std::optional<json::Members> members = json::Members::read(result);
    const std::string_view status = members ? members->text("status").value_or("") : std::string_view();
    if (status != "settled" && status != "gone") {
      return std::nullopt;
    }
    settled += status == "settled" ? 1U : 0U;
  }
  return settled;
}

std::string mailboxTarget(std::string_view base, std::string_view agent, std::uint32_t window) {
  std::string target(base);
  target.append("/v1/inbox/stream?");
  if (!agent.empty()) {
    target.append("mailbox=").append(percentEncoded(agent)).append("&");
  }
  return target.append("window=").append(std::to_string(window));
}

}  // namespace ackbox::protocol
