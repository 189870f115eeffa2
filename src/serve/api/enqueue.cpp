// `POST /v1/messages`: one message or many, answered once they are durable.

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/error.hpp"
#include "base/hex.hpp"
#include "base/published.hpp"
#include "json/line.hpp"
#include "protocol/wire.hpp"
#include "records/subscription.hpp"
#include "serve/api/operations.hpp"
#include "serve/api/posted_frames.hpp"
#include "serve/api/service.hpp"
#include "serve/http/answer.hpp"

namespace ackbox::serve {
namespace {

// Of one request: with the most subscribers, 16,000 messages.
constexpr std::size_t kPublishesTogether = 16;

/// The outcome of one frame.
struct Enqueued {
  // Compared with the stored frame if it is a duplicate by its id.
  Frame frame = {};
  std::string problem = {};
  std::error_code failure = {};
  // With `isConflict` also where the id was used for different content.
  EnqueueReceipt receipt = {};
  // The frame goes to all subscribers: `receipt` has the outcome, and the first message.
  bool isPublished = false;
  PublishReceipt published = {};
};

std::string_view dataOf(const Frame& frame) {
  return frame.data.empty() ? std::string_view("null") : std::string_view(frame.data);
}

bool isSame(const Frame& one, const Frame& other) {
  return one.peer == other.peer && one.session == other.session && one.type == other.type &&
         dataOf(one) == dataOf(other);
}

bool isRepeatedById(const Enqueued& enqueued) {
  return enqueued.problem.empty() && enqueued.receipt.status == EnqueueStatus::duplicate &&
         enqueued.receipt.messageId == enqueued.frame.id;
}

bool isForNobody(const Enqueued& enqueued) {
  return enqueued.isPublished && enqueued.problem.empty() && enqueued.published.status == PublishStatus::noSubscriber;
}

/// Subscribers' messages have ids of their own. The id of a CloudEvent, which each has, makes a publish happen once.
void prepareToPublish(Frame& frame) {
  if (frame.idempotencyKey.empty()) {
    frame.idempotencyKey = std::move(frame.id);
  }
  frame.id.clear();
}

/// The HTTP status of a single message, or of each message in an array.
int statusOf(const Enqueued& enqueued) {
  if (!enqueued.problem.empty()) {
    return 422;
  }
  if (enqueued.receipt.isConflict) {
    return 409;
  }
  if (isForNobody(enqueued)) {
    return 200;
  }
  return httpStatusOf(enqueued.receipt.status);
}

std::string statusName(const Enqueued& enqueued) {
  if (!enqueued.problem.empty()) {
    return std::string(toString(EnqueueStatus::invalidFrame));
  }
  if (enqueued.isPublished && !enqueued.receipt.isConflict) {
    return std::string(toString(enqueued.published.status));
  }
  return enqueued.receipt.isConflict ? "conflict" : std::string(toString(enqueued.receipt.status));
}

std::string detailOf(const Enqueued& enqueued) {
  if (enqueued.receipt.isConflict) {
    // Which message it was is not said: it may be one that the caller may not see.
    return "this key or id was used with another peer, session, type or data: use another one";
  }
  if (enqueued.problem.empty() && !enqueued.isPublished && enqueued.receipt.status == EnqueueStatus::unknownPeer) {
    return "no peer has this name: see GET /v1/peers, or add it to the configuration";
  }
  return enqueued.problem.empty() ? enqueued.receipt.detail : enqueued.problem;
}

json::Line lineOf(const Enqueued& enqueued) {
  json::Line line;
  line.add("status", statusName(enqueued));
  if (enqueued.isPublished && statusOf(enqueued) < 400) {
    line.raw("messages", records::listOf(enqueued.published.messages));
  } else if (enqueued.problem.empty() && enqueued.receipt.accepted() && !enqueued.receipt.isConflict) {
    line.add("message_id", enqueued.receipt.messageId).add("sequence", enqueued.receipt.sequence);
  }
  if (!enqueued.receipt.supersededId.empty()) {
    line.add("superseded_id", enqueued.receipt.supersededId);
  }
  if (const std::string detail = detailOf(enqueued); !detail.empty()) {
    line.add("detail", detail);
  }
  return line;
}

Response answerOne(const Enqueued& enqueued) {
  const int status = statusOf(enqueued);
  if (status >= 400) {
    return refusalAnswer(status, statusName(enqueued), detailOf(enqueued));
  }
  Response response = jsonAnswer(status, lineOf(enqueued).text());
  if (!enqueued.isPublished) {
    response.headers.emplace_back("Location", "/v1/messages/" + percentEncoded(enqueued.receipt.messageId));
  }
  return response;
}

Response answerBatch(const std::vector<Enqueued>& all) {
  std::string results;
  bool isAccepted = true;
  for (const Enqueued& enqueued : all) {
    results += (results.empty() ? "" : ",") + lineOf(enqueued).text();
    isAccepted = isAccepted && statusOf(enqueued) < 400;
  }
  return jsonAnswer(isAccepted ? 200 : 207, "{\"results\":[" + results + "]}");
}

/// The frames of one request while they are stored.
class Enqueueing : public std::enable_shared_from_this<Enqueueing> {
public:
  Enqueueing(Service& service, PostedFrames&& posted, std::string sharer, Respond respond)
      : service_(service),
        isBatch_(posted.isBatch),
        sharer_(std::move(sharer)),
        respond_(std::move(respond)),
        left_(posted.frames.size() + 1) {
    all_.reserve(posted.frames.size());
    for (PostedFrame& one : posted.frames) {
      const bool isPublished = one.frame.peer == kAllSubscribers;
      if (isPublished) {
        prepareToPublish(one.frame);
      }
      all_.push_back({.frame = std::move(one.frame), .problem = std::move(one.problem), .isPublished = isPublished});
    }
  }

  // Submits the frames of a request one after the other, so that they share a commit and keep their order. A publish
  // may store a thousand messages: other requests have their turn after a few of them.
  void start() {
    bool mayGoOn = true;
    while (mayGoOn && next_ < all_.size()) {
      // One more, so that those that end meanwhile do not go on here.
      turn_ = kPublishesTogether + 1;
      std::size_t unused = kPublishesTogether;
      for (; unused > 0 && next_ < all_.size(); ++next_) {
        unused -= all_[next_].isPublished && all_[next_].problem.empty() ? 1U : 0U;
        submit(next_);
      }
      mayGoOn = hasEnded(unused + 1);
    }
    if (mayGoOn) {
      ended();
    }
  }

private:
  void submit(std::size_t index) {
    if (!all_[index].problem.empty()) {
      ended();
    } else if (all_[index].isPublished) {
      service_.manager().publishThen(
          all_[index].frame, [self = shared_from_this(), index](std::error_code failure, PublishReceipt receipt) {
            self->publishEnded(self->all_[index], failure, std::move(receipt));
          });
    } else {
      service_.manager().enqueueThen(
          all_[index].frame, [self = shared_from_this(), index](std::error_code failure, EnqueueReceipt receipt) {
            self->all_[index].failure = failure;
            self->all_[index].receipt = std::move(receipt);
            self->ended();
          });
    }
  }

  /// Whether no publish of this turn is under way any more.
  bool hasEnded(std::size_t count) { return turn_.fetch_sub(count) == count; }

  void publishEnded(Enqueued& enqueued, std::error_code failure, PublishReceipt receipt) {
    enqueued.failure = failure;
    enqueued.receipt = asEnqueue(receipt);
    enqueued.published = std::move(receipt);
    if (hasEnded(1)) {
      start();
    }
    ended();
  }

  void ended() {
    if (--left_ > 0) {
      return;
    }
    for (const Enqueued& enqueued : all_) {
      if (enqueued.failure) {
        service_.writeHealth().refused(enqueued.failure);
        respond_(failureAnswer(enqueued.failure, enqueued.failure.message() +
                                                     "; what was stored is known by its key or id: send all of it "
                                                     "again"));
        return;
      }
    }
    const bool isOneStored = std::ranges::any_of(all_, [](const Enqueued& enqueued) {
      return enqueued.problem.empty() && enqueued.receipt.status == EnqueueStatus::stored;
    });
    if (isOneStored) {
      service_.writeHealth().stored();
    }
    if (std::ranges::any_of(all_, isRepeatedById)) {
      service_.workers().answer(
          sharer_, [self = shared_from_this()] { return self->compared(); }, respond_);
    } else {
      respond_(answer());
    }
  }

  // A message that no longer exists, because it was acknowledged, is treated as equal.
  Response compared() {
    std::vector<Enqueued*> duplicates;
    for (Enqueued& enqueued : all_) {
      if (isRepeatedById(enqueued)) {
        duplicates.push_back(&enqueued);
      }
    }
    // Sorted by message: it may be large, and is read once.
    std::ranges::sort(duplicates, {}, [](const Enqueued* one) { return std::string_view(one->receipt.messageId); });
    std::optional<Frame> stored;
    const std::string* read = nullptr;
    for (Enqueued* enqueued : duplicates) {
      if (read == nullptr || *read != enqueued->receipt.messageId) {
        stored = service_.reader().frame(enqueued->receipt.messageId);
        read = &enqueued->receipt.messageId;
      }
      EnqueueReceipt& receipt = enqueued->receipt;
      receipt.isConflict = receipt.isConflict || (stored && !isSame(*stored, enqueued->frame));
    }
    return answer();
  }

  [[nodiscard]] Response answer() const { return isBatch_ ? answerBatch(all_) : answerOne(all_.front()); }

  Service& service_;
  const bool isBatch_;
  const std::string sharer_;
  const Respond respond_;
  // Each element is written by the callback of its own frame only.
  std::vector<Enqueued> all_;
  // The first frame that was not submitted. Of the one call of `start` at a time.
  std::size_t next_ = 0;
  // What must end before further frames are submitted.
  std::atomic<std::size_t> turn_ = 0;
  std::atomic<std::size_t> left_;
};

}  // namespace

void enqueue(Service& service, Request&& request, Respond&& respond) {
  PostedFrames posted = readPostedFrames(request);
  for (const PostedFrame& one : posted.frames) {
    if (one.problem.empty()) {
      requirePeer(request, one.frame.peer);
      requireType(request, one.frame.type);
    }
  }
  std::make_shared<Enqueueing>(service, std::move(posted), request.sharer(), std::move(respond))->start();
}

}  // namespace ackbox::serve
