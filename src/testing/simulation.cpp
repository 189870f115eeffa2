#include "ackbox/testing/simulation.hpp"

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <deque>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/arrivals.hpp"
#include "base/posted_executor.hpp"
#include "protocol/inbound_port.hpp"
#include "testing/network.hpp"
#include "testing/process_vfs.hpp"
#include "testing/statement_trace.hpp"
#include "testing/trace.hpp"

namespace ackbox::testing {
namespace {

using Work = std::function<void()>;

// SQLite identifies a VFS by its name, and several simulations may run in one program.
std::string uniqueVfsName() {
  static std::atomic<std::uint64_t> last{0};
  return "ackbox-simulation-" + std::to_string(++last);
}

/// The three sources of work in a process: its store's transactions, a run of the manager's own, and its executor, on
/// which requests arrive.
enum class Turn : std::uint8_t { store, run, io };

std::string_view describe(DiskFault fault) {
  switch (fault) {
    case DiskFault::busy:
      return "the write lock is busy";
    case DiskFault::full:
      return "the disk is full: a write fails";
    case DiskFault::ioError:
      return "the disk is broken: a call fails";
  }
  return "";
}

/// One life of a process, from its start to its death.
class Life final : public SimulatedProcess {
public:
  Life(Network& network, Trace& trace, Address address, std::shared_ptr<VirtualClock> clock,
       std::shared_ptr<Random> random)
      : network_(network),
        address_(std::move(address)),
        clock_(std::move(clock)),
        random_(std::move(random)),
        vfs_(uniqueVfsName()),
        statements_(trace, address_.process, vfs_.name()) {
    if (trace.isOn()) {
      vfs_.onFault([&trace, name = address_.process](DiskFault fault) { trace.add(name, describe(fault)); });
    }
  }

  ~Life() override {
    vfs_.die();
    for (const std::function<void()>& cut : cuts_) {
      cut();
    }
    statements_.stop();
    agent_.reset();
    // Jobs hold their manager, which holds its jobs: each job is ended as failed.
    while (runNext(Turn::store)) {
    }
    network_.died(address_);
    clock_->dropAlarms();
    arrivals_.reset();
    io_.reset();
    do {
      // Destroying the work may post more.
      for (std::deque<Work> lost = std::exchange(*run_, {}); !lost.empty(); lost = std::exchange(*run_, {})) {
        lost.clear();
      }
    } while (runNext(Turn::store));
  }
  Life(const Life&) = delete;
  Life& operator=(const Life&) = delete;

  [[nodiscard]] OutboxOptions options(OutboxOptions base) override {
    base.clock = clock_;
    base.random = random_;
    base.vfs = vfs_.name();
    if (!base.log) {
      // Peers go up and down in each world, so these records are dropped.
      base.log = [](const LogRecord&) {};
    }
    base.storeExecutor = [store = store_, run = run_](Work work) {
      (work.target<PostedWork>() != nullptr ? *run : *store).push_back(std::move(work));
    };
    return base;
  }
  [[nodiscard]] boost::asio::any_io_executor executor() override { return io_->get_executor(); }
  [[nodiscard]] std::shared_ptr<Sender> sender() override {
    return std::make_shared<NetworkSender>(network_, address_);
  }
  void listen(InboundHandler& handler) override { handler_ = &handler; }
  [[nodiscard]] VirtualClock& clock() override { return *clock_; }
  [[nodiscard]] Random& random() override { return *random_; }
  void whenDead(std::function<void()> cut) override {
    if (vfs_.dead()) {
      cut();
    }
    cuts_.push_back(std::move(cut));
  }
  [[nodiscard]] bool mayWrite() override { return vfs_.write(); }
  [[nodiscard]] bool isDead() const override { return vfs_.dead(); }

  void boot(const Simulation::Boot& boot) {
    const StatementTrace::Watch watch(statements_);
    agent_ = boot(*this);
  }
  [[nodiscard]] ProcessVfs& vfs() { return vfs_; }

  bool runNext(Turn turn) {
    if (turn == Turn::io) {
      io_->restart();
      return io_->poll_one() > 0;
    }
    std::deque<Work>& queue = turn == Turn::store ? *store_ : *run_;
    if (queue.empty()) {
      return false;
    }
    const Work work = std::move(queue.front());
    queue.pop_front();
    work();
    return true;
  }

  bool deliver(InboundRequest request, std::function<void(InboundResponse)> respond) {
    if (handler_ == nullptr) {
      return false;
    }
    arrivals_->add(std::move(request), std::move(respond));
    return true;
  }

private:
  void handle(InboundRequest&& request, Arrivals::Respond&& respond, bool isLone) {
    protocol::InboundPort::of(*handler_).handle(
        std::move(request),
        [this, answer = std::move(respond)](InboundResponse response) {
          if (!vfs_.dead()) {
            answer(std::move(response));
          }
        },
        isLone ? protocol::HandlerThread::caller : protocol::HandlerThread::store, protocol::RequestForm::cloudEvents);
  }

  Network& network_;
  const Address address_;
  const std::shared_ptr<VirtualClock> clock_;
  const std::shared_ptr<Random> random_;
  ProcessVfs vfs_;
  StatementTrace statements_;
  const std::shared_ptr<std::deque<Work>> store_ = std::make_shared<std::deque<Work>>();
  const std::shared_ptr<std::deque<Work>> run_ = std::make_shared<std::deque<Work>>();
  std::unique_ptr<boost::asio::io_context> io_ = std::make_unique<boost::asio::io_context>(1);
  std::optional<Arrivals> arrivals_{std::in_place, io_->get_executor(),
                                    [this](InboundRequest&& request, Arrivals::Respond& respond, bool isLone) {
                                      handle(std::move(request), std::move(respond), isLone);
                                    }};
  InboundHandler* handler_ = nullptr;
  std::vector<std::function<void()>> cuts_;
  std::shared_ptr<void> agent_;
};

struct Process {
  Simulation::Boot boot;
  std::shared_ptr<VirtualClock> clock;
  std::uint64_t lives = 0;
  std::unique_ptr<Life> life;
};

}  // namespace

class Simulation::Impl {
public:
  explicit Impl(std::uint64_t seed)
      : random_(seededRandom(seed)),
        network_(*random_, trace_,
                 [this](const std::string& name, InboundRequest request, std::function<void(InboundResponse)> respond) {
                   Life* const life = find(name).life.get();
                   return life != nullptr && life->deliver(std::move(request), std::move(respond));
                 }) {}

  void add(std::string name, Boot boot) {
    Process made;
    made.boot = std::move(boot);
    made.clock = std::make_shared<VirtualClock>();
    if (!processes_.emplace(std::move(name), std::move(made)).second) {
      throw std::invalid_argument("the simulation has a process of this name already");
    }
  }

  void start(std::string_view name) {
    Process& process = find(name);
    if (process.life) {
      throw std::logic_error("the process " + std::string(name) + " is running");
    }
    process.life = std::make_unique<Life>(network_, trace_, Address{std::string(name), ++process.lives}, process.clock,
                                          seededRandom(random_->next()));
    trace_.add(name, "starts");
    try {
      process.life->boot(process.boot);
    } catch (...) {
      trace_.add(name, "could not start");
      process.life.reset();
      throw;
    }
    bury(name, process);
  }

  void kill(std::string_view name) {
    Process& process = find(name);
    if (process.life) {
      trace_.add(name, "is killed");
    }
    process.life.reset();
  }

  void killAtWrite(std::string_view name, std::uint64_t writes) { alive(name).vfs().dieAtWrite(writes); }

  void failDisk(std::string_view name, DiskFault fault, std::uint64_t after, std::uint64_t count) {
    alive(name).vfs().fail(fault, after, count);
  }

  void mendDisk(std::string_view name) { alive(name).vfs().mend(); }

  [[nodiscard]] bool running(std::string_view name) { return find(name).life != nullptr; }

  [[nodiscard]] Life& alive(std::string_view name) {
    Process& process = find(name);
    if (!process.life) {
      throw std::logic_error("the process " + std::string(name) + " is not running");
    }
    return *process.life;
  }

  bool step(std::chrono::nanoseconds until) {
    if (runOne()) {
      return true;
    }
    std::optional<std::chrono::nanoseconds> next = network_.next();
    for (const auto& [name, process] : processes_) {
      if (const auto wait = process.clock->untilNextAlarm()) {
        next = std::min(next.value_or(now_ + *wait), now_ + *wait);
      }
    }
    const bool any = next && *next <= until;
    moveTo(std::max(any ? *next : until, now_));
    return any;
  }

  [[nodiscard]] Network& network() { return network_; }
  [[nodiscard]] Random& random() { return *random_; }
  [[nodiscard]] std::chrono::nanoseconds now() const { return now_; }
  [[nodiscard]] Trace& trace() { return trace_; }

private:
  [[nodiscard]] Process& find(std::string_view name) {
    const auto found = processes_.find(name);
    if (found == processes_.end()) {
      throw std::invalid_argument("the simulation has no process named " + std::string(name));
    }
    return found->second;
  }

  bool runOne() {
    turns_.clear();
    for (auto& entry : processes_) {
      if (entry.second.life) {
        for (const Turn turn : {Turn::store, Turn::run, Turn::io}) {
          turns_.emplace_back(&entry, turn);
        }
      }
    }
    const std::size_t first = turns_.empty() ? 0 : random_->next() % turns_.size();
    for (std::size_t index = 0; index < turns_.size(); ++index) {
      const auto& [entry, turn] = turns_[(first + index) % turns_.size()];
      if (entry->second.life->runNext(turn)) {
        bury(entry->first, entry->second);
        return true;
      }
    }
    return false;
  }

  void bury(std::string_view name, Process& process) {
    if (process.life && process.life->vfs().dead()) {
      trace_.add(name, "is killed at a disk write");
      process.life.reset();
    }
  }

  void moveTo(std::chrono::nanoseconds time) {
    for (const auto& [name, process] : processes_) {
      process.clock->advance(time - now_);
    }
    now_ = time;
    trace_.moveTo(time);
    network_.moveTo(time);
  }

  using Processes = std::map<std::string, Process, std::less<>>;

  const std::shared_ptr<Random> random_;
  std::chrono::nanoseconds now_{0};
  Trace trace_;
  Network network_;
  // Destroyed before the network, because processes call it.
  Processes processes_;
  std::vector<std::pair<Processes::value_type*, Turn>> turns_;
};

Simulation::Simulation(std::uint64_t seed) : impl_(std::make_unique<Impl>(seed)) {}
Simulation::~Simulation() = default;

void Simulation::add(std::string name, Boot boot) {
  impl_->add(std::move(name), std::move(boot));
}
void Simulation::start(std::string_view name) {
  impl_->start(name);
}
void Simulation::kill(std::string_view name) {
  impl_->kill(name);
}
void Simulation::killAtWrite(std::string_view name, std::uint64_t writes) {
  impl_->killAtWrite(name, writes);
}
void Simulation::failDisk(std::string_view name, DiskFault fault, std::uint64_t after, std::uint64_t count) {
  impl_->failDisk(name, fault, after, count);
}
void Simulation::mendDisk(std::string_view name) {
  impl_->mendDisk(name);
}
bool Simulation::running(std::string_view name) const {
  return impl_->running(name);
}
SimulatedProcess& Simulation::process(std::string_view name) {
  return impl_->alive(name);
}
SimulatedNetwork& Simulation::network() {
  return impl_->network();
}
Random& Simulation::random() {
  return impl_->random();
}
std::chrono::nanoseconds Simulation::now() const {
  return impl_->now();
}
bool Simulation::step(std::chrono::nanoseconds until) {
  return impl_->step(until);
}
void Simulation::startTrace(std::size_t linesMax) {
  impl_->trace().start(linesMax);
}
void Simulation::note(std::string_view process, std::string_view event) {
  impl_->trace().add(process, event);
}
std::string Simulation::trace() const {
  return impl_->trace().text();
}
void Simulation::runFor(std::chrono::nanoseconds time) {
  const auto end = now() + time;
  while (step(end)) {
  }
}
bool Simulation::runUntil(const std::function<bool()>& condition, std::chrono::nanoseconds limit) {
  const auto end = now() + limit;
  while (!condition()) {
    if (!step(end)) {
      return condition();
    }
  }
  return true;
}

}  // namespace ackbox::testing
