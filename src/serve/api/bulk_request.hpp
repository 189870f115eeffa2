#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/message.hpp"
#include "ackbox/message_page.hpp"
#include "ackbox/outbox_reader.hpp"
#include "serve/api/service.hpp"
#include "serve/http/operation.hpp"
#include "serve/http/query.hpp"

namespace ackbox::serve {

inline constexpr std::size_t kPreviewSample = 10;
inline constexpr std::size_t kPreviewPage = 1'000;
/// Limits a preview, which would otherwise occupy a thread, and slow other readers, for seconds.
inline constexpr std::size_t kPreviewLooksMost = 50'000;

/// The parameters `dry_run` and `wait` of a request to change many rows.
struct BulkWish {
  bool isPreview = false;
  std::chrono::milliseconds patience{0};
};

/// Reads all parameters of the request. Throws `InvalidRequest`.
[[nodiscard]] BulkWish takeBulkWish(Query& query);

/// A change of many rows.
struct BulkRequest {
  /// The operation, such as `dead-letters:retry`.
  std::string_view name;
  /// The rows that the change applies to, in JSON; for the audit.
  std::string choice;
  /// Answers with what the change would do. Called on a worker.
  std::function<Response()> preview;
  /// Makes the change; adds each done row to `outcome`, even if it then throws: `InvalidRequest` if the request names
  /// what is not there. Called in the background.
  BulkChanges::Change change;
};

/// Calls `change`, which changes slice by slice all that a filter chooses, and counts nothing if it throws.
void changeBySlices(BulkOutcome& outcome, const std::function<std::uint64_t()>& change);

/// Answers with the preview; or begins the change, and answers when the change has ended, or with 202 after the wait's
/// limit.
void answerBulk(Service& service, Request&& request, Respond&& respond, const BulkWish& wish, BulkRequest&& bulk);

// Parsing of such a request's body. Each function throws `InvalidRequest`.

/// A member of the object that names the rows to change.
enum class Member : std::uint8_t {
  /// It lists rows, or is a condition of a filter.
  chooses,
  /// It says something else about the change.
  accompanies,
  unknown,
};
using TakeMember = std::function<Member(const std::string& name, const nlohmann::json& value)>;
/// Reads the object that names the rows to change: by a list, which is the member `list`, by a filter, or by
/// `{"all":true}`. Calls `take` for each member but `all`. Returns the object's text, for the audit.
[[nodiscard]] std::string readChoice(const std::string& body, std::string_view list, const TakeMember& take);
/// 1 to 1,000 ids of messages, each once.
[[nodiscard]] std::vector<std::string> idsMember(const nlohmann::json& value);
[[nodiscard]] std::string textMember(const std::string& name, const nlohmann::json& value);
/// A text that is not empty: a variable of the caller that was not set must not choose everything.
[[nodiscard]] std::string filledMember(const std::string& name, const nlohmann::json& value);
/// Takes a condition of a filter of messages: `peer`, `session`, `type`, `since` or `before`. False: it is something
/// else.
[[nodiscard]] bool takeCondition(MessageFilter& filter, const std::string& name, const nlohmann::json& value);
[[nodiscard]] bool flagMember(const std::string& name, const nlohmann::json& value);
/// The number of a row, or 0.
[[nodiscard]] std::int64_t rowMember(const std::string& name, const nlohmann::json& value);

/// The last row of the outbox; 0: it has none.
[[nodiscard]] std::int64_t lastRowOf(const OutboxReader& reader);

/// Those of `ids` that name messages of the peers in `limits`.
[[nodiscard]] std::vector<std::string> within(const Limits& limits, const OutboxReader& reader,
                                              const std::vector<std::string>& ids);

/// The messages that a change would apply to.
class MessagePreview {
public:
  void add(const MessageInfo& message);
  void add(const std::vector<MessageInfo>& messages);
  /// Those of the named messages that are in this state.
  void add(const OutboxReader& reader, const std::vector<std::string>& ids, MessageState state);
  /// Those that match, up to this row. Returns whether all messages were looked at.
  [[nodiscard]] bool addAll(const OutboxReader& reader, const MessageFilter& filter,
                            std::int64_t lastRow = std::numeric_limits<std::int64_t>::max());

  /// `meaning`: what the change means to those that it concerns, in a sentence; empty: it need not be said. `lastRow`:
  /// up to which row messages were counted, if the change can end there, too.
  [[nodiscard]] Response answer(bool isComplete, std::string_view meaning = {},
                                std::optional<std::int64_t> lastRow = {}) const;

private:
  std::uint64_t count_ = 0;
  std::vector<MessageInfo> sample_;
};

/// `sample` is a JSON array. `meaning`, `lastRow`: see `MessagePreview::answer`.
[[nodiscard]] Response previewAnswer(std::uint64_t count, bool isComplete, std::string_view sample,
                                     std::string_view meaning = {}, std::optional<std::int64_t> lastRow = {});

}  // namespace ackbox::serve
