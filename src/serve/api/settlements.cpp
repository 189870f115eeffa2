#include "serve/api/settlements.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/duration.hpp"
#include "json/checked.hpp"
#include "protocol/limits.hpp"
#include "protocol/mailbox.hpp"
#include "protocol/result_rules.hpp"
#include "protocol/text_rules.hpp"
#include "serve/http/query.hpp"

namespace ackbox::serve {
namespace {

/// One settlement as it was sent.
struct Sent {
  std::string receipt = {};
  std::string outcome = {};
  std::optional<std::string> reason = {};
  std::optional<std::string> code = {};
  std::optional<std::chrono::milliseconds> after = {};
  std::optional<std::string> result = {};
};

std::string readText(json::Members& members, std::string_view name, std::string_view value) {
  const std::optional<std::string_view> text = members.decode(value);
  if (!text) {
    throw InvalidRequest(std::string(name) + " of a settlement must be a string");
  }
  return std::string(*text);
}

Sent readSent(std::string_view json) {
  json::CheckedMembers object = json::readObject(json);
  if (!object.problem.empty()) {
    throw InvalidRequest("a settlement must be an object: " + object.problem);
  }
  Sent sent;
  for (const auto& [name, value] : object.members.all()) {
    if (name == "receipt") {
      sent.receipt = readText(object.members, name, value);
    } else if (name == "outcome") {
      sent.outcome = readText(object.members, name, value);
    } else if (name == "reason") {
      sent.reason = readText(object.members, name, value);
    } else if (name == "code") {
      sent.code = readText(object.members, name, value);
    } else if (name == "after") {
      sent.after = parseDuration(readText(object.members, name, value));
      if (!sent.after) {
        throw InvalidRequest("after must be a duration, such as 500ms, 10s, 5m, 2h or 7d");
      }
    } else if (name == "result") {
      sent.result = std::string(value);
    } else {
      throw InvalidRequest("there is no member '" + std::string(name) + "' of a settlement");
    }
  }
  return sent;
}

void require(bool holds, const char* sentence) {
  if (!holds) {
    throw InvalidRequest(sentence);
  }
}

Settlement settlementOf(Sent&& sent) {
  require(!sent.receipt.empty(), "a settlement must have the receipt of its frame");
  Settlement settlement;
  settlement.receipt = std::move(sent.receipt);
  const bool isAck = sent.outcome == "ack";
  const bool isRetry = sent.outcome == "retry";
  const bool isReject = sent.outcome == "reject";
  require(isAck || isRetry || isReject || sent.outcome == "release", "outcome must be ack, retry, reject or release");
  require(isAck || !sent.result, "result is for ack alone");
  require(isRetry || !sent.after, "after is for retry alone");
  require(isRetry || isReject || !sent.reason, "reason is for retry and reject alone");
  require(isReject || !sent.code, "code is for reject alone");
  require(!sent.code || (!sent.code->empty() && protocol::isPlainText(*sent.code, protocol::kCodeBytesMax)),
          "code must have 1 to 128 bytes, without control characters");
  require(!isReject || (sent.reason && !sent.reason->empty()), "a reject must have a reason");
  if (isAck) {
    const std::string result = std::move(sent.result).value_or(std::string());
    require(result.size() <= protocol::kSettledResultBytesMax, "result must be JSON of at most 64 KiB");
    if (const std::string_view problem = protocol::resultProblem(result); !problem.empty()) {
      throw InvalidRequest("result must be JSON of at most 64 KiB; it " + std::string(problem));
    }
    settlement.result = HandlerResult::ack(result);
  } else if (isRetry) {
    settlement.result = HandlerResult::notNow(std::move(sent.reason).value_or(std::string()), sent.after);
  } else if (isReject) {
    settlement.result = HandlerResult::reject(std::move(*sent.reason), std::move(sent.code).value_or("rejected"));
  }
  return settlement;
}

}  // namespace

std::vector<Settlement> readSettlements(std::string_view body) {
  const json::CheckedMembers document = json::readObject(body);
  const std::vector<json::Members::Member>& members = document.members.all();
  if (!document.problem.empty() || members.size() != 1 || members[0].key != "settlements") {
    throw InvalidRequest("the body must be {\"settlements\":[...]}" +
                         (document.problem.empty() ? std::string() : ": " + document.problem));
  }
  const json::CheckedElements elements = json::readArray(members[0].value, protocol::kSettlementsMost);
  if (!elements.problem.empty() || elements.values.empty()) {
    throw InvalidRequest("settlements must be an array of 1 to 1,024 objects" +
                         (elements.problem.empty() ? std::string() : ": " + elements.problem));
  }
  std::vector<Settlement> settlements;
  settlements.reserve(elements.values.size());
  for (const std::string_view element : elements.values) {
    settlements.push_back(settlementOf(readSent(element)));
  }
  return settlements;
}

}  // namespace ackbox::serve
