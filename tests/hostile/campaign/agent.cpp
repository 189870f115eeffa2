// The agent that the hostile campaign attacks: the library with its defaults, in a process of its own.
//
//   campaign_agent DATABASE DESCRIPTORS SERVER
//
// DESCRIPTORS: the limit of open descriptors (RLIMIT_NOFILE). SERVER: who runs the inbound server: `own` (a thread of
// its own, the default of the library), `executor` (an io_context that one thread runs) or `pool` (a thread_pool of
// two). It takes one command a line from its standard input, answers each with one line, and ends with its input.

#include <sys/resource.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <cstdint>
#include <exception>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ackbox/deferred_frame.hpp"
#include "ackbox/http_sender.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/inbound_server.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"
#include "bench/rest.hpp"
#include "hostile/campaign/keys.hpp"

namespace {

using namespace ackbox;
using namespace ackbox::campaign;

SecretSource sourceOf(const std::vector<std::string>& keys) {
  std::vector<Secret> secrets;
  secrets.reserve(keys.size());
  for (const std::string& key : keys) {
    secrets.emplace_back(key);
  }
  return SecretSource::fixed(std::move(secrets));
}

void limit(int resource, rlim_t value) {
  rlimit limits{};
  getrlimit(resource, &limits);
  limits.rlim_cur = value;
  if (setrlimit(resource, &limits) != 0) {
    throw std::runtime_error("the limit cannot be set");
  }
}

// Bytes of address space in use.
rlim_t addressSpace() {
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * 4096;
}

/// Carries for many peers at one URL, which an `HttpSender` refuses: here each peer's sessions have names of their own.
class SenderToMany final : public Sender {
public:
  [[nodiscard]] std::uint32_t initialCredit() const override { return inner_.initialCredit(); }
  void usePeers(std::span<const PeerOptions> peers) override {
    std::vector<PeerOptions> apart(peers.begin(), peers.end());
    for (PeerOptions& peer : apart) {
      peer.agent = "urn:agent:" + peer.name;
    }
    inner_.usePeers(apart);
  }
  void start(const boost::asio::any_io_executor& executor) override { inner_.start(executor); }
  void asyncSend(SendRequest request, SendHandler handler) override {
    inner_.asyncSend(std::move(request), std::move(handler));
  }
  void stop() override { inner_.stop(); }

private:
  HttpSender inner_;
};

class Agent {
public:
  Agent(std::string database, std::string server) : database_(std::move(database)), server_(std::move(server)) {}
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  ~Agent() {
    over_ = true;
    endRounds();
    for (std::thread& thread : threads_) {
      thread.join();
    }
    inbound_.reset();
    guard_.reset();
    context_.stop();
    if (runner_.joinable()) {
      runner_.join();
    }
    if (pool_) {
      pool_->join();
    }
    const std::lock_guard lock(keptMutex_);
    kept_.clear();
  }

  std::string perform(const std::string& line) {
    std::istringstream words(line);
    std::string verb;
    words >> verb;
    const auto found = commands_.find(verb);
    return found == commands_.end() ? "unknown " + verb : (this->*found->second)(words);
  }

private:
  using Command = std::string (Agent::*)(std::istringstream&);

  // peers NAME COUNT URL: one peer of this name, or COUNT of them, numbered.
  std::string addPeers(std::istringstream& words) {
    PeerOptions peer;
    std::string name;
    int count = 0;
    words >> name >> count >> peer.url;
    peer.agent = std::string(kNeighbour);
    peer.secrets = sourceOf({std::string(kNeighboursKey)});
    for (int number = 0; number < std::max(count, 1); ++number) {
      peer.name = count == 0 ? name : name + std::to_string(number);
      options_.peers.push_back(peer);
    }
    return "added";
  }

  // open: opens the file and listens.
  std::string open(std::istringstream&) {
    options_.agent = std::string(kTarget);
    manager_.emplace(OutboxManager::open(database_, options_));
    manager_->setSender(std::make_shared<SenderToMany>());
    InboundOptions inbound;
    inbound.peers = {{.agents = {std::string(kHonest)}, .secrets = sourceOf({std::string(kHonestKey)})},
                     {.agents = {std::string(kMallory)}, .secrets = sourceOf({std::string(kMallorysKey)})},
                     {.agents = {std::string(kCrowd)}, .secrets = sourceOf(crowdsKeys(0, 16))},
                     {.agents = {std::string(kOtherCrowd)}, .secrets = sourceOf(crowdsKeys(16, 14))}};
    inbound.deferred.handler = [this](DeferredFrame frame) { work(std::move(frame)); };
    handler_.emplace(
        *manager_,
        [](const InboundFrame& frame, InboundTransaction&) {
          return frame.type == "later" ? HandlerResult::defer() : HandlerResult::ack();
        },
        std::move(inbound));
    listen();
    return "port " + std::to_string(inbound_->port());
  }

  void listen() {
    if (server_ == "executor") {
      guard_.emplace(context_.get_executor());
      runner_ = std::thread([this] { context_.run(); });
      inbound_.emplace(context_.get_executor(), *handler_);
    } else if (server_ == "pool") {
      pool_.emplace(2);
      inbound_.emplace(pool_->get_executor(), *handler_);
    } else {
      inbound_.emplace(*handler_);
    }
  }

  // Mallory's frames are work without end.
  void work(DeferredFrame frame) {
    if (frame.frame().source == kMallory) {
      const std::lock_guard lock(keptMutex_);
      kept_.push_back(std::move(frame));
      return;
    }
    static_cast<void>(frame.finish(HandlerResult::ack()));
  }

  std::string start(std::istringstream&) {
    manager_->start();
    return "started";
  }

  // beat NAME COUNT PERIOD_MS: from now on a frame with its time, to each of the peers in turn.
  std::string beat(std::istringstream& words) {
    std::string name;
    int count = 0;
    int period = 0;
    words >> name >> count >> period;
    threads_.emplace_back([this, name, count, period] {
      for (int number = 0; !over_; ++number) {
        const std::int64_t at = std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
        Frame frame;
        frame.peer = count == 0 ? name : name + std::to_string(number % count);
        // What one agent takes from several peers of this name is told apart by the session.
        frame.session = frame.peer;
        frame.type = "beat";
        frame.data = "{\"at\":" + std::to_string(at) + "}";
        try {
          said_ += manager_->enqueue(frame).isNew() ? 1 : 0;
        } catch (const Error&) {
          ++refused_;
        }
        bench::rest(std::chrono::milliseconds(period));
      }
    });
    return "beating";
  }

  // enqueue NAME PEERS SESSIONS COUNT BYTES: COUNT frames to each of the peers, spread over its sessions.
  std::string enqueue(std::istringstream& words) {
    std::string name;
    int peers = 0;
    int sessions = 0;
    int count = 0;
    std::size_t bytes = 0;
    words >> name >> peers >> sessions >> count >> bytes;
    Frame frame;
    frame.type = "bulk";
    frame.data = "\"" + std::string(bytes, 'x') + "\"";
    int stored = 0;
    for (int peer = 0; peer < std::max(peers, 1); ++peer) {
      frame.peer = peers == 0 ? name : name + std::to_string(peer);
      for (int number = 0; number < count; ++number) {
        frame.session = "bulk-" + std::to_string(number % sessions);
        stored += manager_->enqueue(frame).isNew() ? 1 : 0;
      }
    }
    return "stored " + std::to_string(stored);
  }

  // headroom MIB: from now on no more than this beyond what it has.
  std::string headroom(std::istringstream& words) {
    rlim_t mebibytes = 0;
    words >> mebibytes;
    limit(RLIMIT_AS, addressSpace() + mebibytes * 1024 * 1024);
    return "limited";
  }

  // rounds: starts and stops from two threads, on and on.
  std::string rounds(std::istringstream&) {
    rounds_.emplace_back([this] {
      for (; !areRoundsOver_; ++starts_) {
        manager_->start();
      }
    });
    rounds_.emplace_back([this] {
      for (; !areRoundsOver_; ++stops_) {
        static_cast<void>(manager_->stop());
      }
    });
    return "going";
  }

  // settle: ends the rounds, and starts for good.
  std::string settle(std::istringstream&) {
    endRounds();
    manager_->start();
    return "settled";
  }

  void endRounds() {
    areRoundsOver_ = true;
    for (std::thread& thread : rounds_) {
      thread.join();
    }
    rounds_.clear();
  }

  std::string progress(std::istringstream&) {
    return "progress " + std::to_string(starts_) + " " + std::to_string(stops_);
  }

  std::string said(std::istringstream&) { return "said " + std::to_string(said_) + " " + std::to_string(refused_); }

  // down: how many peers are, and how many of them for want of descriptors.
  std::string down(std::istringstream&) {
    int away = 0;
    int starved = 0;
    for (const PeerStats& peer : OutboxReader(*manager_).peerStats()) {
      away += peer.down ? 1 : 0;
      starved += peer.lastError.find("open files") != std::string::npos ? 1 : 0;
    }
    return "down " + std::to_string(away) + " " + std::to_string(starved);
  }

  static inline const std::map<std::string, Command> commands_ = {
      {"peers", &Agent::addPeers}, {"open", &Agent::open},         {"start", &Agent::start},
      {"beat", &Agent::beat},      {"enqueue", &Agent::enqueue},   {"headroom", &Agent::headroom},
      {"rounds", &Agent::rounds},  {"progress", &Agent::progress}, {"said", &Agent::said},
      {"down", &Agent::down},      {"settle", &Agent::settle}};

  const std::string database_;
  const std::string server_;
  OutboxOptions options_;
  std::mutex keptMutex_;
  std::vector<DeferredFrame> kept_;
  std::optional<OutboxManager> manager_;
  std::optional<InboundHandler> handler_;
  boost::asio::io_context context_;
  std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> guard_;
  std::thread runner_;
  std::optional<boost::asio::thread_pool> pool_;
  std::optional<InboundServer> inbound_;
  std::atomic<bool> over_ = false;
  std::atomic<std::uint64_t> said_ = 0;
  std::atomic<std::uint64_t> refused_ = 0;
  std::atomic<std::uint64_t> starts_ = 0;
  std::atomic<std::uint64_t> stops_ = 0;
  std::atomic<bool> areRoundsOver_ = false;
  std::vector<std::thread> rounds_;
  std::vector<std::thread> threads_;
};

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() != 3) {
    std::cerr << "usage: campaign_agent DATABASE DESCRIPTORS own|executor|pool\n";
    return 2;
  }
  try {
    limit(RLIMIT_NOFILE, static_cast<rlim_t>(std::stoul(words[1])));
    Agent agent(words[0], words[2]);
    for (std::string line; std::getline(std::cin, line);) {
      std::cout << agent.perform(line) << std::endl;
    }
  } catch (const std::exception& error) {
    std::cout << "error " << error.what() << std::endl;
    return 1;
  }
  return 0;
}
