#include "serve/inbox/frame_streams.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/post.hpp>
#include <charconv>
#include <utility>

#include "base/pattern.hpp"
#include "protocol/json_writer.hpp"
#include "protocol/timestamp.hpp"
#include "serve/http/places.hpp"
#include "serve/inbox/common_pattern.hpp"
#include "serve/inbox/event_json.hpp"

namespace ackbox::serve {
namespace {

// A stream that has not taken this much is given no more, whatever its window.
constexpr std::size_t kUnreadFrameBytesMax = std::size_t{1024} * 1024;
// Half of what is promised, so that a stream is never silent for longer.
constexpr std::chrono::seconds kFrameTick{5};
// Well within DeferredOptions::timeout.
constexpr std::chrono::minutes kProgressPause{1};
// Applications open streams for few types; the ends of those beyond are not remembered.
constexpr std::size_t kEndedTypesMax = 64;
// An application that opens and ends streams does not fill the log.
constexpr std::chrono::minutes kReportPause{1};
// The first end of a stream may be a deployment.
constexpr unsigned kEndsUncharged = 1;

bool fitsOne(const std::vector<std::string>& patterns, std::string_view type) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) { return fitsPattern(pattern, type); });
}

/// Counts down the ends of one request's frames, which come on the store's thread.
struct Answers {
  explicit Answers(std::size_t count) : settled(count), left(count) {}

  // Each written by one thread before it counts down.
  std::vector<char> settled;
  std::atomic<std::size_t> left;
};

}  // namespace

FrameStreams::FrameStreams(boost::asio::any_io_executor executor, std::shared_ptr<Clock> clock,
                           const std::shared_ptr<Random>& random, std::size_t streamsMax,
                           std::vector<std::string> types, std::vector<std::string> pushed, LogSink log)
    : executor_(std::move(executor)),
      clock_(std::move(clock)),
      streamsMax_(streamsMax),
      types_(std::move(types)),
      pushed_(std::move(pushed)),
      log_(std::move(log)),
      instance_(random->next()),
      alarm_(clock_->makeAlarm(executor_)),
      beganAt_(clock_->wallNow()),
      progressAt_(clock_->steadyNow() + kProgressPause) {}

FrameStreams::~FrameStreams() = default;

bool FrameStreams::takes(std::string_view type) const {
  return fitsOne(types_, type) && !fitsOne(pushed_, type);
}

std::optional<std::string> FrameStreams::emptyBecause(std::string_view types) const {
  bool isPushed = false;
  std::string pulled;
  for (const std::string& pattern : types_) {
    pulled += (pulled.empty() ? "" : ", ") + pattern;
    // No type is empty.
    if (const auto common = commonPattern(types, pattern); common && !common->empty()) {
      if (!fitsOne(pushed_, *common)) {
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
  boost::asio::post(executor_, [self = shared_from_this(), frame = std::move(frame)] {
    if (self->closed_) {
      return;
    }
    const Number number = ++self->lastNumber_;
    self->held_.emplace(number, Held{.frame = frame});
    self->waiting_.insert(number);
    self->offer(number);
    self->arm();
  });
}

bool FrameStreams::open(StreamWish wish, std::shared_ptr<transport::AnswerStream> answer, InboundResponse head) {
  const auto own =
      std::ranges::count_if(streams_, [&](const auto& stream) { return stream.second.wish.sharer == wish.sharer; });
  if (draining_ || closed_ || !mayTakePlace(streamsMax_, streams_.size(), wish.sharer, static_cast<std::size_t>(own))) {
    return false;
  }
  const Number number = ++lastNumber_;
  streams_.emplace(number, Stream{std::move(wish), answer, {}, clock_->steadyNow()});
  transport::AnswerWatcher watcher;
  watcher.taken = [weak = weak_from_this(), number] {
    if (const auto self = weak.lock()) {
      self->fill(number);
    }
  };
  watcher.ended = [weak = weak_from_this(), number](transport::AnswerEnd end) {
    if (const auto self = weak.lock()) {
      self->ended(number, end);
    }
  };
  answer->open(std::move(head), std::move(watcher));
  hasReported_ = false;
  fill(number);
  arm();
  return true;
}

// One of a revoked token has no window, and ends soon.
bool FrameStreams::wants(const Stream& stream, const InboundFrame& frame) {
  return stream.wish.window > 0 && fitsPattern(stream.wish.types, frame.type) &&
         fitsPattern(stream.wish.sessions, frame.session);
}

bool FrameStreams::hasRoom(const Stream& stream) {
  return stream.unsettled.size() < stream.wish.window && stream.answer->unread() < kUnreadFrameBytesMax;
}

void FrameStreams::offer(Number frame) {
  if (draining_) {
    return;
  }
  const InboundFrame& content = held_.at(frame).frame.frame();
  const std::pair<const Number, Stream>* best = nullptr;
  bool isWanted = false;
  for (const auto& candidate : streams_) {
    const Stream& stream = candidate.second;
    if (!wants(stream, content)) {
      continue;
    }
    isWanted = true;
    if (hasRoom(stream) && (best == nullptr || stream.unsettled.size() < best->second.unsettled.size())) {
      best = &candidate;
    }
  }
  if (best != nullptr) {
    give(frame, best->first);
  } else if (!isWanted) {
    reportWaiting(content);
  }
}

void FrameStreams::give(Number frame, Number stream) {
  Held& held = held_.at(frame);
  Stream& taker = streams_.at(stream);
  waiting_.erase(frame);
  held.stream = stream;
  held.receipt = ++lastNumber_;
  held.givenAt = clock_->wallNow();
  if (taker.unsettled.empty()) {
    noteProgress(stream);
  }
  taker.unsettled.emplace(held.receipt, frame);
  taker.lastSentAt = clock_->steadyNow();
  byReceipt_.emplace(held.receipt, frame);
  std::string line;
  protocol::ObjectWriter writer(line);
  writer.text("receipt", receiptText(held.receipt));
  writer.number("run", held.frame.startCount() + held.given++);
  writer.raw("event", eventJson(held.frame.frame()));
  writer.close();
  // A line's end within data would end the frame's line.
  std::ranges::replace_if(
      line, [](char letter) { return letter == '\n' || letter == '\r'; }, ' ');
  taker.answer->send(line + '\n');
}

void FrameStreams::fill(Number stream) {
  const auto found = streams_.find(stream);
  if (found == streams_.end() || draining_) {
    return;
  }
  for (auto next = waiting_.begin(); next != waiting_.end() && hasRoom(found->second);) {
    const Number frame = *next++;
    if (wants(found->second, held_.at(frame).frame.frame())) {
      give(frame, stream);
    }
  }
}

void FrameStreams::takeBack(Held& held, Number frame) {
  byReceipt_.erase(held.receipt);
  held.stream = 0;
  held.receipt = 0;
  waiting_.insert(frame);
}

void FrameStreams::forget(Number frame) {
  const auto found = held_.find(frame);
  if (const auto stream = streams_.find(found->second.stream); stream != streams_.end()) {
    stream->second.unsettled.erase(found->second.receipt);
  }
  byReceipt_.erase(found->second.receipt);
  waiting_.erase(frame);
  held_.erase(found);
}

void FrameStreams::ended(Number stream, transport::AnswerEnd end) {
  auto found = streams_.extract(stream);
  if (!found) {
    return;
  }
  const std::map<Number, Number> unsettled = std::move(found.mapped().unsettled);
  if (endedAt_.size() < kEndedTypesMax || endedAt_.contains(found.mapped().wish.types)) {
    endedAt_.insert_or_assign(found.mapped().wish.types, clock_->wallNow());
  }
  for (const auto& [receipt, frame] : unsettled) {
    takeBack(held_.at(frame), frame);
  }
  if (end == transport::AnswerEnd::lost && !unsettled.empty()) {
    const Number oldest = unsettled.begin()->second;
    if (Held& suspect = held_.at(oldest); ++suspect.ends > kEndsUncharged) {
      suspect.frame.finish(HandlerResult::notNow("the streams that had it ended before it was settled"));
      forget(oldest);
    }
  }
  for (const auto& [receipt, frame] : unsettled) {
    if (held_.contains(frame)) {
      offer(frame);
    }
  }
  checkIdle();
}

void FrameStreams::settle(std::vector<Settlement> settlements, std::function<void(const std::vector<bool>&)> done) {
  const auto answers = std::make_shared<Answers>(settlements.size());
  const auto countDown = [answers, done = std::move(done)](std::size_t index, bool isSettled) {
    answers->settled[index] = isSettled ? 1 : 0;
    if (--answers->left == 0) {
      done(std::vector<bool>(answers->settled.begin(), answers->settled.end()));
    }
  };
  std::set<Number> released;
  std::set<Number> roomier;
  for (std::size_t index = 0; index < settlements.size(); ++index) {
    Settlement& settlement = settlements[index];
    const std::optional<Number> receipt = receiptOf(settlement.receipt);
    const auto found = receipt ? byReceipt_.find(*receipt) : byReceipt_.end();
    if (found == byReceipt_.end()) {
      countDown(index, false);
      continue;
    }
    const Number frame = found->second;
    Held& held = held_.at(frame);
    roomier.insert(held.stream);
    noteProgress(held.stream);
    if (!settlement.result) {
      streams_.at(held.stream).unsettled.erase(held.receipt);
      takeBack(held, frame);
      released.insert(frame);
      countDown(index, true);
      continue;
    }
    DeferredFrame ending = held.frame;
    forget(frame);
    const auto onEnd = [countDown, index](bool isCommitted) { countDown(index, isCommitted); };
    if (!ending.finish(std::move(*settlement.result), onEnd)) {
      countDown(index, false);
    }
  }
  for (const Number frame : released) {
    offer(frame);
  }
  for (const Number stream : roomier) {
    fill(stream);
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
  if (!isTicking_ && !closed_ && !(streams_.empty() && held_.empty())) {
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
  reportSilent(now);
  // What began to wait while it was too soon to say so again.
  if (!hasReported_ && !draining_ && now >= reportAt_) {
    const auto unwanted = std::ranges::find_if(waiting_, [this](Number frame) {
      return std::ranges::none_of(
          streams_, [&](const auto& stream) { return wants(stream.second, held_.at(frame).frame.frame()); });
    });
    if (unwanted != waiting_.end()) {
      reportWaiting(held_.at(*unwanted).frame.frame());
    }
  }
  if (now >= progressAt_) {
    progressAt_ = now + kProgressPause;
    std::vector<Number> over;
    for (auto& [number, held] : held_) {
      if (!held.frame.progress()) {
        over.push_back(number);
      }
    }
    for (const Number number : over) {
      forget(number);
    }
  }
}

void FrameStreams::reportWaiting(const InboundFrame& frame) {
  if (!log_ || hasReported_ || clock_->steadyNow() < reportAt_) {
    return;
  }
  hasReported_ = true;
  reportAt_ = clock_->steadyNow() + kReportPause;
  const std::array<LogField, 2> fields = {LogField{"type", frame.type}, LogField{"session", frame.session}};
  LogRecord record;
  record.level = LogLevel::warning;
  record.at = clock_->wallNow();
  record.event = "no-stream";
  record.text = "frames wait until an application opens a stream for them, and nothing is charged to them";
  record.fields = fields;
  log_(record);
}

void FrameStreams::addWaits(FrameWaits& waits) const {
  const std::size_t first = waits.entries.size();
  for (const std::string& types : types_) {
    waits.entries.push_back({.way = "pull", .types = types});
  }
  for (const auto& [number, held] : held_) {
    const InboundFrame& frame = held.frame.frame();
    FrameWaits::Name name(frame.source, frame.id);
    if (held.stream != 0) {
      waits.holders.emplace(std::move(name),
                            nameOf(streams_.at(held.stream)) + " since " + protocol::formatTimestamp(held.givenAt));
      continue;
    }
    const bool isWanted =
        std::ranges::any_of(streams_, [&](const auto& stream) { return wants(stream.second, frame); });
    waits.frames.emplace(std::move(name), FrameWaits::Wait{isWanted ? "a stream with room in its window"
                                                                    : "a stream for its type and session to be opened",
                                                           !isWanted});
    if (!isWanted) {
      const auto entry = std::find_if(waits.entries.begin() + static_cast<std::ptrdiff_t>(first), waits.entries.end(),
                                      [&](const auto& one) { return fitsPattern(one.types, frame.type); });
      entry->isAway = true;
    }
  }
  const SteadyTime now = clock_->steadyNow();
  for (const auto& [number, stream] : streams_) {
    if (isSilent(stream, now)) {
      const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(now - stream.progressAt);
      waits.silent.push_back({nameOf(stream), stream.unsettled.size(), clock_->wallNow() - time});
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
      // Before any of them ends: what one had must not be given to the next.
      self->streams_.at(number).wish.window = 0;
    }
    for (const Number number : revoked) {
      const std::shared_ptr<transport::AnswerStream> answer = self->streams_.at(number).answer;
      self->ended(number, transport::AnswerEnd::finished);
      answer->finish();
    }
  });
}

void FrameStreams::close() {
  boost::asio::post(executor_, [self = shared_from_this()] {
    self->closed_ = true;
    self->alarm_->cancel();
    self->streams_.clear();
    self->byReceipt_.clear();
    self->waiting_.clear();
    self->held_.clear();
  });
}

}  // namespace ackbox::serve
