#include "hostile/campaign/honest.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "bench/rest.hpp"
#include "hostile/campaign/keys.hpp"
#include "hostile/campaign/line.hpp"
#include "hostile/campaign/request.hpp"

namespace ackbox::campaign {
namespace {

constexpr std::chrono::milliseconds kAnswerPatience = std::chrono::seconds(5);

double millisecondsSince(Instant start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

Served describe(std::vector<double> times) {
  Served served;
  if (!times.empty()) {
    std::sort(times.begin(), times.end());
    const auto at = [&](double share) { return times[static_cast<std::size_t>(share * double(times.size() - 1))]; };
    served.p50 = at(0.5);
    served.p99 = at(0.99);
    served.worst = times.back();
  }
  return served;
}

}  // namespace

HonestCaller::HonestCaller(std::uint16_t port, std::string type) : port_(port), type_(std::move(type)) {
  thread_ = std::thread([this] { speak(); });
}

HonestCaller::~HonestCaller() {
  stop();
}

void HonestCaller::stop() {
  over_ = true;
  if (thread_.joinable()) {
    thread_.join();
  }
}

Served HonestCaller::served() const {
  const std::lock_guard lock(mutex_);
  Served served = describe(times_);
  served.asked = times_.size();
  served.done = done_;
  return served;
}

bool HonestCaller::isServedWithin(std::chrono::milliseconds patience) {
  const std::uint64_t before = served().done;
  // One more than this: a request that is under way began before.
  for (const Instant deadline = in(patience); std::chrono::steady_clock::now() < deadline;) {
    if (served().done > before + 1) {
      return true;
    }
    bench::rest(std::chrono::milliseconds(10));
  }
  return false;
}

void HonestCaller::speak() {
  while (!over_) {
    call();
    bench::rest(std::chrono::milliseconds(20));
  }
}

void HonestCaller::call() {
  const std::string frame = frameOf(kHonest, type_);
  const Instant start = std::chrono::steady_clock::now();
  const Instant deadline = in(kAnswerPatience);
  Line line(port_);
  std::string answer;
  if (line.sendAll(requestOf(kHonest, kHonestKey, frame), deadline)) {
    answer = line.receiveMessage(deadline);
  }
  const bool isDone = statusOf(answer).starts_with("2");
  const double took = millisecondsSince(start);
  {
    const std::lock_guard lock(mutex_);
    done_ += isDone ? 1 : 0;
    // A refusal that comes quickly is no good service.
    times_.push_back(isDone ? took : std::max(took, double(kAnswerPatience.count())));
  }
}

Neighbour::Neighbour() {
  OutboxOptions options;
  options.agent = std::string(kNeighbour);
  options.durability = Durability::processCrash;
  manager_.emplace(OutboxManager::open(directory_.file("carol.db"), options));
  InboundOptions inbound;
  std::vector<Secret> secrets;
  secrets.emplace_back(std::string(kNeighboursKey));
  inbound.peers = {{.agents = {std::string(kTarget)}, .secrets = SecretSource::fixed(std::move(secrets))}};
  handler_.emplace(
      *manager_,
      [this](const InboundFrame& frame, InboundTransaction&) {
        take(frame);
        return HandlerResult::ack();
      },
      std::move(inbound));
  server_.emplace(*handler_);
}

Served Neighbour::beatsOf(std::uint64_t asked, std::chrono::milliseconds patience) const {
  for (const Instant deadline = in(patience);;) {
    {
      const std::lock_guard lock(mutex_);
      if (times_.size() * 2 >= asked || std::chrono::steady_clock::now() >= deadline) {
        Served served = describe(times_);
        served.asked = asked;
        served.done = times_.size();
        return served;
      }
    }
    bench::rest(std::chrono::milliseconds(10));
  }
}

void Neighbour::take(const InboundFrame& frame) {
  constexpr std::string_view kAt = "{\"at\":";
  if (frame.type != "beat" || !frame.data.starts_with(kAt)) {
    ++others_;
    return;
  }
  const std::chrono::nanoseconds at(std::strtoll(frame.data.c_str() + kAt.size(), nullptr, 10));
  const double took = millisecondsSince(Instant(at));
  const std::lock_guard lock(mutex_);
  times_.push_back(took);
}

}  // namespace ackbox::campaign
