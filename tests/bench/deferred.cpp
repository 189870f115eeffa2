// What a frame costs that its handler defers, beside one that it handles at once: requests of 100 frames of 1,000
// sessions, given to a durable handler in process, without HTTP. Every frame is handled once, and in the order of its
// session, or no figure is given.

#include <algorithm>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/thread_pool.hpp>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ackbox/deferred_frame.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/outbox_manager.hpp"
#include "bench/measured_disk.hpp"
#include "bench/operation.hpp"
#include "bench/pace.hpp"
#include "bench/scratch.hpp"
#include "bench/workload.hpp"
#include "protocol/wire.hpp"

namespace ackbox::bench {
namespace {

constexpr std::uint64_t kDeferredFrames = 50'000;
constexpr std::uint64_t kRequestFrames = 100;
// In the inbox, or on the way there.
constexpr std::uint64_t kUnderWayMax = 4'000;
constexpr std::uint32_t kDeferredRuns = 64;
constexpr const char* kAwayUrl = "http://127.0.0.1:1/";

enum class Way {
  /// The frame's handler takes it in the request's transaction.
  atOnce,
  /// The same, and it enqueues a reply to the sender.
  replying,
  deferred,
  /// The same, with an executor of one thread, as the daemon has one; otherwise each place is a thread.
  deferredToOneThread,
  /// Deferred, by a sender that is a peer of ours: an ACK event is enqueued to it.
  acknowledged,
};

/// Requests whose frames are in the order of their sessions.
class Requests {
public:
  InboundRequest next(std::uint64_t frames) {
    SendRequest request;
    request.agent = kSenderAgent;
    request.peerAgent = kReceiverAgent;
    request.origin = "01890a5d-ac96-774b-bcce-b302099a8057";
    request.epoch = 1;
    for (std::uint64_t index = 0; index < frames; ++index, ++number_) {
      Frame frame = frameOf(number_, kSessions);
      const std::uint64_t place = number_ / kSessions + 1;
      OutboundFrame& sent = request.frames.emplace_back();
      sent.messageId = orderedId(number_);
      sent.session = std::move(frame.session);
      sent.type = std::move(frame.type);
      sent.data = std::move(frame.data);
      sent.sequence = place;
      sent.previousSequence = place - 1;
    }
    protocol::EncodedRequest encoded = protocol::encodeRequest(request, "delivery-" + std::to_string(number_));
    return {.contentType = std::move(encoded.contentType),
            .body = std::move(encoded.body),
            .webhookId = std::move(encoded.webhookId)};
  }

private:
  std::uint64_t number_ = 0;
};

/// Counts the frames that were handled, and holds their sender back while many are not.
class Handled {
public:
  void add(const InboundFrame& frame) {
    const std::scoped_lock lock(mutex_);
    isWrong_ = isWrong_ || placeOf(frame.data) != ++places_[frame.session];
    if (++count_ >= wanted_) {
      changed_.notify_all();
    }
  }
  void answered(bool isTaken) {
    const std::scoped_lock lock(mutex_);
    isWrong_ = isWrong_ || !isTaken;
  }
  void await(std::uint64_t wanted) {
    std::unique_lock lock(mutex_);
    wanted_ = wanted;
    if (!changed_.wait_for(lock, std::chrono::minutes(2), [&] { return count_ >= wanted; })) {
      throw std::runtime_error("only " + std::to_string(count_) + " frames were handled");
    }
    if (isWrong_) {
      throw std::runtime_error("a frame was refused, handled twice, or before an earlier one of its session");
    }
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_map<std::string, std::uint64_t> places_;
  std::uint64_t count_ = 0;
  std::uint64_t wanted_ = 0;
  bool isWrong_ = false;
};

Frame replyTo(const InboundFrame& frame) {
  Frame reply;
  reply.peer = "sender";
  reply.session = frame.session;
  reply.type = frame.type;
  reply.data = frame.data;
  return reply;
}

struct Handling {
  Pace pace;
  double framesPerSync = 0;
};

Handling handle(const Settings& settings, Way way) {
  const std::uint64_t frames = settings.count == 0 ? kDeferredFrames : settings.count;
  const std::filesystem::path file = freshDatabase(settings.folder, "deferred");
  Handling handling;
  {
    OutboxOptions receiving = outboxOptions(Durability::powerCut);
    receiving.agent = kReceiverAgent;
    receiving.log = [](const LogRecord&) {};
    if (way == Way::acknowledged || way == Way::replying) {
      receiving.peers = {{.name = "sender", .url = kAwayUrl, .agent = kSenderAgent}};
    } else {
      receiving.adoptPeers = true;
    }
    OutboxManager manager = OutboxManager::open(file, receiving);
    Handled handled;
    boost::asio::thread_pool thread(1);
    InboundOptions options;
    if (way == Way::deferredToOneThread) {
      options.deferred.executor = std::make_shared<const boost::asio::any_io_executor>(thread.get_executor());
    }
    options.allowAnonymous = true;
    options.deferred.concurrency = kDeferredRuns;
    options.deferred.handler = [&](DeferredFrame frame) {
      handled.add(frame.frame());
      frame.finish(HandlerResult::ack());
    };
    options.deferred.always = [way](std::string_view) { return way != Way::atOnce && way != Way::replying; };
    InboundHandler handler(
        manager,
        [&](const InboundFrame& frame, InboundTransaction& transaction) {
          handled.add(frame);
          if (way == Way::replying) {
            handled.answered(transaction.enqueue(replyTo(frame)).isNew());
          }
          return HandlerResult::ack();
        },
        options);
    Requests requests;
    diskCounts().reset();
    const PaceMeter meter;
    for (std::uint64_t sent = 0; sent < frames;) {
      const std::uint64_t count = std::min(kRequestFrames, frames - sent);
      handler.asyncHandle(requests.next(count),
                          [&](const InboundResponse& response) { handled.answered(response.status < 300); });
      sent += count;
      handled.await(sent > kUnderWayMax ? sent - kUnderWayMax : 0);
    }
    handled.await(frames);
    while (manager.getStats().received < frames) {
      std::this_thread::yield();
    }
    handling.pace = meter.of(frames);
    handling.framesPerSync =
        static_cast<double>(frames) / static_cast<double>(std::max<std::uint64_t>(1, diskCounts().logSyncs));
  }
  removeDatabase(file);
  return handling;
}

}  // namespace

Measurement deferred(const Settings& settings) {
  Measurement measurement;
  const Handling later = handle(settings, Way::deferred);
  const Handling oneThread = handle(settings, Way::deferredToOneThread);
  const Handling acknowledged = handle(settings, Way::acknowledged);
  const Handling atOnce = handle(settings, Way::atOnce);
  const Handling replying = handle(settings, Way::replying);
  measurement.figure("deferred_per_s", later.pace.perSecond);
  measurement.figure("deferred_cpu_us_per_frame", later.pace.cpuMicroseconds);
  measurement.figure("deferred_frames_per_sync", later.framesPerSync);
  measurement.figure("one_thread_per_s", oneThread.pace.perSecond);
  measurement.figure("one_thread_cpu_us_per_frame", oneThread.pace.cpuMicroseconds);
  measurement.figure("acknowledged_per_s", acknowledged.pace.perSecond);
  measurement.figure("acknowledged_cpu_us_per_frame", acknowledged.pace.cpuMicroseconds);
  measurement.figure("replying_per_s", replying.pace.perSecond);
  measurement.figure("replying_cpu_us_per_frame", replying.pace.cpuMicroseconds);
  measurement.baseline("at_once_per_s", atOnce.pace.perSecond);
  measurement.baseline("at_once_cpu_us_per_frame", atOnce.pace.cpuMicroseconds);
  measurement.ratio("deferred_over_at_once", later.pace.perSecond, atOnce.pace.perSecond);
  measurement.ratio("deferred_cpu_over_at_once", later.pace.cpuMicroseconds, atOnce.pace.cpuMicroseconds);
  return measurement;
}

}  // namespace ackbox::bench
