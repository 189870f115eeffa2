// `GET /v1/events`: figures and log records as server-sent events.

#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "protocol/wire.hpp"
#include "serve/api/operations.hpp"
#include "serve/api/service.hpp"
#include "serve/events/event_streams.hpp"
#include "serve/http/answer.hpp"

namespace ackbox::serve {
namespace {

/// Nothing if it is not an id of this daemon.
std::optional<std::uint64_t> eventIdOf(std::string_view text) {
  std::uint64_t id = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, id);
  return !text.empty() && error == std::errc() && end == last ? std::optional(id) : std::nullopt;
}

}  // namespace

void streamEvents(Service& service, Request&& request, std::shared_ptr<transport::AnswerStream> answer,
                  Respond&& respond) {
  request.query.finish();
  EventsWish wish;
  wish.lastEventId = eventIdOf(request.lastEventId);
  wish.sharer = request.sharer();
  wish.isStillAllowed = std::move(request.isStillAllowed);
  if (!service.events().open(std::move(wish), std::move(answer), streamHead("text/event-stream"))) {
    respond(protocol::unavailable(false, "Too many clients look at the events, or too many with this token."));
  }
}

}  // namespace ackbox::serve
