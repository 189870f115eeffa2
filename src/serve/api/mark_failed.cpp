// `POST /v1/messages:mark-failed`, which makes messages that wait dead letters: those of a list or a filter, in the
// background. It can be previewed.

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/message_page.hpp"
#include "records/message.hpp"
#include "serve/api/bulk_request.hpp"
#include "serve/api/operations.hpp"
#include "serve/api/service.hpp"
#include "serve/http/answer.hpp"

namespace ackbox::serve {
namespace {

constexpr std::array kWaiting = {MessageState::pending, MessageState::sent};

/// The messages that become dead letters: those with one of `ids`, or those that match `filter`.
struct MarkChoice {
  std::vector<std::string> ids = {};
  MessageFilter filter = {};
  // Those behind this row, which were enqueued after a preview, are left.
  std::int64_t lastRow = std::numeric_limits<std::int64_t>::max();
  std::string reason = "marked-failed";
  Limits limits = {};
  // The request's text, for the audit.
  std::string text = {};
};

MessageState stateMember(const nlohmann::json& value) {
  for (const MessageState state : kWaiting) {
    if (textMember("state", value) == records::nameOf(state)) {
      return state;
    }
  }
  throw InvalidRequest("state must be pending or sent: only such messages become dead letters");
}

MarkChoice readMarkChoice(const Request& request) {
  MarkChoice choice;
  choice.text = readChoice(request.body, "ids", [&](const std::string& name, const nlohmann::json& value) {
    if (name == "reason") {
      choice.reason = filledMember(name, value);
      return Member::accompanies;
    }
    if (name == "last_row") {
      choice.lastRow = rowMember(name, value);
      return Member::accompanies;
    }
    if (name == "ids") {
      choice.ids = idsMember(value);
    } else if (name == "state") {
      choice.filter.state = stateMember(value);
    } else if (!takeCondition(choice.filter, name, value)) {
      return Member::unknown;
    }
    return Member::chooses;
  });
  choice.limits = request.caller.limits;
  if (choice.ids.empty()) {
    limitPeer(request, choice.filter.peer);
  }
  return choice;
}

/// The number of messages that would become dead letters, and the first of them.
Response previewOfMark(const OutboxReader& reader, const MarkChoice& choice) {
  MessagePreview chosen;
  bool isComplete = true;
  const std::int64_t lastRow = std::min(choice.lastRow, lastRowOf(reader));
  const std::vector<std::string> ids = within(choice.limits, reader, choice.ids);
  for (const MessageState state : kWaiting) {
    if (!choice.ids.empty()) {
      chosen.add(reader, ids, state);
    } else if (choice.filter.state.value_or(state) == state) {
      MessageFilter filter = choice.filter;
      filter.state = state;
      isComplete = chosen.addAll(reader, filter, lastRow) && isComplete;
    }
  }
  return chosen.answer(isComplete, {}, lastRow);
}

void markChosen(Service& service, const MarkChoice& choice, BulkOutcome& outcome) {
  if (choice.ids.empty()) {
    changeBySlices(outcome, [&] { return service.changes().markFailed(choice.filter, choice.reason, choice.lastRow); });
  }
  for (const std::string& id : within(choice.limits, service.reader(), choice.ids)) {
    outcome.changed += service.changes().markFailed(id, choice.reason).done() ? 1U : 0U;
  }
}

}  // namespace

void markMessagesFailed(Service& service, Request&& request, Respond&& respond) {
  const BulkWish wish = takeBulkWish(request.query);
  const auto choice = std::make_shared<const MarkChoice>(readMarkChoice(request));
  answerBulk(service, std::move(request), std::move(respond), wish,
             {.name = "messages:mark-failed",
              .choice = choice->text,
              .preview = [&service, choice] { return previewOfMark(service.reader(), *choice); },
              .change = [&service, choice](BulkOutcome& outcome) { markChosen(service, *choice, outcome); }});
}

}  // namespace ackbox::serve
