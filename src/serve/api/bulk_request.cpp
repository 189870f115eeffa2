// Changes of many rows, which run in the background and can be previewed; and `GET /v1/operations/{id}`, which reports
// the progress of a change.

#include "serve/api/bulk_request.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "json/checked.hpp"
#include "json/line.hpp"
#include "protocol/wire.hpp"
#include "records/message.hpp"
#include "serve/api/operations.hpp"
#include "serve/http/answer.hpp"

namespace ackbox::serve {
namespace {

// Most changes end within this time, and then need only one request.
constexpr std::chrono::seconds kPatience{5};
constexpr std::chrono::seconds kPatienceMost{30};

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
  if (change.state == BulkChange::State::failed) {
    return change.problem;
  }
  Response response = jsonAnswer(change.state == BulkChange::State::done ? 200 : 202, textOf(change));
  response.headers.emplace_back("Location", "/v1/operations/" + std::to_string(change.id));
  return response;
}

constexpr std::size_t kIdsMost = 1'000;
// As many pages as read about 500,000 rows.
constexpr int kPreviewPagesMost = 50;
// More elements than any list of a choice may have.
constexpr std::size_t kElementsMost = 1'000'000;

/// The problem of the JSON text of a value, or of a value in it; empty for a text without one. nlohmann's parser takes
/// the last of two equal keys.
std::string problemOf(std::string_view value) {
  if (json::kindOf(value) == json::Kind::object) {
    json::CheckedMembers object = json::readObject(value);
    for (auto member = object.members.all().begin(); object.problem.empty() && member != object.members.all().end();
         ++member) {
      object.problem = problemOf(member->value);
    }
    return std::move(object.problem);
  }
  if (json::kindOf(value) == json::Kind::array) {
    json::CheckedElements array = json::readArray(value, kElementsMost);
    for (auto element = array.values.begin(); array.problem.empty() && element != array.values.end(); ++element) {
      array.problem = problemOf(*element);
    }
    return std::move(array.problem);
  }
  return {};
}

/// The object in a body.
nlohmann::json objectIn(const std::string& body, std::string_view list) {
  const std::string_view text = json::trim(body);
  const bool isObject = !text.empty() && json::kindOf(text) == json::Kind::object;
  const std::string problem = isObject ? problemOf(text) : std::string();
  nlohmann::json document = nlohmann::json::parse(problem.empty() ? text : std::string_view(), nullptr, false);
  if (!document.is_object()) {
    throw InvalidRequest("the body must be a JSON object: a filter, or " + std::string(list) + ", or {\"all\":true}" +
                         (problem.empty() ? "" : "; ") + problem);
  }
  return document;
}

}  // namespace

BulkWish takeBulkWish(Query& query) {
  const bool isPreview = query.flag("dry_run");
  const std::chrono::milliseconds patience = query.duration("wait").value_or(kPatience);
  query.finish();
  if (patience > kPatienceMost) {
    throw InvalidRequest("wait must be at most 30s");
  }
  return {isPreview, patience};
}

void changeBySlices(BulkOutcome& outcome, const std::function<std::uint64_t()>& change) {
  outcome.hasMore = true;
  outcome.changed += change();
  outcome.hasMore = false;
}

void answerBulk(Service& service, Request&& request, Respond&& respond, const BulkWish& wish, BulkRequest&& bulk) {
  if (wish.isPreview) {
    service.workers().answer(
        request.sharer(), [preview = std::move(bulk.preview)] { return preview(); }, std::move(respond));
    return;
  }
  BulkChanges::Begun begun{std::string(bulk.name), request.caller.name, request.sharer()};
  if (!service.bulkChanges().hasRoom(begun.sharer)) {
    respond(
        protocol::unavailable(false, "Too many changes have not ended yet, or too many that this token has begun."));
    return;
  }
  service.bulkChanges().begin(
      std::move(begun),
      [&service, bulk = std::move(bulk), caller = std::move(request.caller)](BulkOutcome& outcome) {
        try {
          bulk.change(outcome);
        } catch (...) {
          service.audit().record(caller, bulk.name, bulk.choice, outcome.changed);
          throw;
        }
        service.audit().record(caller, bulk.name, bulk.choice, outcome.changed);
      },
      wish.patience, [respond = std::move(respond)](const BulkChange& change) { respond(answerOf(change)); });
}

std::string readChoice(const std::string& body, std::string_view list, const TakeMember& take) {
  const nlohmann::json document = objectIn(body, list);
  bool isAll = false;
  bool isListed = false;
  std::size_t choices = 0;
  for (const auto& [name, value] : document.items()) {
    if (name == "all") {
      isAll = flagMember(name, value);
      continue;
    }
    const Member member = take(name, value);
    if (member == Member::unknown) {
      throw InvalidRequest("there is no member '" + name + "'; see openapi.json");
    }
    isListed = isListed || name == list;
    choices += member == Member::chooses ? 1U : 0U;
  }
  if ((choices == 0) != isAll || (isListed && choices > 1)) {
    throw InvalidRequest("say " + std::string(list) + ", or a filter, or {\"all\":true}; no two of them");
  }
  return document.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

std::vector<std::string> idsMember(const nlohmann::json& value) {
  if (!value.is_array() || value.empty() || value.size() > kIdsMost) {
    throw InvalidRequest("ids must be an array of 1 to 1000 message ids");
  }
  std::vector<std::string> ids;
  std::set<std::string> seen;
  for (const nlohmann::json& id : value) {
    std::string text = filledMember("ids", id);
    // A message that is named twice is changed once.
    if (seen.insert(text).second) {
      ids.push_back(std::move(text));
    }
  }
  return ids;
}

std::vector<std::string> within(const Limits& limits, const OutboxReader& reader, const std::vector<std::string>& ids) {
  std::vector<std::string> kept;
  for (const std::string& id : ids) {
    const std::optional<MessageInfo> message = limits.isEmpty() ? std::nullopt : reader.find(id);
    if (limits.isEmpty() || (message && limits.hasPeer(message->peer))) {
      kept.push_back(id);
    }
  }
  return kept;
}

std::string textMember(const std::string& name, const nlohmann::json& value) {
  if (!value.is_string()) {
    throw InvalidRequest(name + " must be a string");
  }
  return value.get<std::string>();
}

std::string filledMember(const std::string& name, const nlohmann::json& value) {
  std::string text = textMember(name, value);
  if (text.empty()) {
    throw InvalidRequest(name + " is empty: set it, or leave it out");
  }
  return text;
}

bool takeCondition(MessageFilter& filter, const std::string& name, const nlohmann::json& value) {
  if (name == "peer") {
    filter.peer = filledMember(name, value);
  } else if (name == "session") {
    filter.session = textMember(name, value);
  } else if (name == "type") {
    filter.type = filledMember(name, value);
  } else if (name == "since") {
    filter.since = instantOf(name, textMember(name, value));
  } else if (name == "before") {
    filter.before = instantOf(name, textMember(name, value));
  } else {
    return false;
  }
  return true;
}

bool flagMember(const std::string& name, const nlohmann::json& value) {
  if (!value.is_boolean()) {
    throw InvalidRequest(name + " must be true or false");
  }
  return value.get<bool>();
}

std::int64_t rowMember(const std::string& name, const nlohmann::json& value) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max()) {
    throw InvalidRequest(name + " must be the number of a row");
  }
  return value.get<std::int64_t>();
}

std::int64_t lastRowOf(const OutboxReader& reader) {
  MessageFilter any;
  any.isNewestFirst = true;
  const MessagePage newest = reader.messages(any, 1);
  return newest.messages.empty() ? 0 : newest.messages.front().row;
}

void MessagePreview::add(const MessageInfo& message) {
  if (count_++ < kPreviewSample) {
    sample_.push_back(message);
  }
}

void MessagePreview::add(const std::vector<MessageInfo>& messages) {
  for (const MessageInfo& message : messages) {
    add(message);
  }
}

void MessagePreview::add(const OutboxReader& reader, const std::vector<std::string>& ids, MessageState state) {
  for (const std::string& id : ids) {
    const std::optional<MessageInfo> message = reader.find(id);
    if (message && message->state == state) {
      add(*message);
    }
  }
}

bool MessagePreview::addAll(const OutboxReader& reader, const MessageFilter& filter, std::int64_t lastRow) {
  std::int64_t after = 0;
  int pages = 0;
  do {
    MessagePage page = reader.messages(filter, kPreviewPage, after);
    std::erase_if(page.messages, [lastRow](const MessageInfo& message) { return message.row > lastRow; });
    add(page.messages);
    after = page.next;
  } while (after != 0 && ++pages < kPreviewPagesMost);
  return after == 0;
}

Response MessagePreview::answer(bool isComplete, std::string_view meaning, std::optional<std::int64_t> lastRow) const {
  return previewAnswer(count_, isComplete, records::listOf(sample_), meaning, lastRow);
}

Response previewAnswer(std::uint64_t count, bool isComplete, std::string_view sample, std::string_view meaning,
                       std::optional<std::int64_t> lastRow) {
  json::Line line;
  line.add("count", count).add("is_complete", isComplete).raw("sample", sample);
  if (!meaning.empty()) {
    line.add("meaning", meaning);
  }
  if (lastRow) {
    line.add("last_row", *lastRow);
  }
  return jsonAnswer(200, line.text());
}

void showBulkChange(Service& service, Request&& request, Respond&& respond) {
  request.query.finish();
  const std::string& text = request.path.front();
  const bool isNumber = !text.empty() && text.size() < 19 && text.find_first_not_of("0123456789") == std::string::npos;
  const std::optional<BulkChange> change =
      isNumber ? service.bulkChanges().find(std::stoull(text)) : std::optional<BulkChange>();
  const bool isShown = change && (request.caller.limits.isEmpty() || change->caller == request.caller.name);
  std::move(respond)(isShown
                         ? jsonAnswer(200, textOf(*change))
                         : problemAnswer(404, "Not found", "There was no change with this id, or it is forgotten."));
}

}  // namespace ackbox::serve
