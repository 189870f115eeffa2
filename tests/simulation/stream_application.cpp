#include "simulation/stream_application.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "serve/inbox/frame_streams.hpp"
#include "simulation/push_application.hpp"
#include "transport/answer_stream.hpp"

namespace ackbox::simulation {
namespace {

using std::chrono::milliseconds;

// More bytes than a stream may leave unread.
constexpr std::size_t kManyBytes = std::size_t{2} * 1024 * 1024;
// The longest time until it sees that the world has changed.
constexpr milliseconds kGlance{500};

template <typename Value, std::size_t Size>
Value anyOf(Random& random, const std::array<Value, Size>& values) {
  return values[drawBelow(random, Size)];
}

}  // namespace

class StreamApplication::Connection final : public transport::AnswerStream {
public:
  explicit Connection(StreamApplication& application) : application_(&application) {}

  void open(InboundResponse head, transport::AnswerWatcher watcher) override {
    (void)head;
    watcher_ = std::move(watcher);
  }
  void send(std::string_view bytes) override {
    if (application_ != nullptr) {
      application_->sent(bytes);
    }
  }
  [[nodiscard]] std::size_t unread() const noexcept override {
    return application_ == nullptr ? 0 : application_->unreadBytes_;
  }
  void finish() override {
    if (application_ != nullptr) {
      std::exchange(application_, nullptr)->ended();
    }
  }
  void cut() override { finish(); }

  void taken() const { watcher_.taken(); }
  void lose() {
    application_ = nullptr;
    watcher_.ended(transport::AnswerEnd::lost);
  }
  void leave() { application_ = nullptr; }

private:
  // Null: the application has gone.
  StreamApplication* application_;
  transport::AnswerWatcher watcher_;
};

StreamApplication::StreamApplication(testing::SimulatedProcess& process, Common& common, const Place& place,
                                     std::string box, std::shared_ptr<serve::FrameStreams> streams)
    : process_(process),
      common_(common),
      box_(std::move(box)),
      place_{box_.empty() ? place.agent : box_, place.process},
      streams_(std::move(streams)),
      alarm_(process.clock().makeAlarm(process.executor())),
      turnsAt_(process.clock().steadyNow() + milliseconds(drawBelow(process.random(), 1'000))) {
  arm();
}

StreamApplication::~StreamApplication() {
  if (connection_) {
    connection_->leave();
  }
}

bool StreamApplication::isThere() const {
  return common_.healed ||
         (box_.empty() ? common_.swarm.applications.isThere(common_.simulation.now()) : common_.hub.isAwake(box_));
}

Consumer StreamApplication::consumerOf(std::size_t window) {
  const Mailboxes& mailboxes = common_.swarm.mailboxes;
  const std::uint64_t number = common_.hands.nextConsumer();
  return box_.empty() ? Consumer{number, Pool::pulled, window, common_.swarm.applications.places}
                      : Consumer{number, Pool::mailed, window, mailboxes.places, mailboxes.ownPlaces};
}

void StreamApplication::arm() {
  SteadyTime next = isThere() ? std::min(turnsAt_, readsAt_) : readsAt_;
  if (!tasks_.empty()) {
    next = std::min(next, tasks_.begin()->first);
  }
  if (!common_.healed) {
    next = std::min(next, process_.clock().steadyNow() + kGlance);
  }
  if (next != SteadyTime::max()) {
    alarm_->set(next, [this] { act(); });
  }
}

void StreamApplication::act() {
  const SteadyTime now = process_.clock().steadyNow();
  const bool isThere = this->isThere();
  if (connection_ && now >= readsAt_) {
    read();
  }
  settleDue();
  if (!connection_ && isThere && now >= turnsAt_) {
    open();
  } else if (connection_ && (!isThere || now >= turnsAt_)) {
    end();
  }
  arm();
}

void StreamApplication::open() {
  Random& random = process_.random();
  const Applications& applications = common_.swarm.applications;
  const SteadyTime now = process_.clock().steadyNow();
  serve::StreamWish wish;
  turnsAt_ = SteadyTime::max();
  if (!common_.healed) {
    wish.types = box_.empty() ? anyOf(random, std::array{"*", "sim.pulled.*", "sim.pulled.a", "sim.pulled.b"})
                              : anyOf(random, std::array{"*", "*", "sim.s*"});
    wish.sessions = anyOf(random, std::array{"*", "*", "*", "s1*", ""});
    wish.window = anyOf<std::size_t>(random, std::array<std::size_t, 3>{1, 3, 64});
    turnsAt_ = now + milliseconds(drawBelow(random, static_cast<std::uint64_t>(applications.lifeMax.count())));
  }
  isAllowed_ = std::make_shared<bool>(true);
  wish.isStillAllowed = [isAllowed = isAllowed_] { return *isAllowed; };
  if (!box_.empty()) {
    wish.mailbox = Hub::uriOf(box_);
  }
  consumer_ = consumerOf(wish.window);
  connection_ = std::make_shared<Connection>(*this);
  common_.attendance.opened(place_.process, consumer_.number, wish.types, now, box_);
  if (!streams_->open(std::move(wish), connection_, {})) {
    common_.ledger.violated("P12", place_.process + " opens no stream although few are open");
  }
}

// Either the daemon revokes the token, or the connection is lost.
void StreamApplication::end() {
  Random& random = process_.random();
  turnsAt_ = SteadyTime::max();
  if (drawChance(random, 0.3)) {
    *isAllowed_ = false;
    streams_->endRevoked();
    return;
  }
  std::vector<Task> lost = std::exchange(unread_, {});
  for (auto& [at, task] : tasks_) {
    lost.push_back(std::move(task));
  }
  const std::shared_ptr<Connection> connection = connection_;
  common_.hands.gone(consumer_.number);
  ended();
  connection->lose();
  if (drawChance(random, 0.3)) {
    settleLate(std::move(lost));
  }
}

void StreamApplication::ended() {
  if (common_.hands.gone(consumer_.number) > 0) {
    common_.reach.saw(Situation::wishWithdrawn);
  }
  common_.attendance.closed(consumer_.number);
  connection_.reset();
  unread_.clear();
  unreadBytes_ = 0;
  tasks_.clear();
  readsAt_ = SteadyTime::max();
  const auto most = static_cast<std::uint64_t>(common_.swarm.applications.pauseMax.count());
  turnsAt_ = process_.clock().steadyNow() + milliseconds(drawBelow(process_.random(), most));
  arm();
}

void StreamApplication::sent(std::string_view lines) {
  Random& random = process_.random();
  const bool reads = common_.healed || !drawChance(random, common_.swarm.applications.unread);
  unreadBytes_ += lines.size() + (reads ? 0 : kManyBytes);
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(line.size() + 1);
    if (line.empty()) {
      continue;
    }
    const auto json = nlohmann::json::parse(line);
    Task task{json.at("receipt").get<std::string>(), readEvent(json.at("event"))};
    common_.hands.given(place_, process_.clock(), consumer_, task.frame);
    if (!box_.empty()) {
      common_.hub.gave(place_.process, box_, task.frame.id, task.receipt);
    }
    unread_.push_back(std::move(task));
  }
  if (readsAt_ == SteadyTime::max()) {
    readsAt_ = process_.clock().steadyNow() + milliseconds(drawBelow(random, reads ? 20 : 2'000));
    arm();
  }
}

void StreamApplication::read() {
  readsAt_ = SteadyTime::max();
  unreadBytes_ = 0;
  for (Task& task : std::exchange(unread_, {})) {
    take(std::move(task));
  }
  connection_->taken();
}

void StreamApplication::take(Task task) {
  Random& random = process_.random();
  const Applications& applications = common_.swarm.applications;
  const SteadyTime now = process_.clock().steadyNow();
  if (!common_.healed && drawChance(random, applications.silent)) {
    tasks_.emplace(SteadyTime::max(), std::move(task));
    return;
  }
  const milliseconds longest =
      common_.healed ? std::min(applications.holdMax, common_.swarm.handling.thinkTimeout / 4) : applications.holdMax;
  // In steps, so that some frames are done at the same time.
  const std::uint64_t tenths = 1 + drawBelow(random, 10);
  tasks_.emplace(now + longest * tenths / 10, std::move(task));
}

void StreamApplication::settleDue() {
  const SteadyTime now = process_.clock().steadyNow();
  std::vector<serve::Settlement> settlements;
  std::vector<std::pair<InboundFrame, bool>> frames;
  while (!tasks_.empty() && tasks_.begin()->first <= now) {
    Task task = std::move(tasks_.extract(tasks_.begin()).mapped());
    std::optional<HandlerResult> result = resultOf(task);
    common_.hands.ended(place_.agent, task.frame);
    const bool isAcknowledged = result && result->outcome == Outcome::ack;
    frames.emplace_back(std::move(task.frame), isAcknowledged);
    settlements.push_back({std::move(task.receipt), std::move(result)});
  }
  if (settlements.empty()) {
    return;
  }
  const std::vector<serve::Settlement> again = box_.empty() ? std::vector<serve::Settlement>{} : settlements;
  streams_->settle(
      std::move(settlements),
      [&hands = common_.hands, agent = place_.agent, frames = std::move(frames)](const std::vector<bool>& settled) {
        for (std::size_t index = 0; index < frames.size(); ++index) {
          if (settled[index] && frames[index].second) {
            hands.committed(agent, frames[index].first);
          }
        }
      },
      box_.empty() ? std::nullopt : std::optional(Hub::uriOf(box_)));
  if (!again.empty() && !common_.healed && drawChance(process_.random(), 0.2)) {
    settleWrongly(again);
  }
}

void StreamApplication::settleWrongly(std::vector<serve::Settlement> settlements) {
  common_.reach.saw(Situation::mailSettledTwice);
  if (std::string receipt = common_.hub.foreignReceipt(place_.process, box_); !receipt.empty()) {
    common_.reach.saw(Situation::mailOfOther);
    settlements.push_back({std::move(receipt), HandlerResult::ack()});
  }
  streams_->settle(
      std::move(settlements),
      [&ledger = common_.ledger](const std::vector<bool>& settled) {
        if (std::ranges::find(settled, true) != settled.end()) {
          ledger.violated("P5", "the agent of a mailbox settles a frame twice, or that of another mailbox");
        }
      },
      Hub::uriOf(box_));
}

std::optional<HandlerResult> StreamApplication::resultOf(const Task& task) {
  Random& random = process_.random();
  const Applications& applications = common_.swarm.applications;
  Entry& entry = common_.ledger.entries[nameOf(task.frame.id)];
  if (!common_.healed && drawChance(random, applications.released)) {
    return std::nullopt;
  }
  if (!common_.healed && drawChance(random, applications.retried)) {
    return HandlerResult::notNow("later", milliseconds(drawBelow(random, 1'000)));
  }
  if (!common_.healed && drawChance(random, applications.rejected)) {
    entry.rejected = true;
    return HandlerResult::reject("never");
  }
  common_.hands.acknowledged(place_.agent, task.frame);
  return HandlerResult::ack();
}

void StreamApplication::settleLate(std::vector<Task> tasks) {
  if (tasks.empty()) {
    return;
  }
  std::vector<serve::Settlement> settlements;
  settlements.reserve(tasks.size());
  for (Task& task : tasks) {
    settlements.push_back({std::move(task.receipt), HandlerResult::ack()});
  }
  common_.reach.saw(Situation::settledLate);
  streams_->settle(std::move(settlements), [&ledger = common_.ledger](const std::vector<bool>& settled) {
    if (std::ranges::find(settled, true) != settled.end()) {
      ledger.violated("P5", "a frame is settled by an application that has it in hand no more");
    }
  });
}

}  // namespace ackbox::simulation
