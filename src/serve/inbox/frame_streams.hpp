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
#include "serve/inbox/frame_poll.hpp"
#include "serve/inbox/frame_waits.hpp"
#include "transport/answer_stream.hpp"

namespace ackbox::serve {

/// The frames that a stream takes, and how many it may have.
struct StreamWish {
  /// The agent whose mailbox it empties; empty: it takes frames for this agent.
  std::string mailbox = {};
  /// Patterns, see `fitsPattern`. A frame outside any session has the empty session.
  std::string types = "*";
  std::string sessions = "*";
  /// The limit of frames that the stream has and has not settled.
  std::size_t window = 64;
  /// It is a `FramePoll`, which ends with the last settlement of its frames.
  bool isPoll = false;
  /// See `mayTakePlace`.
  std::string sharer = {};
  /// See `Request::isStillAllowed`.
  std::function<bool()> isStillAllowed = {};
};

/// The outcome that an application reports for a frame from a stream.
struct Settlement {
  std::string receipt = {};
  /// The result of the frame's run. Nothing if the frame was not worked on: it is given out again at once, uncharged.
  std::optional<HandlerResult> result = {};
};

/// The frames that streams may ask for, as patterns.
struct StreamedFrames {
  /// The types of frames for this agent, and those that are posted to an application instead.
  std::vector<std::string> types = {};
  std::vector<std::string> pushed = {};
  /// The agents that have a mailbox.
  std::vector<std::string> mailboxes = {};
};

/// Gives deferred frames to the streams that applications hold open, one JSON line each. The scheduler of `demand`
/// decides which frame goes to which stream, and when: each stream is a wish. A frame without a fitting stream is
/// therefore not given out and not charged. The open stream is the lease: when it ends, its unsettled frames are given
/// back, and go to other streams at once.
///
/// The end of a stream alone says nothing about its frames: it looks the same when an application is redeployed and
/// when a frame kills it. The first such end therefore charges no frame. At a second one, the frame that was the oldest
/// of its stream both times is charged a run and waits for its backoff. Ends by the daemon, ends of a mailbox's stream,
/// and frames that an application gives back, do not count.
///
/// Thread-safety: as stated below. The executor owns all members that are not constant.
class FrameStreams : public std::enable_shared_from_this<FrameStreams> {
public:
  /// `executor` must be serial and be that of the connections. `streamsMax`: see `Places::frameStreams`.
  FrameStreams(boost::asio::any_io_executor executor, std::shared_ptr<Clock> clock,
               const std::shared_ptr<Random>& random, std::size_t streamsMax, StreamedFrames frames, LogSink log);
  ~FrameStreams();

  // Callable from any thread.

  /// Reports frames without an open stream from now on. Must be called before the `InboundHandler` is constructed.
  void watchUnwanted();
  /// Whether frames of this type are for streams.
  [[nodiscard]] bool takes(std::string_view type) const;
  /// Why no frame will ever come to such a stream, and what can be done about it, as a sentence; nothing if a frame may
  /// come.
  [[nodiscard]] std::optional<std::string> emptyBecause(const StreamWish& wish) const;
  /// The demand of the open streams, for the pool of all types that `takes` accepts.
  [[nodiscard]] const std::shared_ptr<DeferredDemand>& demand() const noexcept { return demand_; }
  /// The same for mailboxes.
  [[nodiscard]] const std::shared_ptr<DeferredDemand>& mailDemand() const noexcept { return mailDemand_; }
  /// Gives the frame to the stream that made its wish.
  void add(DeferredFrame frame);
  /// Gives out no more frames, and refuses new streams. The future is ready when no stream has an unsettled frame.
  [[nodiscard]] std::future<void> drain();
  /// Ends the streams of callers that are not allowed any more.
  void endRevoked();
  /// Drops the remaining frames. Must be called after the end of the `InboundHandler`, which then does not charge them.
  void close();

  // Callable on the executor only.

  /// Opens `answer`. Returns false if there are too many streams, or too many of its sharer's, or no more are opened.
  [[nodiscard]] bool open(StreamWish wish, std::shared_ptr<transport::AnswerStream> answer, InboundResponse head);
  /// The same for one answer, in place of a stream; see `FramePoll`. `respond` is called unless it returns false.
  [[nodiscard]] bool poll(StreamWish wish, const PollLimits& limits, InboundResponse head, Respond respond,
                          transport::ClientWatch& client);
  /// Calls `done` once, on any thread, with whether each frame still belonged to its stream and its outcome is durable.
  /// With `mailbox`, frames that are not of this agent's mailbox count as gone.
  void settle(std::vector<Settlement> settlements, std::function<void(const std::vector<bool>&)> done,
              const std::optional<std::string>& mailbox = {});
  /// Adds the entries, the frames that each stream has, and the streams that settle nothing.
  void addWaits(FrameWaits& waits) const;
  /// Adds the applications behind streams: first the types without an open stream, then the configured patterns, with
  /// the streams that settle nothing.
  void addApplications(std::vector<Application>& applications) const;

private:
  using Number = std::uint64_t;
  // Source and id.
  using Name = std::pair<std::string, std::string>;

  struct Stream {
    StreamWish wish;
    std::shared_ptr<transport::AnswerStream> answer;
    // The receipts of its frames, the oldest first.
    std::set<Number> unsettled;
    SteadyTime lastSentAt;
    // The stream has not read what it was sent.
    bool isFull = false;
    // How many further frames it may be given at once.
    std::size_t burst = 0;
    // The `count` of its wish.
    std::size_t wanted = 0;
    // When it last settled a frame, or got its first.
    SteadyTime progressAt = {};
    // The same instant, if the last check found it long ago.
    std::optional<WallTime> silentSince = {};
  };
  struct Held {
    DeferredFrame frame;
    Number stream = 0;
    WallTime givenAt{};
  };

  [[nodiscard]] DeferredDemand& demandOf(const Stream& stream) const {
    return stream.wish.mailbox.empty() ? *demand_ : *mailDemand_;
  }
  void noteEnded(const StreamWish& wish);
  /// Adds the mailboxes, in the order of their names: those with an open stream, those that had one, and all others.
  void addMailboxes(std::vector<Application>& applications) const;
  [[nodiscard]] std::string receiptText(Number receipt) const;
  [[nodiscard]] std::optional<Number> receiptOf(std::string_view text) const;
  void give(Number number, Stream& stream, DeferredFrame frame);
  /// Called when the stream has read what it was sent.
  void taken(Number stream);
  /// Updates the stream's wish to the room that it has.
  void show(Number number, Stream& stream);
  void ended(Number stream, transport::AnswerEnd end);
  /// Called for the oldest frame of a stream that ended by itself. Returns whether the end is charged to the frame.
  [[nodiscard]] bool isSuspect(const InboundFrame& frame);
  void forget(Number receipt);
  /// For streams that the daemon ends: no frame is charged.
  void finish(Number number);
  void onTick();
  void keepRunning();
  void arm();
  /// Reports that frames wait, unless the last report was too recent.
  void reportWaiting();
  /// The stream's description, to follow "in hand of".
  [[nodiscard]] static std::string nameOf(const Stream& stream);
  /// Nothing if the stream has no frames, or has settled some lately.
  [[nodiscard]] static std::optional<SilentConsumer> silentOf(const Stream& stream);
  /// Finds the streams that have had frames for long and have settled none.
  void noteSilent(SteadyTime now);
  /// When the last stream for types of this pattern ended, or this object was created.
  [[nodiscard]] WallTime lastThereAt(std::string_view types) const;
  void noteProgress(Stream& stream);
  void checkIdle();

  const boost::asio::any_io_executor executor_;
  const std::shared_ptr<Clock> clock_;
  const std::size_t streamsMax_;
  const StreamedFrames frames_;
  const LogSink log_;
  // Distinguishes this daemon's receipts from those of the previous process.
  const std::uint64_t instance_;
  const std::shared_ptr<DeferredDemand> demand_;
  const std::shared_ptr<DeferredDemand> mailDemand_;

  // Owned by the executor.
  const std::unique_ptr<Alarm> alarm_;
  // The frames in hand, by receipt.
  std::map<Number, Held> held_;
  std::map<Number, Stream> streams_;
  // Frames that were the oldest of a stream that ended by itself, and are not known to have ended since.
  std::set<Name> suspects_;
  std::deque<Name> suspectsOrder_;
  Number lastNumber_ = 0;
  const WallTime beganAt_;
  // When the last stream for these types ended; kept for a limited number of types.
  std::map<std::string, WallTime, std::less<>> endedAt_;
  // The same by mailbox; and when the last stream of a mailbox that is in neither list ended, at the latest.
  std::map<std::string, WallTime, std::less<>> mailEndedAt_;
  WallTime forgottenAt_;
  SteadyTime progressAt_;
  bool isTicking_ = false;
  // The last check found frames without an open stream.
  bool isUnwanted_ = false;
  bool hasReported_ = false;
  // The earliest time of the next report.
  SteadyTime reportAt_ = SteadyTime::min();
  // Set while draining.
  std::optional<std::promise<void>> idle_;
  bool draining_ = false;
  bool closed_ = false;
};

}  // namespace ackbox::serve
