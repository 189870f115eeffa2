#include "serve/inbox/frame_streams.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/post.hpp>
#include <charconv>
#include <utility>

#include "base/pattern.hpp"
#include "base/timestamp.hpp"
#include "json/writer.hpp"
#include "serve/http/places.hpp"
#include "serve/inbox/common_pattern.hpp"
#include "serve/inbox/event_json.hpp"
#include "serve/report.hpp"

namespace ackbox::serve {
namespace {

// A stream with this much unread data is given no more frames, whatever its window.
constexpr std::size_t kUnreadFrameBytesMax = std::size_t{1024} * 1024;
// Half of the documented interval, so that a stream is never silent for longer.
constexpr std::chrono::seconds kFrameTick{5};
// Well within DeferredOptions::timeout.
constexpr std::chrono::minutes kProgressPause{1};
// Applications open streams for few types; the ends of further types are not remembered. Of mailboxes, the oldest ends
// are forgotten.
constexpr std::size_t kEndedTypesMax = 64;
constexpr std::size_t kEndedMailboxesMax = 1'024;
// Keeps an application that opens and ends streams from filling the log.
constexpr std::chrono::minutes kReportPause{1};
// The first end of a stream may be a redeployment; a second makes a suspect. Beyond the limit, forgets the oldest.
constexpr std::size_t kSuspectsMax = 1'024;
constexpr std::size_t kUnwantedTypesMax = 64;
// How many frames a stream gets at once after it stopped reading, until it reads again.
constexpr std::size_t kBurstMin = 4;
constexpr const char* kUnread = "a stream that reads";

bool fitsOne(const std::vector<std::string>& patterns, std::string_view type) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) { return fitsPattern(pattern, type); });
}

/// Counts the outcomes of one request's frames, which are reported on the store's thread.
struct Answers {
  explicit Answers(std::size_t count) : settled(count), left(count) {}

  // Each element is written by one thread before it decrements `left`.
  std::vector<char> settled;
  std::atomic<std::size_t> left;
};

}  // namespace

FrameStreams::FrameStreams(boost::asio::any_io_executor executor, std::shared_ptr<Clock> clock,
                           const std::shared_ptr<Random>& random, std::size_t streamsMax, StreamedFrames frames,
                           LogSink log)
    : executor_(std::move(executor)),
      clock_(std::move(clock)),
      streamsMax_(streamsMax),
      frames_(std::move(frames)),
      log_(std::move(log)),
      instance_(random->next()),
      demand_(std::make_shared<DeferredDemand>()),
      mailDemand_(std::make_shared<DeferredDemand>()),
      alarm_(clock_->makeAlarm(executor_)),
      beganAt_(clock_->wallNow()),
      forgottenAt_(beganAt_),
      progressAt_(clock_->steadyNow() + kProgressPause) {}

FrameStreams::~FrameStreams() = default;

bool FrameStreams::takes(std::string_view type) const {
  return fitsOne(frames_.types, type) && !fitsOne(frames_.pushed, type);
}

std::optional<std::string> FrameStreams::emptyBecause(const StreamWish& wish) const {
  if (wish.mailbox.ends_with('*')) {
    return "'" + wish.mailbox + "' names no mailbox: a stream takes the frames of one agent, by its URI";
  }
  if (!wish.mailbox.empty()) {
    return fitsOne(frames_.mailboxes, wish.mailbox)
               ? std::nullopt
               : std::optional("this server has no mailbox for agent '" + wish.mailbox +
                               "': add the agent to inbox.mailboxes");
  }
  const std::string_view types = wish.types;
  bool isPushed = false;
  std::string pulled;
  for (const std::string& pattern : frames_.types) {
    pulled += (pulled.empty() ? "" : ", ") + pattern;
    // An empty pattern matches no type, because types are not empty.
    if (const auto common = commonPattern(types, pattern); common && !common->empty()) {
      if (!fitsOne(frames_.pushed, *common)) {
        return std::nullopt;
      }
      isPushed = true;
    }
  }
  return isPushed ? "no frame of types '" + std::string(types) +
                        "' comes to a stream: inbox.deliver posts all of them to an application; ask for others of "
                        "inbox.pull (" +
                        pulled + "), or take the entry out of inbox.deliver"
                  : "no frame of types '" + std::string(types) + "' comes to a stream: inbox.pull names " + pulled +
                        "; ask for one of these, or add the type to inbox.pull";
}

void FrameStreams::add(DeferredFrame frame) {
  boost::asio::post(executor_, [self = shared_from_this(), frame = std::move(frame)]() mutable {
    if (self->closed_) {
      return;
    }
    const auto found = self->streams_.find(frame.wish());
    if (found == self->streams_.end() || self->draining_) {
      // The stream has ended in the meantime.
      frame.giveBack(kNoStream);
      return;
    }
    Stream& stream = found->second;
    stream.isFull = stream.isFull || stream.answer->unread() >= kUnreadFrameBytesMax;
    if (stream.isFull) {
      // Leaves the frame to a stream that reads. This stream gets fewer frames at a time from now on.
      stream.burst = kBurstMin;
      frame.giveBack(kUnread);
    } else {
      self->give(found->first, stream, std::move(frame));
    }
    self->show(found->first, stream);
  });
}

bool FrameStreams::open(StreamWish wish, std::shared_ptr<transport::AnswerStream> answer, InboundResponse head) {
  const auto own =
      std::ranges::count_if(streams_, [&](const auto& stream) { return stream.second.wish.sharer == wish.sharer; });
  if (draining_ || closed_ || !mayTakePlace(streamsMax_, streams_.size(), wish.sharer, static_cast<std::size_t>(own))) {
    return false;
  }
  const Number number = ++lastNumber_;
  const std::size_t window = wish.window;
  Stream& stream = streams_.emplace(number, Stream{std::move(wish), answer, {}, clock_->steadyNow(), false, window, 0})
                       .first->second;
  transport::AnswerWatcher watcher;
  watcher.taken = [weak = weak_from_this(), number] {
    if (const auto self = weak.lock()) {
      self->taken(number);
    }
  };
  watcher.ended = [weak = weak_from_this(), number](transport::AnswerEnd end) {
    if (const auto self = weak.lock()) {
      self->ended(number, end);
    }
  };
  answer->open(std::move(head), std::move(watcher));
  hasReported_ = false;
  show(number, stream);
  arm();
  return true;
}

bool FrameStreams::poll(StreamWish wish, const PollLimits& limits, InboundResponse head, Respond respond,
                        transport::ClientWatch& client) {
  wish.isPoll = true;
  wish.window = limits.frames;
  const auto answer = std::make_shared<FramePoll>(executor_, clock_, limits, std::move(respond));
  if (!open(std::move(wish), answer, std::move(head))) {
    return false;
  }
  client.gone = [weak = std::weak_ptr(answer)] {
    if (const auto poll = weak.lock()) {
      poll->cut();
    }
  };
  return true;
}

void FrameStreams::taken(Number number) {
  const auto found = streams_.find(number);
  if (found == streams_.end()) {
    return;
  }
  Stream& stream = found->second;
  if (stream.isFull && stream.answer->unread() < kUnreadFrameBytesMax) {
    stream.isFull = false;
  } else if (stream.answer->unread() == 0) {
    stream.burst = std::min(stream.wish.window, 2 * stream.burst);
  }
  show(number, stream);
}

void FrameStreams::show(Number number, Stream& stream) {
  const std::size_t has = stream.unsettled.size();
  const std::size_t count = stream.isFull ? has : std::min(stream.wish.window, has + stream.burst);
  if (!draining_ && count != stream.wanted) {
    stream.wanted = count;
    demandOf(stream).want({number, stream.wish.types, stream.wish.sessions, count, stream.wish.mailbox});
  }
}

void FrameStreams::give(Number number, Stream& stream, DeferredFrame frame) {
  const Number receipt = ++lastNumber_;
  if (stream.unsettled.empty()) {
    noteProgress(stream);
  }
  stream.unsettled.insert(receipt);
  stream.lastSentAt = clock_->steadyNow();
  std::string line;
  json::ObjectWriter writer(line);
  writer.text("receipt", receiptText(receipt));
  writer.number("run", frame.startCount());
  writer.raw("event", eventJson(frame.frame()));
  writer.close();
  held_.emplace(receipt, Held{std::move(frame), number, clock_->wallNow()});
  // A line break within the data would end the frame's line.
  std::ranges::replace_if(
      line, [](char letter) { return letter == '\n' || letter == '\r'; }, ' ');
  stream.answer->send(line + '\n');
}

void FrameStreams::forget(Number receipt) {
  const auto found = held_.find(receipt);
  const auto stream = streams_.find(found->second.stream);
  held_.erase(found);
  if (stream != streams_.end()) {
    stream->second.unsettled.erase(receipt);
    if (stream->second.wish.isPoll && stream->second.unsettled.empty()) {
      finish(stream->first);
    } else {
      show(stream->first, stream->second);
    }
  }
}

void FrameStreams::finish(Number number) {
  const std::shared_ptr<transport::AnswerStream> answer = streams_.at(number).answer;
  ended(number, transport::AnswerEnd::finished);
  answer->finish();
}

bool FrameStreams::isSuspect(const InboundFrame& frame) {
  const auto [name, isNew] = suspects_.emplace(frame.source, frame.id);
  if (!isNew) {
    std::erase(suspectsOrder_, *name);
    suspects_.erase(name);
    return true;
  }
  suspectsOrder_.push_back(*name);
  if (suspectsOrder_.size() > kSuspectsMax) {
    suspects_.erase(suspectsOrder_.front());
    suspectsOrder_.pop_front();
  }
  return false;
}

void FrameStreams::ended(Number number, transport::AnswerEnd end) {
  auto found = streams_.extract(number);
  if (!found) {
    return;
  }
  Stream& stream = found.mapped();
  demandOf(stream).unwant(number);
  noteEnded(stream.wish);
  // An agent that dials out may be on a line that often breaks.
  bool isOldest = end == transport::AnswerEnd::lost && stream.wish.mailbox.empty();
  for (const Number receipt : stream.unsettled) {
    DeferredFrame frame = std::move(held_.at(receipt).frame);
    held_.erase(receipt);
    if (std::exchange(isOldest, false) && isSuspect(frame.frame())) {
      frame.finish(HandlerResult::notNow("the streams that had it ended before it was settled"));
    } else {
      frame.giveBack(kNoStream);
    }
  }
  checkIdle();
}

void FrameStreams::noteEnded(const StreamWish& wish) {
  auto& ended = wish.mailbox.empty() ? endedAt_ : mailEndedAt_;
  const std::string& name = wish.mailbox.empty() ? wish.types : wish.mailbox;
  if (wish.mailbox.empty() && ended.size() >= kEndedTypesMax && !ended.contains(name)) {
    return;
  }
  ended.insert_or_assign(name, clock_->wallNow());
  if (mailEndedAt_.size() > kEndedMailboxesMax) {
    const auto oldest = std::ranges::min_element(mailEndedAt_, {}, [](const auto& one) { return one.second; });
    forgottenAt_ = std::max(forgottenAt_, oldest->second);
    mailEndedAt_.erase(oldest);
  }
}

void FrameStreams::settle(std::vector<Settlement> settlements, std::function<void(const std::vector<bool>&)> done,
                          const std::optional<std::string>& mailbox) {
  const auto answers = std::make_shared<Answers>(settlements.size());
  const auto countDown = [answers, done = std::move(done)](std::size_t index, bool isSettled) {
    answers->settled[index] = isSettled ? 1 : 0;
    if (--answers->left == 0) {
      done(std::vector<bool>(answers->settled.begin(), answers->settled.end()));
    }
  };
  for (std::size_t index = 0; index < settlements.size(); ++index) {
    Settlement& settlement = settlements[index];
    const std::optional<Number> receipt = receiptOf(settlement.receipt);
    const auto found = receipt ? held_.find(*receipt) : held_.end();
    if (found == held_.end() || (mailbox && found->second.frame.frame().mailbox != *mailbox)) {
      countDown(index, false);
      continue;
    }
    noteProgress(streams_.at(found->second.stream));
    DeferredFrame ending = found->second.frame;
    forget(*receipt);
    if (!settlement.result) {
      ending.giveBack(kNoStream);
      countDown(index, true);
      continue;
    }
    if (const auto suspect = suspects_.find({ending.frame().source, ending.frame().id}); suspect != suspects_.end()) {
      std::erase(suspectsOrder_, *suspect);
      suspects_.erase(suspect);
    }
    const auto onEnd = [countDown, index](bool isCommitted) { countDown(index, isCommitted); };
    if (!ending.finish(std::move(*settlement.result), onEnd)) {
      countDown(index, false);
    }
  }
  checkIdle();
}

std::string FrameStreams::receiptText(Number receipt) const {
  return std::to_string(instance_) + "-" + std::to_string(receipt);
}

std::optional<FrameStreams::Number> FrameStreams::receiptOf(std::string_view text) const {
  const std::string_view begin = text.substr(0, text.find('-'));
  if (begin != std::to_string(instance_) || begin.size() + 1 >= text.size()) {
    return std::nullopt;
  }
  Number receipt = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data() + begin.size() + 1, last, receipt);
  return error == std::errc() && end == last ? std::optional(receipt) : std::nullopt;
}

void FrameStreams::arm() {
  if (!isTicking_ && !closed_ && !(streams_.empty() && !isUnwanted_)) {
    isTicking_ = true;
    alarm_->set(clock_->steadyNow() + kFrameTick, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) {
        self->isTicking_ = false;
        self->onTick();
        self->arm();
      }
    });
  }
}

void FrameStreams::onTick() {
  const SteadyTime now = clock_->steadyNow();
  for (auto& [number, stream] : streams_) {
    if (now - stream.lastSentAt >= kFrameTick && stream.answer->unread() == 0) {
      stream.lastSentAt = now;
      stream.answer->send("\n");
    }
  }
  noteSilent(now);
  // Reports frames that began to wait when the last report was too recent.
  reportWaiting();
  if (now >= progressAt_) {
    progressAt_ = now + kProgressPause;
    keepRunning();
  }
}

void FrameStreams::keepRunning() {
  std::vector<Number> over;
  for (auto& [receipt, held] : held_) {
    if (!held.frame.progress()) {
      over.push_back(receipt);
    }
  }
  for (const Number receipt : over) {
    forget(receipt);
  }
}

void FrameStreams::reportWaiting() {
  const std::vector<std::string> types = demand_->unwantedTypes(1);
  isUnwanted_ = !types.empty();
  if (types.empty() || !log_ || draining_ || hasReported_ || clock_->steadyNow() < reportAt_) {
    return;
  }
  hasReported_ = true;
  reportAt_ = clock_->steadyNow() + kReportPause;
  const LogField field{"type", types.front()};
  report(log_, *clock_, LogLevel::warning, "no-stream",
         "frames wait until an application opens a stream for them, and nothing is charged to them", {&field, 1});
}

void FrameStreams::watchUnwanted() {
  demand_->onUnwanted([executor = executor_, weak = weak_from_this()] {
    boost::asio::post(executor, [weak] {
      if (const auto self = weak.lock(); self && !self->closed_) {
        self->reportWaiting();
        self->arm();
      }
    });
  });
}

void FrameStreams::addWaits(FrameWaits& waits) const {
  const std::vector<std::string> unwanted = demand_->unwantedTypes(kUnwantedTypesMax);
  for (const std::string& types : frames_.types) {
    const bool isAway =
        std::ranges::any_of(unwanted, [&](const std::string& type) { return fitsPattern(types, type); });
    waits.entries.push_back({.way = "pull", .types = types, .isAway = isAway});
  }
  for (const auto& [receipt, held] : held_) {
    waits.holders.emplace(FrameWaits::Name(held.frame.frame().source, held.frame.frame().id),
                          nameOf(streams_.at(held.stream)) + " since " + formatTimestamp(held.givenAt));
  }
  waits.mailboxes = frames_.mailboxes;
  for (const auto& [number, stream] : streams_) {
    waits.streams.push_back({stream.wish.types, stream.wish.sessions, stream.wish.mailbox});
    if (std::optional<SilentConsumer> silent = silentOf(stream)) {
      waits.silent.push_back(*std::move(silent));
    }
  }
}

void FrameStreams::checkIdle() {
  const auto isIdle = [](const auto& stream) { return stream.second.unsettled.empty(); };
  if (idle_ && std::ranges::all_of(streams_, isIdle)) {
    std::exchange(idle_, std::nullopt)->set_value();
  }
}

std::future<void> FrameStreams::drain() {
  std::promise<void> idle;
  std::future<void> future = idle.get_future();
  boost::asio::post(executor_,
                    [self = shared_from_this(), promise = std::make_shared<std::promise<void>>(std::move(idle))] {
                      self->draining_ = true;
                      std::vector<Number> polls;
                      for (auto& [number, stream] : self->streams_) {
                        self->demandOf(stream).unwant(number);
                        if (stream.wish.isPoll && stream.unsettled.empty()) {
                          polls.push_back(number);
                        }
                      }
                      for (const Number number : polls) {
                        self->finish(number);
                      }
                      self->idle_ = std::move(*promise);
                      self->checkIdle();
                    });
  return future;
}

void FrameStreams::endRevoked() {
  boost::asio::post(executor_, [self = shared_from_this()] {
    std::vector<Number> revoked;
    for (const auto& [number, stream] : self->streams_) {
      if (stream.wish.isStillAllowed && !stream.wish.isStillAllowed()) {
        revoked.push_back(number);
      }
    }
    for (const Number number : revoked) {
      // For all of them before any ends, so that the frames of one are not given to the next.
      self->demandOf(self->streams_.at(number)).unwant(number);
    }
    for (const Number number : revoked) {
      self->finish(number);
    }
  });
}

void FrameStreams::close() {
  boost::asio::post(executor_, [self = shared_from_this()] {
    self->closed_ = true;
    self->alarm_->cancel();
    self->streams_.clear();
    self->held_.clear();
  });
}

}  // namespace ackbox::serve
