// `GET /v1/messages`, and `GET /v1/messages/{id}`, which can wait for the end of the message.

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "ackbox/diagnosis.hpp"
#include "protocol/wire.hpp"
#include "records/message.hpp"
#include "serve/api/operations.hpp"
#include "serve/api/page.hpp"
#include "serve/api/service.hpp"
#include "serve/http/answer.hpp"

namespace ackbox::serve {
namespace {

// Less than a connection's time limit for handling a request.
constexpr std::chrono::seconds kWaitMost{30};

bool isSettled(const Explanation& explanation) {
  return explanation.message.state == MessageState::acked || explanation.message.state == MessageState::failed;
}

/// Nothing for a message beyond the limits.
std::optional<Explanation> explain(Service& service, const std::string& messageId, const Limits& limits) {
  std::optional<Explanation> found = service.reader().explain(messageId);
  const bool isWithin = found && limits.hasPeer(found->message.peer) && limits.hasType(found->message.type);
  return isWithin ? std::move(found) : std::nullopt;
}

/// A message with the reasons why it does not move.
json::Line lineOf(Service& service, const Explanation& explanation, bool withData) {
  json::Line line = records::lineOf(explanation.message);
  line.add("sentence", explanation.sentence).raw("reasons", records::listOf(explanation.reasons));
  if (withData) {
    if (const std::optional<Frame> frame = service.reader().frame(explanation.message.messageId)) {
      records::addFrame(line, *frame);
    }
  }
  if (const std::optional<std::string> result = service.waits().resultOf(explanation.message.messageId)) {
    line.raw("result", *result);
  }
  return line;
}

Response noMessage() {
  return problemAnswer(404, "Not found", "No message has this id; an acknowledged one is gone after acked_retention.");
}

/// A request that waits for the end of a message.
class Waiting : public std::enable_shared_from_this<Waiting> {
public:
  Waiting(Service& service, std::string messageId, bool withData, Limits limits, std::string sharer, Respond respond)
      : service_(service),
        messageId_(std::move(messageId)),
        withData_(withData),
        limits_(std::move(limits)),
        sharer_(std::move(sharer)),
        respond_(std::move(respond)) {}

  // Registers the wait before it reads the message, so that no end is missed in between.
  void start(std::chrono::milliseconds time, transport::ClientWatch& client) {
    const std::uint64_t wait = service_.waits().add(
        messageId_, time, sharer_, [self = shared_from_this()](WaitEnd end) { self->ended(std::move(end)); });
    client.gone = [&waits = service_.waits(), wait] { waits.cancel(wait); };
    service_.workers().answer(
        sharer_, [self = shared_from_this()] { return self->look(); },
        [self = shared_from_this(), wait](Response response) {
          if (response.status != kStillWaits) {
            self->service_.waits().cancel(wait);
            self->answer(std::move(response));
          }
        });
  }

private:
  // A status that means: no answer yet.
  static constexpr int kStillWaits = 0;

  Response look() {
    const std::optional<Explanation> found = explain(service_, messageId_, limits_);
    if (!found) {
      return noMessage();
    }
    isWithin_ = true;
    if (isSettled(*found)) {
      return jsonAnswer(200, lineOf(service_, *found, withData_).text());
    }
    Response response;
    response.status = kStillWaits;
    return response;
  }

  // Answers only once: the wait may end while the first read also shows the end.
  void answer(Response response) {
    if (!answered_.exchange(true)) {
      respond_(std::move(response));
    }
  }

  void ended(WaitEnd end) {
    service_.workers().answer(
        sharer_, [self = shared_from_this(), end = std::move(end)] { return self->finish(end); },
        [self = shared_from_this()](Response response) { self->answer(std::move(response)); });
  }

  Response finish(const WaitEnd& wait) {
    const std::optional<Explanation> found = explain(service_, messageId_, limits_);
    // The end may come before the first read, of a message beyond the limits.
    if (!found && !limits_.isEmpty() && !isWithin_) {
      return noMessage();
    }
    if (wait.isRefused && !(found && isSettled(*found))) {
      return found ? protocol::unavailable(
                         false, "Too many requests wait, or too many with this token, or the server is being stopped.")
                   : noMessage();
    }
    const std::optional<MessageEnd>& end = wait.message;
    json::Line line;
    if (found) {
      line = lineOf(service_, *found, withData_);
    } else {
      // The message was acknowledged and is not kept, or another process settled or removed it.
      line.add("message_id", messageId_).add("state", end && !end->isFailed ? "acked" : "gone");
      if (end && !end->result.empty()) {
        line.raw("result", end->result);
      }
    }
    return jsonAnswer(200, line.text());
  }

  Service& service_;
  const std::string messageId_;
  const bool withData_;
  const Limits limits_;
  const std::string sharer_;
  const Respond respond_;
  std::atomic<bool> answered_ = false;
  std::atomic<bool> isWithin_ = false;
};

}  // namespace

void listMessages(Service& service, Request&& request, Respond&& respond) {
  MessageFilter filter;
  if (const std::optional<std::string> state = request.query.text("state")) {
    filter.state = messageStateOf(*state);
  }
  filter.peer = request.query.text("peer");
  filter.session = request.query.text("session");
  filter.type = request.query.text("type");
  filter.text = request.query.text("text");
  filter.since = request.query.instant("since");
  filter.before = request.query.instant("before");
  filter.isNewestFirst = request.query.flag("newest");
  const PageWish wish = takePage(request.query);
  request.query.finish();
  limitPeer(request, filter.peer);
  service.workers().answer(
      request.sharer(),
      [&service, filter = std::move(filter), wish] {
        const MessagePage page = service.reader().messages(filter, wish.limit, wish.after);
        return pageAnswer("messages", records::listOf(page.messages), page.next);
      },
      std::move(respond));
}

void showMessage(Service& service, Request&& request, Respond&& respond) {
  const std::optional<std::chrono::milliseconds> wait = request.query.duration("wait");
  const bool withData = request.query.flag("data");
  request.query.finish();
  if (wait && *wait > kWaitMost) {
    throw InvalidRequest("wait must be at most 30s");
  }
  if (withData && !request.caller.roles.has(Role::read)) {
    respond(problemAnswer(403, "Forbidden", "Data is shown to the role read."));
    return;
  }
  std::string& messageId = request.path.front();
  if (wait && wait->count() > 0) {
    std::make_shared<Waiting>(service, std::move(messageId), withData, request.caller.limits, request.sharer(),
                              std::move(respond))
        ->start(*wait, *request.client);
    return;
  }
  service.workers().answer(
      request.sharer(),
      [&service, messageId = std::move(messageId), withData, limits = request.caller.limits] {
        const std::optional<Explanation> found = explain(service, messageId, limits);
        return found ? jsonAnswer(200, lineOf(service, *found, withData).text()) : noMessage();
      },
      std::move(respond));
}

}  // namespace ackbox::serve
