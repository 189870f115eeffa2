#include "serve/api/page.hpp"

#include <limits>

#include "json/line.hpp"
#include "records/inbox_frame.hpp"
#include "records/message.hpp"
#include "serve/http/answer.hpp"

namespace ackbox::serve {
namespace {

constexpr std::uint64_t kLimitMost = 1'000;

}  // namespace

PageWish takePage(Query& query) {
  PageWish wish;
  wish.limit = query.count("limit", kLimitMost).value_or(wish.limit);
  if (wish.limit == 0) {
    throw InvalidRequest("limit must be from 1 to 1000");
  }
  const std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  wish.after = static_cast<std::int64_t>(query.count("after", most).value_or(0));
  return wish;
}

MessageState messageStateOf(std::string_view name) {
  const std::optional<MessageState> state = records::messageStateOf(name);
  if (!state) {
    throw InvalidRequest("state must be pending, sending, sent, acked or failed");
  }
  return *state;
}

InboxState inboxStateOf(std::string_view name) {
  const std::optional<InboxState> state = records::inboxStateOf(name);
  if (!state) {
    throw InvalidRequest("state must be waiting, unattended, behind, running, backoff or ended");
  }
  return *state;
}

Response pageAnswer(std::string_view name, std::string_view list, std::int64_t next) {
  return jsonAnswer(200, json::Line().raw(name, list).raw("next", next == 0 ? "null" : std::to_string(next)).text());
}

}  // namespace ackbox::serve
