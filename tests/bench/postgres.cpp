// An outbox in PostgreSQL, on a server of this program's own with fsync, that several processes deliver from.
//
// End to end: as `endToEnd`, where the sender's outbox is in the database; beside it the same with a file, and the same
// while a transaction is open that keeps VACUUM from removing what was deleted since.
//
// Replicas: two processes deliver to a receiver; this one enqueues only. How long after its enqueue returned a message
// arrives; how long after SIGKILL of the process that was sending a message it arrives from the other one; and how much
// four processes deliver beside one, to a receiver that takes 20 ms for each message.
//
// Sessions: four processes deliver messages of 10,000 sessions to a real receiver, and are killed one after the other;
// beside it one process with a file that nobody kills.

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ackbox/http_sender.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/postgres.hpp"
#include "bench/child_process.hpp"
#include "bench/delivery.hpp"
#include "bench/effects.hpp"
#include "bench/operation.hpp"
#include "bench/replica.hpp"
#include "bench/scratch.hpp"
#include "support/postgres_client.hpp"
#include "support/postgres_database.hpp"

namespace ackbox::bench {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using Steady = std::chrono::steady_clock;
using testing::PostgresDatabase;

constexpr std::chrono::milliseconds kSlowReceiver(20);
constexpr std::chrono::seconds kPatience(30);
constexpr std::uint64_t kMessagesTimed = 200;
constexpr std::uint64_t kKills = 200;
// More than four processes deliver to the slow receiver in the time.
constexpr std::uint64_t kSlowMessagesPerSecond = 4'000;
constexpr std::uint64_t kManySessions = 10'000;
constexpr std::uint64_t kMessagesOfSessions = 200'000;
constexpr std::uint64_t kKillsOfSessions = 40;

/// A webhook: 204 for each message, as soon as `answer` says how long after its arrival; never without.
class Webhook {
public:
  using Answer = std::function<std::optional<std::chrono::milliseconds>()>;

  explicit Webhook(Answer answer) : answer_(std::move(answer)) {
    asio::co_spawn(context_, accept(), asio::detached);
    thread_ = std::thread([this] { context_.run(); });
  }
  ~Webhook() {
    context_.stop();
    thread_.join();
  }
  Webhook(const Webhook&) = delete;
  Webhook& operator=(const Webhook&) = delete;

  [[nodiscard]] std::string url() const {
    return "http://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port()) + "/";
  }

private:
  asio::awaitable<void> accept() {
    for (;;) {
      asio::co_spawn(context_, serve(co_await acceptor_.async_accept(asio::use_awaitable)), asio::detached);
    }
  }
  asio::awaitable<void> serve(tcp::socket socket) {
    boost::beast::flat_buffer buffer;
    try {
      for (;;) {
        http::request<http::string_body> request;
        co_await http::async_read(socket, buffer, request, asio::use_awaitable);
        asio::steady_timer pause(context_, answer_().value_or(kPatience));
        co_await pause.async_wait(asio::use_awaitable);
        http::response<http::empty_body> answer(http::status::no_content, request.version());
        co_await http::async_write(socket, answer, asio::use_awaitable);
      }
    } catch (const boost::system::system_error&) {
      // The other side has closed the connection.
    }
  }

  const Answer answer_;
  asio::io_context context_{1};
  tcp::acceptor acceptor_{context_, {asio::ip::address_v4::loopback(), 0}};
  std::thread thread_;
};

/// The arrivals of one message at a time at either of two doors. The first door at which it arrives gives no answer.
class Doors {
public:
  struct Seen {
    std::size_t door = 0;
    Steady::time_point at;
  };

  explicit Doors(bool held) : isHeld_(held) {}

  std::optional<std::chrono::milliseconds> arrived(std::size_t door) {
    const std::scoped_lock lock(mutex_);
    seen_.push_back({door, Steady::now()});
    news_.notify_all();
    return isHeld_ && seen_.size() == 1 ? std::nullopt : std::optional(std::chrono::milliseconds(0));
  }
  Seen await(std::size_t number) {
    std::unique_lock lock(mutex_);
    if (!news_.wait_for(lock, kPatience, [&] { return seen_.size() >= number; })) {
      throw std::runtime_error("a message did not arrive");
    }
    return seen_[number - 1];
  }
  void begin() {
    const std::scoped_lock lock(mutex_);
    seen_.clear();
  }

private:
  const bool isHeld_;
  std::mutex mutex_;
  std::condition_variable news_;
  // Guarded by mutex_.
  std::vector<Seen> seen_;
};

// Other processes work meanwhile.
void pass(std::chrono::milliseconds time) {
  asio::io_context context;
  asio::steady_timer(context, time).wait();
}

OutboxOptions replicaOptions(const std::string& url, PeerProfile profile = PeerProfile::webhook) {
  OutboxOptions options = outboxOptions(Durability::powerCut);
  PeerOptions& peer = options.peers.emplace_back();
  peer.url = url;
  peer.profile = profile;
  if (profile == PeerProfile::native) {
    peer.agent = kReceiverAgent;
  }
  return options;
}

std::unique_ptr<ChildProcess> replica(const PostgresDatabase& database, const std::string& url,
                                      PeerProfile profile = PeerProfile::webhook) {
  const char* const role = profile == PeerProfile::webhook ? "replica" : "native-replica";
  auto process = std::make_unique<ChildProcess>(
      std::vector<std::string>{"--role", role, "--file", database.location(), "--url", url});
  static_cast<void>(process->readLine());
  return process;
}

/// Two processes that deliver, each to a door of its own, and one that enqueues.
class Replicas {
public:
  explicit Replicas(bool held)
      : arrivals_(held),
        manager_(OutboxManager::open(PostgresLocation{database_.location()}, replicaOptions(doors_[0].url()))) {
    for (std::size_t door = 0; door < doors_.size(); ++door) {
      start(door);
    }
  }

  Steady::time_point enqueue() {
    arrivals_.begin();
    static_cast<void>(manager_.enqueue(frameOf(number_, ~std::uint64_t{0})));
    ++number_;
    return Steady::now();
  }
  void start(std::size_t door) { replicas_[door] = replica(database_, doors_[door].url()); }
  void kill(std::size_t door) { replicas_[door].reset(); }
  [[nodiscard]] Doors& arrivals() { return arrivals_; }

private:
  PostgresDatabase database_;
  Doors arrivals_;
  std::array<Webhook, 2> doors_{Webhook([this] { return arrivals_.arrived(0); }),
                                Webhook([this] { return arrivals_.arrived(1); })};
  OutboxManager manager_;
  std::uint64_t number_ = 0;
  std::array<std::unique_ptr<ChildProcess>, 2> replicas_;
};

std::uint64_t atMost(const Settings& settings, std::uint64_t most) {
  return settings.count == 0 ? most : std::min(settings.count, most);
}

Latencies newsLatencies(const Settings& settings) {
  Replicas pair(false);
  Latencies latencies;
  for (std::uint64_t message = 0; message < atMost(settings, kMessagesTimed); ++message) {
    const Steady::time_point enqueued = pair.enqueue();
    latencies.add(pair.arrivals().await(1).at - enqueued);
  }
  return latencies;
}

Latencies recoveryLatencies(const Settings& settings) {
  Replicas pair(true);
  Latencies latencies;
  for (std::uint64_t kill = 0; kill < atMost(settings, kKills); ++kill) {
    static_cast<void>(pair.enqueue());
    const std::size_t door = pair.arrivals().await(1).door;
    const Steady::time_point killed = Steady::now();
    pair.kill(door);
    const Doors::Seen again = pair.arrivals().await(2);
    if (again.door == door) {
      throw std::runtime_error("a process that was killed has sent");
    }
    latencies.add(again.at - killed);
    pair.start(door);
  }
  return latencies;
}

Delivery deliverFromDatabase(const Settings& settings, bool isBesideOpen) {
  const PostgresDatabase database;
  const testing::PostgresClient other(database.location());
  if (isBesideOpen) {
    other.run("BEGIN ISOLATION LEVEL REPEATABLE READ");
    other.run("SELECT 1");
  }
  Link link;
  link.database = database.location();
  return deliver(settings, Durability::powerCut, link);
}

void enqueueAll(OutboxManager& manager, std::uint64_t count, std::uint64_t sessions) {
  constexpr std::uint64_t kTogether = 500;
  for (std::uint64_t first = 0; first < count; first += kTogether) {
    std::vector<Frame> frames;
    for (std::uint64_t number = first; number < std::min(count, first + kTogether); ++number) {
      frames.push_back(frameOf(number, sessions));
    }
    static_cast<void>(manager.enqueueBatch(frames));
  }
}

double slowlyDelivered(const Settings& settings, std::size_t processes) {
  const PostgresDatabase database;
  std::atomic<std::uint64_t> arrived = 0;
  Webhook webhook([&] {
    ++arrived;
    return kSlowReceiver;
  });
  OutboxManager manager = OutboxManager::open(PostgresLocation{database.location()}, replicaOptions(webhook.url()));
  const auto seconds = static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::seconds>(settings.duration).count());
  const std::uint64_t count = settings.count != 0 ? settings.count : (seconds + 1) * kSlowMessagesPerSecond;
  enqueueAll(manager, count, kSessions);
  std::vector<std::unique_ptr<ChildProcess>> replicas;
  for (std::size_t process = 0; process < processes; ++process) {
    replicas.push_back(replica(database, webhook.url()));
  }
  // All of them have begun.
  const std::uint64_t before = arrived;
  const Steady::time_point begin = Steady::now();
  while (arrived < count && Steady::now() - begin < settings.duration) {
    pass(std::chrono::milliseconds(1));
  }
  const double rate = perSecond(arrived - before, Steady::now() - begin);
  if (settings.count == 0 && arrived >= count) {
    throw std::runtime_error("there were too few messages for the time");
  }
  return rate;
}

}  // namespace

int runReplica(const std::string& database, const std::string& url, PeerProfile profile) {
  OutboxManager manager = OutboxManager::open(PostgresLocation{database}, replicaOptions(url, profile));
  manager.setSender(std::make_shared<HttpSender>());
  manager.start();
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
  }
  manager.stop();
  return 0;
}

Measurement postgresEndToEnd(const Settings& settings) {
  Measurement measurement;
  const Delivery delivery = deliverFromDatabase(settings, false);
  measurement.figure("per_s", delivery.perSecond);
  measurement.figure("sender_cpu_us_per_message", delivery.senderCpuMicroseconds);
  measurement.figure("receiver_cpu_us_per_message", delivery.receiverCpuMicroseconds);
  const Delivery file = deliver(settings, Durability::powerCut);
  measurement.baseline("file_per_s", file.perSecond);
  measurement.ratio("per_s_over_file", delivery.perSecond, file.perSecond);
  const Delivery besideOpen = deliverFromDatabase(settings, true);
  measurement.figure("beside_open_transaction_per_s", besideOpen.perSecond);
  measurement.ratio("beside_open_transaction_over_without", besideOpen.perSecond, delivery.perSecond);
  return measurement;
}

Measurement postgresSessions(const Settings& settings) {
  const std::uint64_t count = settings.count != 0 ? settings.count : kMessagesOfSessions;
  const std::filesystem::path file = freshDatabase(settings.folder, "receiver");
  const PostgresDatabase database;
  Receiver receiver(file, Durability::powerCut);
  OutboxManager manager =
      OutboxManager::open(PostgresLocation{database.location()}, replicaOptions(receiver.url(), PeerProfile::native));
  enqueueAll(manager, count, kManySessions);
  std::array<std::unique_ptr<ChildProcess>, 4> replicas;
  const auto start = [&](std::size_t place) {
    replicas[place] = replica(database, receiver.url(), PeerProfile::native);
  };
  for (std::size_t place = 0; place < replicas.size(); ++place) {
    start(place);
  }
  const Steady::time_point begin = Steady::now();
  std::uint64_t kills = 0;
  for (std::uint64_t acked = 0; acked < count; acked = manager.getStats().acked) {
    if (Steady::now() - begin > std::chrono::minutes(10)) {
      throw std::runtime_error("not all messages are acknowledged after ten minutes");
    }
    if (acked * kKillsOfSessions > kills * count) {
      start(kills++ % replicas.size());
    }
    pass(std::chrono::milliseconds(10));
  }
  const double rate = perSecond(count, Steady::now() - begin);
  replicas = {};
  receiver.finish();
  verifyEffects(file, count);
  removeDatabase(file);
  const Delivery fromFile = deliver(settings, Durability::powerCut, {}, kManySessions);
  Measurement measurement;
  measurement.figure("per_s", rate);
  measurement.figure("kills", static_cast<double>(kills));
  measurement.baseline("file_per_s", fromFile.perSecond);
  measurement.ratio("per_s_over_file", rate, fromFile.perSecond);
  return measurement;
}

Measurement postgresReplicas(const Settings& settings) {
  Measurement measurement;
  Latencies news = newsLatencies(settings);
  addLatencies(measurement.figures, "enqueue_to_arrival", news);
  Latencies recovery = recoveryLatencies(settings);
  addLatencies(measurement.figures, "kill_to_arrival", recovery);
  const double one = slowlyDelivered(settings, 1);
  const double four = slowlyDelivered(settings, 4);
  measurement.baseline("one_process_slow_receiver_per_s", one);
  measurement.figure("four_processes_slow_receiver_per_s", four);
  measurement.ratio("four_processes_over_one", four, one);
  return measurement;
}

}  // namespace ackbox::bench
