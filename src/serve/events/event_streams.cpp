#include "serve/events/event_streams.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>
#include <vector>

#include "serve/http/places.hpp"

namespace ackbox::serve {
namespace {

// The limit of unread records of a stream: more than all kept records, which are sent at once after a reconnection.
constexpr std::size_t kUnreadEventBytesMax = std::size_t{1024} * 1024;
constexpr std::chrono::seconds kEventTick{1};
// A comment line is sent after this time, so that a proxy does not close a silent connection.
constexpr std::chrono::seconds kSilenceMax{9};

}  // namespace

EventStreams::EventStreams(boost::asio::any_io_executor executor, std::shared_ptr<Clock> clock, std::size_t streamsMax)
    : executor_(std::move(executor)),
      clock_(std::move(clock)),
      streamsMax_(streamsMax),
      ring_(clock_->wallNow()),
      alarm_(clock_->makeAlarm(executor_)) {}

void EventStreams::setFigures(ReadFigures read) {
  readFigures_ = std::move(read);
}

void EventStreams::log(const LogRecord& record) {
  ring_.add(record);
  // One posted task sends all records that have arrived by then.
  if (open_ > 0 && !isSending_.exchange(true)) {
    boost::asio::post(executor_, [self = shared_from_this()] {
      self->isSending_ = false;
      self->sendRecords();
    });
  }
}

bool EventStreams::open(EventsWish wish, std::shared_ptr<transport::AnswerStream> answer, InboundResponse head) {
  const auto own =
      std::ranges::count_if(streams_, [&](const auto& stream) { return stream.second.wish.sharer == wish.sharer; });
  if (closed_ || !mayTakePlace(streamsMax_, streams_.size(), wish.sharer, static_cast<std::size_t>(own))) {
    return false;
  }
  const std::uint64_t number = ++lastStream_;
  const std::uint64_t newest = ring_.newest();
  const std::uint64_t wished = wish.lastEventId.value_or(newest);
  // An id above the newest comes from a process with a calendar that was ahead.
  const std::uint64_t lastRecord = wished > newest ? 0 : wished;
  streams_.emplace(number, Stream{std::move(wish), answer, lastRecord, 0, clock_->steadyNow()});
  open_ = streams_.size();
  transport::AnswerWatcher watcher;
  watcher.ended = [weak = weak_from_this(), number](transport::AnswerEnd) {
    if (const auto self = weak.lock()) {
      self->streams_.erase(number);
      self->open_ = self->streams_.size();
    }
  };
  answer->open(std::move(head), std::move(watcher));
  if (const auto opened = streams_.find(number); opened != streams_.end()) {
    sendRecords(opened->second);
    // The first stream reads the figures anew, because the last ones may be old.
    if (isTicking_ && figuresNumber_ > 0) {
      sendFigures(opened->second);
    } else {
      read();
    }
    arm();
  }
  return true;
}

void EventStreams::send(Stream& stream, const std::string& text) {
  stream.lastSentAt = clock_->steadyNow();
  stream.answer->send(text);
}

void EventStreams::sendRecords() {
  for (auto& [number, stream] : streams_) {
    sendRecords(stream);
  }
  cutSlow();
}

void EventStreams::sendRecords(Stream& stream) {
  std::string text;
  for (const LogRing::Entry& entry : ring_.after(stream.lastRecord)) {
    text += "id: " + std::to_string(entry.id) + "\nevent: log\ndata: " + entry.json + "\n\n";
    stream.lastRecord = entry.id;
  }
  if (!text.empty()) {
    send(stream, text);
  }
}

void EventStreams::sendFigures(Stream& stream) {
  if (stream.figures != figuresNumber_ && (stream.figures == 0 || stream.answer->unread() == 0)) {
    stream.figures = figuresNumber_;
    send(stream, "event: figures\ndata: " + figures_ + "\n\n");
  }
}

void EventStreams::cutSlow() {
  std::vector<std::shared_ptr<transport::AnswerStream>> slow;
  for (auto each = streams_.begin(); each != streams_.end();) {
    // Unread data has the figures at most once, but they may be long.
    const bool isSlow = each->second.answer->unread() > kUnreadEventBytesMax + figures_.size();
    if (isSlow) {
      slow.push_back(each->second.answer);
    }
    each = isSlow ? streams_.erase(each) : std::next(each);
  }
  open_ = streams_.size();
  for (const auto& answer : slow) {
    answer->cut();
  }
}

void EventStreams::read() {
  if (isReading_ || closed_ || !readFigures_) {
    return;
  }
  isReading_ = true;
  readFigures_([self = shared_from_this()](std::string json) {
    boost::asio::post(self->executor_, [self, json = std::move(json)]() mutable { self->onFigures(std::move(json)); });
  });
}

void EventStreams::onFigures(std::string json) {
  isReading_ = false;
  if (!json.empty() && json != figures_) {
    figures_ = std::move(json);
    ++figuresNumber_;
  }
  for (auto& [number, stream] : streams_) {
    sendFigures(stream);
  }
}

void EventStreams::arm() {
  if (!isTicking_ && !closed_ && !streams_.empty()) {
    isTicking_ = true;
    alarm_->set(clock_->steadyNow() + kEventTick, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) {
        self->isTicking_ = false;
        self->onTick();
        self->arm();
      }
    });
  }
}

void EventStreams::onTick() {
  const SteadyTime now = clock_->steadyNow();
  for (auto& [number, stream] : streams_) {
    if (now - stream.lastSentAt >= kSilenceMax && stream.answer->unread() == 0) {
      send(stream, ":\n\n");
    }
  }
  if (!streams_.empty()) {
    read();
  }
}

void EventStreams::endRevoked() {
  boost::asio::post(executor_, [self = shared_from_this()] {
    std::vector<std::shared_ptr<transport::AnswerStream>> revoked;
    for (auto each = self->streams_.begin(); each != self->streams_.end();) {
      const bool isRevoked = each->second.wish.isStillAllowed && !each->second.wish.isStillAllowed();
      if (isRevoked) {
        revoked.push_back(each->second.answer);
      }
      each = isRevoked ? self->streams_.erase(each) : std::next(each);
    }
    self->open_ = self->streams_.size();
    for (const auto& answer : revoked) {
      answer->finish();
    }
  });
}

void EventStreams::close() {
  boost::asio::post(executor_, [self = shared_from_this()] {
    self->closed_ = true;
    self->alarm_->cancel();
  });
}

}  // namespace ackbox::serve
