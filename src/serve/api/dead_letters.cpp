// `GET /v1/dead-letters`, and `POST /v1/dead-letters:retry` and `:discard`, which change the rows of a list or a filter
// in the background and can be previewed.

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ackbox/dead_letters.hpp"
#include "base/duration.hpp"
#include "records/message.hpp"
#include "serve/api/bulk_request.hpp"
#include "serve/api/operations.hpp"
#include "serve/api/page.hpp"
#include "serve/api/service.hpp"
#include "serve/http/answer.hpp"

namespace ackbox::serve {
namespace {

/// The dead letters to change: those with one of `ids`, or those that match `filter`.
struct Choice {
  std::vector<std::string> ids = {};
  DeadLetterFilter filter = {};
  Limits limits = {};
  // The request's text, for the audit.
  std::string text = {};
};

/// One kind of change: for one message, and for all that match a filter.
struct ChangeKind {
  std::string_view name;
  ChangeReceipt (OutboxOperator::*one)(std::string_view);
  std::uint64_t (OutboxOperator::*all)(const DeadLetterFilter&);
};

constexpr ChangeKind kRetry{"dead-letters:retry", &OutboxOperator::retry, &OutboxOperator::retryFailed};
constexpr ChangeKind kDiscard{"dead-letters:discard", &OutboxOperator::discard, &OutboxOperator::discardFailed};

std::chrono::milliseconds ageOf(const nlohmann::json& value) {
  const auto parsed = parseDuration(textMember("older_than", value));
  if (!parsed) {
    throw InvalidRequest("older_than must be a duration, such as 500ms, 10s, 5m, 2h or 7d");
  }
  return *parsed;
}

Choice readDeadLetterChoice(const Request& request) {
  Choice choice;
  choice.text = readChoice(request.body, "ids", [&](const std::string& name, const nlohmann::json& value) {
    if (name == "ids") {
      choice.ids = idsMember(value);
    } else if (name == "peer") {
      choice.filter.peer = filledMember(name, value);
    } else if (name == "session") {
      choice.filter.session = textMember(name, value);
    } else if (name == "type") {
      choice.filter.type = filledMember(name, value);
    } else if (name == "reason") {
      choice.filter.reason = textMember(name, value);
    } else if (name == "error") {
      choice.filter.error = filledMember(name, value);
    } else if (name == "error_like") {
      choice.filter.errorLike = textMember(name, value);
    } else if (name == "older_than") {
      choice.filter.olderThan = ageOf(value);
    } else {
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

/// The number of messages that would be changed, and the first of them.
Response preview(const OutboxReader& reader, const Choice& choice) {
  MessagePreview chosen;
  chosen.add(reader, within(choice.limits, reader, choice.ids), MessageState::failed);
  std::int64_t after = 0;
  std::size_t looked = 0;
  if (choice.ids.empty()) {
    do {
      const DeadLetterPage page = reader.deadLetters(choice.filter, kPreviewPage, after);
      chosen.add(page.messages);
      after = page.next;
      looked += page.looked;
    } while (after != 0 && looked < kPreviewLooksMost);
  }
  return chosen.answer(after == 0);
}

/// Adds each done row to `outcome`, even if it then throws; but not the slices of a filter's change that throws.
void makeChange(Service& service, const ChangeKind& kind, const Choice& choice, BulkOutcome& outcome) {
  OutboxOperator& changes = service.changes();
  if (choice.ids.empty()) {
    changeBySlices(outcome, [&] { return (changes.*kind.all)(choice.filter); });
  }
  for (const std::string& id : within(choice.limits, service.reader(), choice.ids)) {
    outcome.changed += (changes.*kind.one)(id).done() ? 1U : 0U;
  }
}

void changeDeadLetters(Service& service, Request&& request, Respond&& respond, const ChangeKind& kind) {
  const BulkWish wish = takeBulkWish(request.query);
  const auto choice = std::make_shared<const Choice>(readDeadLetterChoice(request));
  answerBulk(
      service, std::move(request), std::move(respond), wish,
      {.name = kind.name,
       .choice = choice->text,
       .preview = [&service, choice] { return preview(service.reader(), *choice); },
       .change = [&service, &kind, choice](BulkOutcome& outcome) { makeChange(service, kind, *choice, outcome); }});
}

}  // namespace

void listDeadLetters(Service& service, Request&& request, Respond&& respond) {
  DeadLetterFilter filter;
  filter.peer = request.query.text("peer");
  filter.session = request.query.text("session");
  filter.type = request.query.text("type");
  filter.reason = request.query.text("reason");
  filter.error = request.query.text("error");
  filter.errorLike = request.query.text("error_like");
  filter.olderThan = request.query.duration("older_than").value_or(filter.olderThan);
  const PageWish wish = takePage(request.query);
  request.query.finish();
  limitPeer(request, filter.peer);
  service.workers().answer(
      request.sharer(),
      [&service, filter = std::move(filter), wish] {
        const DeadLetterPage page = service.reader().deadLetters(filter, wish.limit, wish.after);
        return pageAnswer("messages", records::listOf(page.messages), page.next);
      },
      std::move(respond));
}

void retryDeadLetters(Service& service, Request&& request, Respond&& respond) {
  changeDeadLetters(service, std::move(request), std::move(respond), kRetry);
}

void discardDeadLetters(Service& service, Request&& request, Respond&& respond) {
  changeDeadLetters(service, std::move(request), std::move(respond), kDiscard);
}

}  // namespace ackbox::serve
