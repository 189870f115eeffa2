#include "simulation/mail_network.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>
#include <deque>
#include <utility>

#include "protocol/mailbox.hpp"
#include "serve/inbox/frame_streams.hpp"
#include "simulation/mail_poster.hpp"
#include "transport/answer_stream.hpp"

namespace ackbox::simulation {
namespace {

using std::chrono::milliseconds;

class Line;

/// The hub's end of a stream.
class HubEnd final : public transport::AnswerStream, public std::enable_shared_from_this<HubEnd> {
public:
  HubEnd(testing::SimulatedProcess& process, Common& common, std::string box, std::weak_ptr<Line> line)
      : process_(process),
        common_(common),
        box_(std::move(box)),
        line_(std::move(line)),
        consumer_(common.hands.nextConsumer()),
        alarm_(process.clock().makeAlarm(process.executor())) {}
  ~HubEnd() override;
  HubEnd(const HubEnd&) = delete;
  HubEnd& operator=(const HubEnd&) = delete;

  void open(InboundResponse head, transport::AnswerWatcher watcher) override;
  void send(std::string_view bytes) override;
  [[nodiscard]] std::size_t unread() const noexcept override { return unread_; }
  void finish() override { end(); }
  void cut() override { end(); }

  /// The agent has read what it was sent. Callable in any process, as is `loseIn`.
  void taken();
  /// The hub sees only after this time that the stream is lost.
  void loseIn(milliseconds time);

private:
  void end();
  void lose();

  testing::SimulatedProcess& process_;
  Common& common_;
  const std::string box_;
  const std::weak_ptr<Line> line_;
  const std::uint64_t consumer_;
  const std::unique_ptr<Alarm> alarm_;
  transport::AnswerWatcher watcher_;
  std::size_t unread_ = 0;
  bool isOver_ = false;
};

/// The agent's end of a stream.
class Line final : public transport::MailboxLine, public std::enable_shared_from_this<Line> {
public:
  Line(testing::SimulatedProcess& process, Common& common, std::string box, boost::asio::any_io_executor executor,
       Events events)
      : process_(process),
        common_(common),
        box_(std::move(box)),
        executor_(std::move(executor)),
        events_(std::make_shared<const Events>(std::move(events))),
        arrival_(process.clock().makeAlarm(executor_)),
        loss_(process.clock().makeAlarm(executor_)) {}
  ~Line() override { leave(milliseconds(0)); }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  void start() override;
  void cancel() override;

  /// The hub's answer has begun, goes on, has ended. Callable in any process.
  void opened() { come({.isHead = true}); }
  void came(std::string_view bytes) { come({.bytes = std::string(bytes)}); }
  void ended() { come({.isEnd = true}); }

private:
  struct Item {
    bool isHead = false;
    std::string bytes = {};
    bool isEnd = false;
  };

  [[nodiscard]] milliseconds delay() { return milliseconds(drawBelow(process_.random(), MailPoster::kDelayMostMs)); }
  void connect();
  void come(Item item);
  void arrive();
  void lose();
  void end(std::string what);
  void leave(milliseconds unseen);

  testing::SimulatedProcess& process_;
  Common& common_;
  const std::string box_;
  const boost::asio::any_io_executor executor_;
  // Null after the end.
  std::shared_ptr<const Events> events_;
  const std::unique_ptr<Alarm> arrival_;
  const std::unique_ptr<Alarm> loss_;
  std::weak_ptr<HubEnd> hub_;
  std::deque<Item> coming_;
  bool isArriving_ = false;
};

HubEnd::~HubEnd() {
  end();
}

void HubEnd::open(InboundResponse head, transport::AnswerWatcher watcher) {
  (void)head;
  watcher_ = std::move(watcher);
  common_.attendance.opened(common_.names.front(), consumer_, "*", process_.clock().steadyNow(), box_);
  if (const auto line = line_.lock()) {
    line->opened();
  } else {
    loseIn(milliseconds(0));
  }
}

void HubEnd::send(std::string_view bytes) {
  unread_ += bytes.size();
  for (std::string_view rest = bytes; !rest.empty();) {
    const std::string_view one = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    if (const auto frame = protocol::readMailboxLine(one)) {
      common_.hub.gave(common_.names.front(), box_, frame->id, frame->receipt);
    }
  }
  if (const auto line = line_.lock()) {
    line->came(bytes);
  }
}

void HubEnd::taken() {
  boost::asio::post(process_.executor(), [weak = weak_from_this()] {
    if (const auto self = weak.lock(); self && !self->isOver_) {
      self->unread_ = 0;
      self->watcher_.taken();
    }
  });
}

void HubEnd::loseIn(milliseconds time) {
  alarm_->set(process_.clock().steadyNow() + time, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) {
      self->lose();
    }
  });
}

void HubEnd::lose() {
  if (!isOver_) {
    end();
    watcher_.ended(transport::AnswerEnd::lost);
  }
}

void HubEnd::end() {
  if (std::exchange(isOver_, true)) {
    return;
  }
  common_.attendance.closed(consumer_);
  if (const auto line = line_.lock()) {
    line->ended();
  }
}

void Line::start() {
  loss_->set(process_.clock().steadyNow() + delay(), [weak = weak_from_this()] {
    if (const auto self = weak.lock()) {
      self->connect();
    }
  });
}

void Line::connect() {
  const Hub::Streams* const hub = common_.hub.listening();
  if (hub == nullptr || hub->streams.expired()) {
    common_.reach.saw(Situation::fetcherHubAway);
    end("connection refused");
    return;
  }
  const auto far = std::make_shared<HubEnd>(*hub->process, common_, box_, weak_from_this());
  hub_ = far;
  serve::StreamWish wish;
  wish.mailbox = Hub::uriOf(box_);
  wish.window = common_.swarm.mailboxes.window;
  wish.isStillAllowed = [] { return true; };
  boost::asio::post(hub->process->executor(), [streams = hub->streams, far, wish = std::move(wish)]() mutable {
    const auto open = streams.lock();
    if (!open || !open->open(std::move(wish), far, {})) {
      far->finish();
    }
  });
  if (!common_.healed) {
    const auto most = static_cast<std::uint64_t>(common_.swarm.mailboxes.lineLifeMax.count());
    loss_->set(process_.clock().steadyNow() + milliseconds(drawBelow(process_.random(), most)),
               [weak = weak_from_this()] {
                 if (const auto self = weak.lock()) {
                   self->lose();
                 }
               });
  }
}

void Line::come(Item item) {
  if (!events_) {
    return;
  }
  coming_.push_back(std::move(item));
  if (!std::exchange(isArriving_, true)) {
    arrival_->set(process_.clock().steadyNow() + delay(), [weak = weak_from_this()] {
      if (const auto self = weak.lock()) {
        self->arrive();
      }
    });
  }
}

// The callbacks may end the stream.
void Line::arrive() {
  isArriving_ = false;
  for (const Item& item : std::exchange(coming_, {})) {
    const std::shared_ptr<const Events> events = events_;
    if (!events) {
      return;
    }
    if (item.isEnd) {
      end("the hub ended the stream");
    } else if (item.isHead) {
      events->onOpen();
    }
    for (std::string_view rest = item.bytes; !rest.empty() && events_;) {
      const std::string_view one = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(rest.size(), one.size() + 1));
      if (!one.empty()) {
        events->onLine(one);
      }
    }
  }
  if (const auto far = hub_.lock(); far && events_) {
    far->taken();
  }
}

// Each end sees it at some time of its own; what is on its way is lost.
void Line::lose() {
  if (common_.healed || !events_) {
    return;
  }
  common_.reach.saw(Situation::fetcherLineLost);
  const auto unseen = [this] {
    const auto most = static_cast<std::uint64_t>(common_.swarm.mailboxes.unseenMax.count());
    return milliseconds(drawBelow(process_.random(), most));
  };
  if (drawChance(process_.random(), 0.5)) {
    // The hub sees it first. Frames that it gives out meanwhile to a next stream overtake the end of this one.
    std::erase_if(coming_, [](const Item& item) { return !item.isEnd; });
    if (const auto far = hub_.lock()) {
      far->loseIn(milliseconds(0));
    }
    return;
  }
  leave(unseen());
  end("connection reset");
}

void Line::end(std::string what) {
  const std::shared_ptr<const Events> events = std::exchange(events_, nullptr);
  leave(milliseconds(0));
  if (events) {
    events->onEnd({.status = 0, .what = std::move(what)});
  }
}

void Line::leave(milliseconds unseen) {
  if (const auto far = std::exchange(hub_, {}).lock()) {
    far->loseIn(unseen);
  }
}

void Line::cancel() {
  events_ = nullptr;
  arrival_->cancel();
  loss_->cancel();
  leave(milliseconds(0));
}

}  // namespace

std::shared_ptr<transport::HttpPoster> MailNetwork::makePoster(const boost::asio::any_io_executor& strand) {
  return std::make_shared<MailPoster>(process_, common_, box_, strand);
}

std::shared_ptr<transport::MailboxLine> MailNetwork::makeLine(const boost::asio::any_io_executor& strand,
                                                              transport::MailboxLine::Wish wish,
                                                              transport::MailboxLine::Events events) {
  (void)wish;
  return std::make_shared<Line>(process_, common_, box_, strand, std::move(events));
}

}  // namespace ackbox::simulation
