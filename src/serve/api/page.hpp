#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ackbox/inbox.hpp"
#include "ackbox/message.hpp"
#include "serve/http/query.hpp"
#include "serve/http/request.hpp"

namespace ackbox::serve {

/// The requested part of a list.
struct PageWish {
  std::size_t limit = 100;
  std::int64_t after = 0;
};

/// The parameters `limit` (1 to 1,000) and `after`. Throws `InvalidRequest`.
[[nodiscard]] PageWish takePage(Query& query);

/// The state of a message by its name. Throws `InvalidRequest`.
[[nodiscard]] MessageState messageStateOf(std::string_view name);

/// The state of a received frame by its name. Throws `InvalidRequest`.
[[nodiscard]] InboxState inboxStateOf(std::string_view name);

/// `{"name":[…],"next":7}`; `next` is null on the last page. `list` is a JSON array.
[[nodiscard]] Response pageAnswer(std::string_view name, std::string_view list, std::int64_t next);

}  // namespace ackbox::serve
