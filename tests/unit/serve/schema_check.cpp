#include "unit/serve/schema_check.hpp"

#include <algorithm>
#include <fstream>

namespace ackbox::testing {
namespace {

using nlohmann::json;

bool isOfType(const std::string& type, const json& value) {
  return (type == "string" && value.is_string()) || (type == "integer" && value.is_number_integer()) ||
         (type == "boolean" && value.is_boolean()) || (type == "null" && value.is_null()) ||
         (type == "array" && value.is_array()) || (type == "object" && value.is_object());
}

/// Gathers findings while it walks over a value.
class Checker {
public:
  void check(const json& given, const json& value, const std::string& place) {
    const json& schema = resolved(given);
    for (const auto& [word, rule] : schema.items()) {
      if (word == "type") {
        const json types = rule.is_array() ? rule : json::array({rule});
        if (std::ranges::none_of(types, [&](const json& type) { return isOfType(type.get<std::string>(), value); })) {
          add(place, "is not of type " + rule.dump());
        }
      } else if (word == "enum") {
        if (std::ranges::find(rule, value) == rule.end()) {
          add(place, "is none of " + rule.dump());
        }
      } else if (word == "minimum" || word == "maximum") {
        if (value.is_number() && (word == "minimum" ? value < rule : value > rule)) {
          add(place, "is beyond its " + word);
        }
      } else if (word == "anyOf") {
        checkAny(rule, value, place);
      } else if (word == "required") {
        for (const json& name : rule) {
          if (value.is_object() && !value.contains(name.get<std::string>())) {
            add(place, "lacks " + name.dump());
          }
        }
      } else if (word == "properties" || word == "additionalProperties") {
        checkMembers(schema, value, place, word == "properties");
      } else if (word == "items") {
        for (std::size_t index = 0; value.is_array() && index < value.size(); ++index) {
          check(rule, value[index], place + "[" + std::to_string(index) + "]");
        }
      } else if (word != "description") {
        add(place, "has a schema with the unknown word " + word);
      }
    }
  }

  std::vector<std::string> findings;

private:
  void add(const std::string& place, const std::string& what) { findings.push_back(place + " " + what); }

  void checkAny(const json& schemas, const json& value, const std::string& place) {
    std::string all;
    for (const json& schema : schemas) {
      Checker one;
      one.check(schema, value, place);
      if (one.findings.empty()) {
        return;
      }
      all += one.findings.front() + "; ";
    }
    add(place, "fits none of several: " + all);
  }

  void checkMembers(const json& schema, const json& value, const std::string& place, bool known) {
    const json& properties = schema.at("properties");
    if (!value.is_object()) {
      return;
    }
    for (const auto& [name, member] : value.items()) {
      if (properties.contains(name)) {
        if (known) {
          check(properties.at(name), member, place + "." + name);
        }
      } else if (!known && schema.at("additionalProperties") == json(false)) {
        add(place, "has a member that is not described: " + name);
      }
    }
  }
};

}  // namespace

const json& openApi() {
  static const json document = [] {
    std::ifstream in(OPENAPI_FILE);
    return json::parse(in);
  }();
  return document;
}

const json& resolved(const json& node) {
  const auto found = node.find("$ref");
  return found == node.end() ? node : openApi().at(json::json_pointer(found->get<std::string>().substr(1)));
}

std::vector<std::string> checkSchema(const json& schema, const json& value) {
  Checker checker;
  checker.check(schema, value, "$");
  return checker.findings;
}

}  // namespace ackbox::testing
