#include "serve/api/settlements.hpp"

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "cli/duration.hpp"
#include "cli/json_slices.hpp"
#include "protocol/result_rules.hpp"
#include "serve/http/query.hpp"

namespace ackbox::serve {
namespace {

constexpr std::size_t kSettlementsMost = 1'024;
constexpr std::size_t kResultBytesMost = std::size_t{64} * 1024;

/// The members of one settlement as they were sent.
struct Members {
  std::string receipt = {};
  std::string outcome = {};
  std::optional<std::string> reason = {};
  std::optional<std::chrono::milliseconds> after = {};
  std::optional<std::string> result = {};
};

std::string readText(std::string_view name, std::string_view slice) {
  const bool isText = slice.starts_with('"');
  const nlohmann::json value = isText ? nlohmann::json::parse(slice.begin(), slice.end(), nullptr, false)
                                      : nlohmann::json(nlohmann::json::value_t::discarded);
  if (!value.is_string()) {
    throw InvalidRequest(std::string(name) + " of a settlement must be a string");
  }
  return value.get<std::string>();
}

Members readMembers(std::string_view json) {
  const cli::JsonSlices slices = cli::sliceObject(json);
  if (!slices.problem.empty()) {
    throw InvalidRequest("a settlement must be an object: " + slices.problem);
  }
  Members members;
  for (const auto& [name, value] : slices.members) {
    if (name == "receipt") {
      members.receipt = readText(name, value);
    } else if (name == "outcome") {
      members.outcome = readText(name, value);
    } else if (name == "reason") {
      members.reason = readText(name, value);
    } else if (name == "after") {
      members.after = cli::parseDuration(readText(name, value));
      if (!members.after) {
        throw InvalidRequest("after must be a duration, such as 500ms, 10s, 5m, 2h or 7d");
      }
    } else if (name == "result") {
      members.result = std::string(value);
    } else {
      throw InvalidRequest("there is no member '" + std::string(name) + "' of a settlement");
    }
  }
  return members;
}

void require(bool holds, const char* sentence) {
  if (!holds) {
    throw InvalidRequest(sentence);
  }
}

Settlement settlementOf(Members&& members) {
  require(!members.receipt.empty(), "a settlement must have the receipt of its frame");
  Settlement settlement;
  settlement.receipt = std::move(members.receipt);
  const bool isAck = members.outcome == "ack";
  const bool isRetry = members.outcome == "retry";
  const bool isReject = members.outcome == "reject";
  require(isAck || isRetry || isReject || members.outcome == "release",
          "outcome must be ack, retry, reject or release");
  require(isAck || !members.result, "result is for ack alone");
  require(isRetry || !members.after, "after is for retry alone");
  require(isRetry || isReject || !members.reason, "reason is for retry and reject alone");
  require(!isReject || (members.reason && !members.reason->empty()), "a reject must have a reason");
  if (isAck) {
    const std::string result = std::move(members.result).value_or(std::string());
    require(result.size() <= kResultBytesMost, "result must be JSON of at most 64 KiB");
    if (const std::string_view problem = protocol::resultProblem(result); !problem.empty()) {
      throw InvalidRequest("result must be JSON of at most 64 KiB; it " + std::string(problem));
    }
    settlement.result = HandlerResult::ack(result);
  } else if (isRetry) {
    settlement.result = HandlerResult::notNow(std::move(members.reason).value_or(std::string()), members.after);
  } else if (isReject) {
    settlement.result = HandlerResult::reject(std::move(*members.reason));
  }
  return settlement;
}

}  // namespace

std::vector<Settlement> readSettlements(std::string_view body) {
  const cli::JsonSlices document = cli::sliceObject(body);
  if (!document.problem.empty() || document.members.size() != 1 || document.members[0].first != "settlements") {
    throw InvalidRequest("the body must be {\"settlements\":[...]}" +
                         (document.problem.empty() ? std::string() : ": " + document.problem));
  }
  const cli::JsonElements elements = cli::sliceArray(document.members[0].second, kSettlementsMost);
  if (!elements.problem.empty() || elements.values.empty()) {
    throw InvalidRequest("settlements must be an array of 1 to 1,024 objects" +
                         (elements.problem.empty() ? std::string() : ": " + elements.problem));
  }
  std::vector<Settlement> settlements;
  settlements.reserve(elements.values.size());
  for (const std::string_view element : elements.values) {
    settlements.push_back(settlementOf(readMembers(element)));
  }
  return settlements;
}

}  // namespace ackbox::serve
