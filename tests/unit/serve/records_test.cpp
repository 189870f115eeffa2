// Goal: a field of a record stands in one place. proto/serve.openapi.json describes the fields that src/records lists,
// in their order and with their sentences, and requires each; JSON, the tool and the page show them. Method: the
// document is made anew from the tables, and ACKBOX_REGENERATE=1 writes it. A record of the test's own has a field that
// no renderer knows of, and the page shows a message in which every field has a value.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/record_table.hpp"
#include "records/inbox_frame.hpp"
#include "records/message.hpp"
#include "records/peer.hpp"
#include "records/resending.hpp"
#include "records/session.hpp"
#include "records/stats.hpp"
#include "records/subscription.hpp"
#include "serve/page/record_html.hpp"
#include "serve/page/views.hpp"

namespace ackbox::records {
namespace {

struct Parcel {
  std::string name;
  std::uint64_t bytes = 0;
};

constexpr std::array kParcel{field<&Parcel::name>("name", "Its name.", {"Name", "NAME"}),
                             // Added: nothing else says that there is one.
                             field<&Parcel::bytes>("size_bytes", "Its size.", {"Size", "SIZE", Form::bytes})};

}  // namespace

template <>
std::span<const Field<Parcel>> fields() {
  return kParcel;
}

}  // namespace ackbox::records

namespace ackbox::serve::records_test {
namespace {

using Json = nlohmann::ordered_json;
using records::Field;
using records::Form;
using records::Type;

Json schemaOf(Type type) {
  switch (type) {
    case Type::text:
      return {{"type", "string"}};
    case Type::number:
      return {{"type", "integer"}};
    case Type::numberIfAny:
    case Type::instant:
      return {{"type", {"integer", "null"}}};
    case Type::flag:
      return {{"type", "boolean"}};
  }
  return {};
}

/// The schema with the record's fields first, and after them what it has besides.
template <typename Record>
void describe(Json& document, const std::string& name, bool isRequired = true) {
  Json& schema = document.at("components").at("schemas").at(name);
  const Json before = schema.at("properties");
  Json properties = Json::object();
  std::set<std::string> required = schema.at("required").get<std::set<std::string>>();
  std::vector<std::string> order;
  for (const Field<Record>& field : records::fields<Record>()) {
    const std::string key(field.name);
    if (key.empty()) {
      continue;
    }
    // The names of an enumeration are the document's.
    Json property = before.contains(key) && before.at(key).contains("enum") ? Json{{"enum", before.at(key).at("enum")}}
                                                                            : schemaOf(field.type);
    property["description"] = std::string(field.meaning);
    properties[key] = std::move(property);
    if ((isRequired && !field.isOptional) || required.contains(key)) {
      order.push_back(key);
    }
  }
  for (const auto& [key, property] : before.items()) {
    if (!properties.contains(key)) {
      properties[key] = property;
      if (required.contains(key)) {
        order.push_back(key);
      }
    }
  }
  schema["properties"] = std::move(properties);
  schema["required"] = order;
}

/// On one line, with spaces, as people write it.
std::string inOneLine(const Json& value) {
  if (!value.is_structured()) {
    return value.dump();
  }
  std::string text;
  for (const auto& item : value.items()) {
    text += text.empty() ? "" : ", ";
    text += (value.is_object() ? Json(item.key()).dump() + ": " : std::string()) + inOneLine(item.value());
  }
  return value.is_object() ? "{" + text + "}" : "[" + text + "]";
}

/// Lines of at most so many characters, where a value can be broken.
constexpr std::size_t kWidth = 117;

std::string rendered(const Json& value, const std::string& indent, std::size_t before) {
  const std::string line = inOneLine(value);
  if (!value.is_structured() || value.empty() || indent.size() + before + line.size() <= kWidth) {
    return line;
  }
  const std::string inner = indent + "  ";
  std::string text;
  for (const auto& item : value.items()) {
    const std::string key = value.is_object() ? Json(item.key()).dump() + ": " : std::string();
    text += (text.empty() ? "\n" : ",\n") + inner + key + rendered(item.value(), inner, key.size());
  }
  return (value.is_object() ? "{" : "[") + text + "\n" + indent + (value.is_object() ? "}" : "]");
}

std::string fileText() {
  std::ifstream file(OPENAPI_FILE);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("the API's description has the fields of each record, in their order and with their sentences") {
  Json document = Json::parse(fileText());
  describe<MessageInfo>(document, "Message");
  describe<Frame>(document, "ShownMessage", false);
  describe<MessageInfo>(document, "ShownMessage", false);
  describe<Reason>(document, "Reason");
  describe<records::PeerFigures>(document, "Peer");
  describe<SessionStats>(document, "Session");
  describe<PeerSubscription>(document, "Subscription");
  describe<PublishedMessage>(document, "PublishedMessage");
  describe<InboxInfo>(document, "InboxFrame");
  describe<Stats>(document, "Stats");
  const std::string made = rendered(document, "", 0) + "\n";
  if (std::getenv("ACKBOX_REGENERATE") != nullptr) {
    std::ofstream(OPENAPI_FILE) << made;
  }
  const bool isMade = fileText() == made;
  CHECK_MESSAGE(isMade, "ACKBOX_REGENERATE=1 unit_serve writes proto/serve.openapi.json anew");
}

TEST_CASE("each field of a record has a name of its own and a sentence") {
  const auto check = [](const auto& fields) {
    std::set<std::string_view> names;
    for (const auto& field : fields) {
      CAPTURE(field.name);
      const bool isForPeople = field.name.empty();
      CHECK((isForPeople || names.insert(field.name).second));
      CHECK((isForPeople ? field.meaning.empty() : field.meaning.ends_with('.')));
    }
  };
  check(records::fields<MessageInfo>());
  check(records::fields<AttemptInfo>());
  check(records::fields<Frame>());
  check(records::fields<Reason>());
  check(records::fields<records::PeerFigures>());
  check(records::fields<BlockedSession>());
  check(records::fields<SessionStats>());
  check(records::fields<InboxInfo>());
  check(records::fields<InboundFrame>());
  check(records::fields<Stats>());
  check(records::fields<PeerSubscription>());
  check(records::fields<PublishedMessage>());
}

TEST_CASE("a field that is added to a record's table is in every rendering of it") {
  const std::vector<records::Parcel> parcels{{"lamp", 2048}};
  const WallTime now{};
  CHECK(records::lineOf(parcels.front()).text() == R"({"name":"lamp","size_bytes":2048})");
  Json document = Json::parse(R"({"components":{"schemas":{"Parcel":{"properties":{},"required":[]}}}})");
  describe<records::Parcel>(document, "Parcel");
  CHECK(inOneLine(document["components"]["schemas"]["Parcel"]) ==
        R"({"properties": {"name": {"type": "string", "description": "Its name."}, )"
        R"("size_bytes": {"type": "integer", "description": "Its size."}}, "required": ["name", "size_bytes"]})");
  CHECK(cli::tableOf(parcels, now).text() == "NAME     SIZE\nlamp  2.0 KiB\n");
  cli::Table facts = cli::factTable();
  cli::addFacts(facts, parcels.front(), now);
  CHECK(facts.text() == "name  lamp\nsize  2.0 KiB\n");
  page::Html html;
  page::addFacts(html, parcels.front(), now, [](std::string_view, const page::Html& value) { return value; });
  CHECK(html.str() == "<dt>Name</dt><dd>lamp</dd>\n<dt>Size</dt><dd>2.0 KiB</dd>\n");
  CHECK(page::tableOf("Parcels", parcels, now).str().find("data-label=\"Size\" class=\"number\"><div>2.0 KiB</div>") !=
        std::string::npos);
}

TEST_CASE("a message that has another row than its id says was enqueued first when its id says") {
  MessageInfo message;
  message.messageId = "019ab5c2-7e1f-72bc-9f3a-7c0000012345";
  message.row = 12'345;
  message.enqueuedAt = WallTime(std::chrono::milliseconds(1'763'986'013'727));
  const auto first = [&] {
    const Json line = Json::parse(records::lineOf(message).text());
    return line.value("first_enqueued_at_ms", std::int64_t{0});
  };
  CHECK(first() == 0);
  message.row = 12'400;
  message.enqueuedAt += std::chrono::hours(1);
  CHECK(first() == 1'763'986'013'727);
  for (const char* const id :
       {"order-1", "019ab5c2-7e1f-42bc-9f3a-7c0000012345", "019ab5c2-7e1f-72bc-9f3a-7cabcdefabcd",
        "019ab5cz-7e1f-72bc-9f3a-7c0000012345", "fffffff2-7e1f-72bc-9f3a-7c0000012345"}) {
    message.messageId = id;
    CHECK(first() == 0);
  }
}

TEST_CASE("the page's view of a message shows each of its fields that has a label") {
  page::View view;
  view.now = WallTime(std::chrono::hours(24 * 365 * 50));
  const WallTime before = view.now - std::chrono::hours(2);
  Explanation explanation;
  explanation.message = {"m-1",
                         "bob",
                         "orders",
                         "order.placed",
                         3,
                         MessageState::failed,
                         4,
                         before,
                         before,
                         "rejected",
                         "503",
                         5,
                         {{before - std::chrono::hours(1), before, 7, {}, "fail", 503, "503"}}};
  explanation.sentence = "it was given up with reason rejected";
  Frame frame;
  frame.traceparent = "00-1-2-3";
  frame.correlationId = "m-0";
  frame.supersedeKey = "price";
  frame.notBefore = frame.expiresAt = before;
  const std::string html = page::messageView(view, explanation, frame).str();
  const auto check = [&]<typename Record>(const Record& record, const char* start) {
    for (const Field<Record>& field : records::fields<Record>()) {
      if (!field.shown.label.empty() && !records::isNone(field.value(record, view.now), field.shown.form)) {
        CAPTURE(field.shown.label);
        // The title, the sentence and the attempts have these.
        const bool isElsewhere =
            field.name == "message_id" || field.name == "state" || field.name == "reason" || field.name == "last_error";
        CHECK((isElsewhere || html.find(start + std::string(field.shown.label)) != std::string::npos));
        CHECK(html.find(page::valueHtml(field.value(record, view.now), Form::plain, view.now).str()) !=
              std::string::npos);
      }
    }
  };
  check(explanation.message, "<dt>");
  check(frame, "<dt>");
  check(explanation.message.attempts.front(), "data-label=\"");
}

TEST_CASE("only of what a full outbox refuses it is said that the same request goes on from there") {
  CHECK(records::refusedResend(EnqueueStatus::queueFull, "full", "request") ==
        "full; the same request goes on from there");
  for (const EnqueueStatus status :
       {EnqueueStatus::frameTooLarge, EnqueueStatus::invalidFrame, EnqueueStatus::unknownPeer}) {
    CHECK(records::refusedResend(status, "large", "command") == "large");
  }
}

}  // namespace ackbox::serve::records_test
