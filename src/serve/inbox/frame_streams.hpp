#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/deferred_frame.hpp"
#include "ackbox/inbound_request.hpp"
#include "ackbox/log.hpp"
#include "ackbox/random.hpp"
#include "serve/inbox/frame_waits.hpp"
#include "transport/answer_stream.hpp"

namespace ackbox::serve {

/// Which frames a stream is for, and how many it may have.
struct StreamWish {
  /// See `fitsPattern`. A frame outside any session has an empty one.
  std::string types = "*";
  std::string sessions = "*";
  /// Frames that were given to it and are not settled.
  std::size_t window = 64;
  /// See `mayTakePlace`.
  std::string sharer = {};
  /// See `Request::isStillAllowed`.
  std::function<bool()> isStillAllowed = {};
};

/// What an application says of a frame that a stream gave it.
struct Settlement {
  std::string receipt = {};
  /// The end of its run. Nothing: it was not worked on, and is given out again at once, uncharged.
  std::optional<HandlerResult> result = {};
};

/// Gives deferred frames to the streams that applications hold open, one JSON line each. Which frame goes to which
/// stream, and when, is decided where turns are: each stream is a wish of `demand`. So a frame that no stream is open
/// for is not in hand, and nothing is charged to it. The open stream is the lease: when it ends, its unsettled frames
/// are given back, and go to other streams at once.
///
/// A stream that ends by itself says nothing about its frames: an application that is deployed anew ends as one that
/// dies of a frame does. So the first such end is charged to none; at a second, the frame that was the stream's oldest
/// both times is charged a run and waits for its backoff. What the daemon ends, and what an application gives back,
/// counts for nothing.
///
/// Thread-safety: as said below. What is not constant is owned by the executor.
class FrameStreams : public std::enable_shared_from_this<FrameStreams> {
public:
  /// `executor` runs one thing at a time, the connections' work too. `types` are patterns; so are `pushed`, of types
  /// that are posted to an application instead. `streamsMax`: see `Places::frameStreams`.
  FrameStreams(boost::asio::any_io_executor executor, std::shared_ptr<Clock> clock,
               const std::shared_ptr<Random>& random, std::size_t streamsMax, std::vector<std::string> types,
               std::vector<std::string> pushed, LogSink log);
  ~FrameStreams();

  // From any thread.

  /// Reports frames that no stream is open for, from here on. Before the `InboundHandler` is made.
  void watchUnwanted();
  /// Whether frames of this type are for streams.
  [[nodiscard]] bool takes(std::string_view type) const;
  /// Why no frame will ever come to a stream for these types, and what can be done about it, as a sentence; nothing:
  /// one may come.
  [[nodiscard]] std::optional<std::string> emptyBecause(std::string_view types) const;
  /// What the open streams want: of the pool of all that `takes` is true for.
  [[nodiscard]] const std::shared_ptr<DeferredDemand>& demand() const noexcept { return demand_; }
  /// Gives it to the stream whose wish it is for.
  void add(DeferredFrame frame);
  /// Gives out no more, and refuses further streams. Ready when no stream has an unsettled frame.
  [[nodiscard]] std::future<void> drain();
  /// Ends the streams that are not allowed any more.
  void endRevoked();
  /// Gives up what is left. Call it after the end of the `InboundHandler`, which then charges nothing for it.
  void close();

  // On the executor only.

  /// Opens `answer`, unless there are too many streams, or too many of its sharer's, or none are opened any more: then
  /// false.
  [[nodiscard]] bool open(StreamWish wish, std::shared_ptr<transport::AnswerStream> answer, InboundResponse head);
  /// Calls `done` once, on any thread, with whether each frame was still its stream's and its end is durable.
  void settle(std::vector<Settlement> settlements, std::function<void(const std::vector<bool>&)> done);
  /// Adds the entries, which stream has which frame, and the streams that settle nothing.
  void addWaits(FrameWaits& waits) const;
  /// Adds the applications that streams are for: first types that no open stream fits, then the configured patterns,
  /// with what settles nothing.
  void addApplications(std::vector<Application>& applications) const;

private:
  using Number = std::uint64_t;
  // Source and id.
  using Name = std::pair<std::string, std::string>;

  struct Stream {
    StreamWish wish;
    std::shared_ptr<transport::AnswerStream> answer;
    // The receipts of its frames; the oldest is the first.
    std::set<Number> unsettled;
    SteadyTime lastSentAt;
    // It has not read what it was sent.
    bool isFull = false;
    // How many more than it has it may be given at once.
    std::size_t burst = 0;
    // The `count` of its wish.
    std::size_t wanted = 0;
    // When it last settled one, or got its first.
    SteadyTime progressAt = {};
    // The same instant, once that is long ago, as of the last look.
    std::optional<WallTime> silentSince = {};
  };
  struct Held {
    DeferredFrame frame;
    Number stream = 0;
    WallTime givenAt{};
  };

  [[nodiscard]] std::string receiptText(Number receipt) const;
  [[nodiscard]] std::optional<Number> receiptOf(std::string_view text) const;
  void give(Number number, Stream& stream, DeferredFrame frame);
  /// It has read what it was sent.
  void taken(Number stream);
  /// Asks for what the stream has room for.
  void show(Number number, Stream& stream);
  void ended(Number stream, transport::AnswerEnd end);
  /// The stream that had it as its oldest ended by itself. Whether it is charged for that.
  [[nodiscard]] bool isSuspect(const InboundFrame& frame);
  void forget(Number receipt);
  void onTick();
  void keepRunning();
  void arm();
  /// Says that frames wait, if it is not too soon.
  void reportWaiting();
  /// To be read behind "in hand of".
  [[nodiscard]] static std::string nameOf(const Stream& stream);
  /// Nothing: it has no frames, or has settled some lately.
  [[nodiscard]] static std::optional<SilentConsumer> silentOf(const Stream& stream);
  /// Looks which streams have had frames for long and have settled none.
  void noteSilent(SteadyTime now);
  /// When the last stream for types of this pattern ended, or this began.
  [[nodiscard]] WallTime lastThereAt(std::string_view types) const;
  void noteProgress(Stream& stream);
  void checkIdle();

  const boost::asio::any_io_executor executor_;
  const std::shared_ptr<Clock> clock_;
  const std::size_t streamsMax_;
  const std::vector<std::string> types_;
  const std::vector<std::string> pushed_;
  const LogSink log_;
  // Distinguishes the receipts of this daemon from those of the one before it.
  const std::uint64_t instance_;
  const std::shared_ptr<DeferredDemand> demand_;

  // Owned by the executor.
  const std::unique_ptr<Alarm> alarm_;
  // By receipt.
  std::map<Number, Held> held_;
  std::map<Number, Stream> streams_;
  // Those that were the oldest of a stream that ended by itself, and have not ended since, as far as it is known.
  std::set<Name> suspects_;
  std::deque<Name> suspectsOrder_;
  Number lastNumber_ = 0;
  const WallTime beganAt_;
  // When the last stream of these types ended; of a bounded number of them.
  std::map<std::string, WallTime, std::less<>> endedAt_;
  SteadyTime progressAt_;
  bool isTicking_ = false;
  // Frames wait that no stream is open for, as of the last look.
  bool isUnwanted_ = false;
  bool hasReported_ = false;
  // Not before then.
  SteadyTime reportAt_ = SteadyTime::min();
  // While it drains.
  std::optional<std::promise<void>> idle_;
  bool draining_ = false;
  bool closed_ = false;
};

}  // namespace ackbox::serve
