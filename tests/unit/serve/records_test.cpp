// Goal: a field of a record stands in one place. proto/serve.openapi.json describes the fields that src/records lists,
// in their order and with their sentences, and requires each. Method: the document is made anew from the tables;
// ACKBOX_REGENERATE=1 writes it.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "records/inbox_frame.hpp"
#include "records/message.hpp"
#include "records/peer.hpp"
#include "records/session.hpp"
#include "records/stats.hpp"

namespace ackbox::serve::records_test {
namespace {

using Json = nlohmann::ordered_json;
using records::Field;
using records::Type;

Json schemaOf(Type type) {
  switch (type) {
    case Type::text:
      return {{"type", "string"}};
    case Type::number:
      return {{"type", "integer"}};
    case Type::flag:
      return {{"type", "boolean"}};
    case Type::instant:
      return {{"type", {"integer", "null"}}};
  }
  return {};
}

/// The schema with the record's fields first, and after them what it has besides.
template <typename Record>
void describe(Json& document, const std::string& name, std::span<const Field<Record>> fields, bool isRequired = true) {
  Json& schema = document.at("components").at("schemas").at(name);
  const Json before = schema.at("properties");
  Json properties = Json::object();
  std::set<std::string> required = schema.at("required").get<std::set<std::string>>();
  std::vector<std::string> order;
  for (const Field<Record>& field : fields) {
    const std::string key(field.name);
    // The names of an enumeration are the document's.
    Json property = before.contains(key) && before.at(key).contains("enum") ? Json{{"enum", before.at(key).at("enum")}}
                                                                            : schemaOf(field.type);
    property["description"] = std::string(field.meaning);
    properties[key] = std::move(property);
    if (isRequired || required.contains(key)) {
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
  describe(document, "Message", records::messageFields());
  describe(document, "ShownMessage", records::messageFields(), false);
  describe(document, "Reason", records::reasonFields());
  describe(document, "Peer", records::peerFields());
  describe(document, "Session", records::sessionFields());
  describe(document, "InboxFrame", records::inboxFields());
  describe(document, "Stats", records::statsFields());
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
      CHECK(names.insert(field.name).second);
      CHECK(field.meaning.ends_with('.'));
    }
  };
  check(records::messageFields());
  check(records::reasonFields());
  check(records::peerFields());
  check(records::blockedSessionFields());
  check(records::sessionFields());
  check(records::inboxFields());
  check(records::statsFields());
}

}  // namespace ackbox::serve::records_test
