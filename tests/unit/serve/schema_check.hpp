#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ackbox::testing {

/// proto/serve.openapi.json.
[[nodiscard]] const nlohmann::json& openApi();

/// What of `value` is not as `schema` has it, a sentence each. Knows the words of JSON Schema that the document uses:
/// `$ref` within it, `type`, `enum`, `properties`, `required`, `additionalProperties`, `items`, `anyOf`, `minimum`,
/// `maximum`; any other word is a finding, so that none goes unchecked.
[[nodiscard]] std::vector<std::string> checkSchema(const nlohmann::json& schema, const nlohmann::json& value);

/// Follows a `$ref` within the document.
[[nodiscard]] const nlohmann::json& resolved(const nlohmann::json& node);

}  // namespace ackbox::testing
