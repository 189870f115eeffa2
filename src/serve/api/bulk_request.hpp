#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "serve/api/service.hpp"
#include "serve/http/operation.hpp"
#include "serve/http/query.hpp"

namespace ackbox::serve {

inline constexpr std::size_t kPreviewSample = 10;
inline constexpr std::size_t kPreviewPage = 1'000;
/// A preview that looks at more rows would keep a thread, and other readers, for seconds.
inline constexpr std::size_t kPreviewLooksMost = 50'000;

/// How a change of many rows is wanted: `dry_run` and `wait` of a request.
struct BulkWish {
  bool isPreview = false;
  std::chrono::milliseconds patience{0};
};

/// Takes all parameters of the request. Throws `InvalidRequest`.
[[nodiscard]] BulkWish takeBulkWish(Query& query);

/// A change of many rows.
struct BulkRequest {
  /// The operation, such as `dead-letters:retry`.
  std::string_view name;
  /// What it is for, in JSON; for the audit.
  std::string choice;
  /// Says what it would change. Called on a worker.
  std::function<Response()> preview;
  /// Makes the change; adds to `changed` what is done, also before a throw. Called in the background.
  std::function<void(std::uint64_t& changed)> change;
};

/// Answers with the preview; or begins the change, and answers when it has ended, or with 202 once the patience is
/// over.
void answerBulk(Service& service, Request&& request, Respond&& respond, const BulkWish& wish, BulkRequest&& bulk);

// What the body of such a request holds. Each throws `InvalidRequest`.

/// The object that says what is to be changed. `list`: the member that names rows one by one.
[[nodiscard]] nlohmann::json choiceIn(const std::string& body, std::string_view list);
[[nodiscard]] std::string textMember(const std::string& name, const nlohmann::json& value);
[[nodiscard]] bool flagMember(const std::string& name, const nlohmann::json& value);
[[nodiscard]] std::string auditText(const nlohmann::json& choice);

/// `sample`: a JSON array.
[[nodiscard]] Response previewAnswer(std::uint64_t count, bool isComplete, std::string_view sample);

}  // namespace ackbox::serve
