// `GET /v1/dead-letters`, and `POST /v1/dead-letters:retry` and `:discard`, which change those of a list or a filter in
// the background and can say before what they would change.

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ackbox/dead_letters.hpp"
#include "base/duration.hpp"
#include "json/line.hpp"
#include "protocol/wire.hpp"
#include "records/message.hpp"
#include "serve/api/operations.hpp"
#include "serve/api/page.hpp"
#include "serve/api/service.hpp"
#include "serve/http/answer.hpp"

namespace ackbox::serve {
namespace {

constexpr std::size_t kIdsMost = 1'000;
constexpr std::size_t kCountPage = 1'000;
// A preview that looks further would keep a thread, and other readers, for seconds.
constexpr std::size_t kLooksMost = 50'000;
constexpr std::size_t kSample = 10;
// Most changes end within it, and then one request is enough.
constexpr std::chrono::seconds kPatience{5};
constexpr std::chrono::seconds kPatienceMost{30};

/// Which dead letters a change is for: those with one of `ids`, or those that `filter` chooses.
struct Choice {
  std::vector<std::string> ids = {};
  DeadLetterFilter filter = {};
  // As it was sent, for the audit.
  std::string text = {};
};

/// One kind of change: of one message, and of all that a filter chooses.
struct ChangeKind {
  std::string_view name;
  ChangeReceipt (OutboxOperator::*one)(std::string_view);
  std::uint64_t (OutboxOperator::*all)(const DeadLetterFilter&);
};

constexpr ChangeKind kRetry{"dead-letters:retry", &OutboxOperator::retry, &OutboxOperator::retryFailed};
constexpr ChangeKind kDiscard{"dead-letters:discard", &OutboxOperator::discard, &OutboxOperator::discardFailed};

std::string textMember(const std::string& name, const nlohmann::json& value) {
  if (!value.is_string()) {
    throw InvalidRequest(name + " must be a string");
  }
  return value.get<std::string>();
}

std::vector<std::string> idsOf(const nlohmann::json& value) {
  if (!value.is_array() || value.empty() || value.size() > kIdsMost) {
    throw InvalidRequest("ids must be an array of 1 to 1000 message ids");
  }
  std::vector<std::string> ids;
  std::set<std::string> seen;
  for (const nlohmann::json& id : value) {
    std::string text = textMember("ids", id);
    // One that is named twice is changed once.
    if (seen.insert(text).second) {
      ids.push_back(std::move(text));
    }
  }
  return ids;
}

std::chrono::milliseconds ageOf(const nlohmann::json& value) {
  const auto parsed = parseDuration(textMember("older_than", value));
  if (!parsed) {
    throw InvalidRequest("older_than must be a duration, such as 500ms, 10s, 5m, 2h or 7d");
  }
  return *parsed;
}

Choice readChoice(const std::string& body) {
  const nlohmann::json document = nlohmann::json::parse(body, nullptr, false);
  if (!document.is_object()) {
    throw InvalidRequest("the body must be a JSON object: a filter, or ids, or {\"all\":true}");
  }
  Choice choice;
  bool isAll = false;
  std::size_t restrictions = 0;
  for (const auto& [name, value] : document.items()) {
    ++restrictions;
    if (name == "ids") {
      choice.ids = idsOf(value);
    } else if (name == "peer") {
      choice.filter.peer = textMember(name, value);
    } else if (name == "session") {
      choice.filter.session = textMember(name, value);
    } else if (name == "type") {
      choice.filter.type = textMember(name, value);
    } else if (name == "reason") {
      choice.filter.reason = textMember(name, value);
    } else if (name == "error") {
      choice.filter.error = textMember(name, value);
    } else if (name == "older_than") {
      choice.filter.olderThan = ageOf(value);
    } else if (name == "all") {
      if (!value.is_boolean()) {
        throw InvalidRequest("all must be true or false");
      }
      isAll = value.get<bool>();
      --restrictions;
    } else {
      throw InvalidRequest("there is no member '" + name + "'; see openapi.json");
    }
  }
  if ((restrictions == 0) != isAll || (!choice.ids.empty() && restrictions > 1)) {
    throw InvalidRequest("say ids, or a filter, or {\"all\":true}; no two of them");
  }
  choice.text = document.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  return choice;
}

/// How many would be changed, and the first of them.
Response preview(const OutboxReader& reader, const Choice& choice) {
  std::uint64_t count = 0;
  std::string sample;
  const auto add = [&](const MessageInfo& message) {
    if (count++ < kSample) {
      sample += (sample.empty() ? "" : ",") + records::lineOf(message).text();
    }
  };
  std::int64_t after = 0;
  std::size_t looked = 0;
  for (const std::string& id : choice.ids) {
    const std::optional<MessageInfo> message = reader.find(id);
    if (message && message->state == MessageState::failed) {
      add(*message);
    }
  }
  if (choice.ids.empty()) {
    do {
      const DeadLetterPage page = reader.deadLetters(choice.filter, kCountPage, after);
      for (const MessageInfo& message : page.messages) {
        add(message);
      }
      after = page.next;
      looked += page.looked;
    } while (after != 0 && looked < kLooksMost);
  }
  return jsonAnswer(
      200, json::Line().add("count", count).add("is_complete", after == 0).raw("sample", "[" + sample + "]").text());
}

/// Adds to `changed` what is done, also before a throw; of a filter's slices before one, the count is not known.
void makeChange(OutboxOperator& changes, const ChangeKind& kind, const Choice& choice, std::uint64_t& changed) {
  if (choice.ids.empty()) {
    changed = (changes.*kind.all)(choice.filter);
  }
  for (const std::string& id : choice.ids) {
    changed += (changes.*kind.one)(id).done() ? 1U : 0U;
  }
}

std::string_view stateName(BulkChange::State state) {
  switch (state) {
    case BulkChange::State::running:
      return "running";
    case BulkChange::State::done:
      return "done";
    case BulkChange::State::failed:
      return "failed";
  }
  return {};
}

std::string textOf(const BulkChange& change) {
  return json::Line()
      .add("id", change.id)
      .add("operation", change.what)
      .add("state", stateName(change.state))
      .add("changed", change.changed)
      .add("error", change.error)
      .text();
}

Response answerOf(const BulkChange& change) {
  Response response = jsonAnswer(change.state == BulkChange::State::done ? 200 : 202, textOf(change));
  if (change.state == BulkChange::State::failed) {
    return problemAnswer(500, "The change failed", change.error);
  }
  response.headers.emplace_back("Location", "/v1/operations/" + std::to_string(change.id));
  return response;
}

void changeDeadLetters(Service& service, Request&& request, Respond&& respond, const ChangeKind& kind) {
  const bool isPreview = request.query.flag("dry_run");
  const std::chrono::milliseconds patience = request.query.duration("wait").value_or(kPatience);
  request.query.finish();
  if (patience > kPatienceMost) {
    throw InvalidRequest("wait must be at most 30s");
  }
  Choice choice = readChoice(request.body);
  if (isPreview) {
    service.workers().answer([&service, choice = std::move(choice)] { return preview(service.reader(), choice); },
                             std::move(respond));
    return;
  }
  if (!service.bulkChanges().hasRoom()) {
    respond(protocol::unavailable(false, "Too many changes have not ended yet."));
    return;
  }
  service.bulkChanges().begin(
      std::string(kind.name),
      [&service, &kind, choice = std::move(choice), caller = std::move(request.caller)] {
        std::uint64_t changed = 0;
        try {
          makeChange(service.changes(), kind, choice, changed);
        } catch (...) {
          service.audit().record(caller, kind.name, choice.text, changed);
          throw;
        }
        service.audit().record(caller, kind.name, choice.text, changed);
        return changed;
      },
      patience, [respond = std::move(respond)](const BulkChange& change) { respond(answerOf(change)); });
}

}  // namespace

void listDeadLetters(Service& service, Request&& request, Respond&& respond) {
  DeadLetterFilter filter;
  filter.peer = request.query.text("peer");
  filter.session = request.query.text("session");
  filter.type = request.query.text("type");
  filter.reason = request.query.text("reason");
  filter.error = request.query.text("error");
  filter.olderThan = request.query.duration("older_than").value_or(filter.olderThan);
  const PageWish wish = takePage(request.query);
  request.query.finish();
  service.workers().answer(
      [&service, filter = std::move(filter), wish] {
        const DeadLetterPage page = service.reader().deadLetters(filter, wish.limit, wish.after);
        std::vector<std::string> items;
        for (const MessageInfo& message : page.messages) {
          items.push_back(records::lineOf(message).text());
        }
        return pageAnswer("messages", items, page.next);
      },
      std::move(respond));
}

void retryDeadLetters(Service& service, Request&& request, Respond&& respond) {
  changeDeadLetters(service, std::move(request), std::move(respond), kRetry);
}

void discardDeadLetters(Service& service, Request&& request, Respond&& respond) {
  changeDeadLetters(service, std::move(request), std::move(respond), kDiscard);
}

void showBulkChange(Service& service, Request&& request, Respond&& respond) {
  request.query.finish();
  const std::string& text = request.path.front();
  const bool isNumber = !text.empty() && text.size() < 19 && text.find_first_not_of("0123456789") == std::string::npos;
  const std::optional<BulkChange> change =
      isNumber ? service.bulkChanges().find(std::stoull(text)) : std::optional<BulkChange>();
  std::move(respond)(change ? jsonAnswer(200, textOf(*change))
                            : problemAnswer(404, "Not found", "There was no change with this id, or it is forgotten."));
}

}  // namespace ackbox::serve
