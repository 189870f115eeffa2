// What the daemon costs above the library: the same work through its HTTP surface and by calls, in turns in the same
// run. The caller's own share of HTTP, which is Beast's blocking calls on the same two cores, is in the daemon's
// figures. Its peer is away, so that nothing else moves.

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/deferred_frame.hpp"
#include "ackbox/http_sender.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/inbound_server.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/pull.hpp"
#include "base/own_thread.hpp"
#include "bench/crowd.hpp"
#include "bench/daemon.hpp"
#include "bench/operation.hpp"
#include "bench/scratch.hpp"
#include "bench/workload.hpp"
#include "transport/http_server.hpp"

namespace ackbox::bench {
namespace {

using nlohmann::json;
using std::chrono::steady_clock;

constexpr const char* kPeer = "bench";
// Nobody listens there: connections are refused at once.
constexpr const char* kAwayUrl = "http://127.0.0.1:1/";
constexpr const char* kAwayConfig =
    R"({"agent":"urn:ackbox:bench:sender","peers":[{"name":"bench","url":"http://127.0.0.1:1/"}]})";
constexpr std::size_t kArrayMessages = 100;
constexpr unsigned kServeConnections = 64;
constexpr unsigned kArrayConnections = 4;
constexpr std::uint64_t kPushes = 20'000;
constexpr std::uint32_t kPushesAtOnce = 64;
constexpr std::size_t kWindow = 64;
constexpr std::uint64_t kHandOvers = 100;
constexpr std::size_t kLooksAView = 200;

Frame peerFrame(std::uint64_t number, std::uint64_t sessions = kSessions) {
  Frame frame = frameOf(number, sessions);
  frame.peer = kPeer;
  return frame;
}

OutboxOptions awayOptions() {
  OutboxOptions options = outboxOptions(Durability::powerCut);
  options.peers = {{.name = kPeer, .url = kAwayUrl}};
  options.stopTimeout = std::chrono::milliseconds(0);
  return options;
}

std::string textOf(const Frame& frame) {
  return R"({"peer":"bench","session":")" + frame.session + R"(","type":")" + frame.type + R"(","data":)" + frame.data +
         "}";
}

std::string arrayText(std::uint64_t first) {
  std::string text = "[";
  for (std::size_t index = 0; index < kArrayMessages; ++index) {
    text += (index == 0 ? "" : ",") + textOf(peerFrame(first + index));
  }
  return text + "]";
}

void requireStored(const std::vector<EnqueueReceipt>& receipts) {
  for (const EnqueueReceipt& receipt : receipts) {
    if (!receipt.isNew()) {
      throw std::runtime_error("an enqueue was refused: " + receipt.detail);
    }
  }
}

template <typename Work>
void timeInto(Latencies& latencies, const Work& work) {
  const auto start = steady_clock::now();
  work();
  latencies.add(steady_clock::now() - start);
}

Rate daemonCrowd(const Settings& settings, const std::string& socketFile, unsigned connections, bool isArrays) {
  const std::uint64_t messages = isArrays ? kArrayMessages : 1;
  Rate rate =
      crowd(settings, connections, [&](Budget& budget, std::atomic<std::uint64_t>& numbers, Latencies& latencies) {
        DaemonClient client(socketFile);
        while (budget.take(messages)) {
          const std::uint64_t number = numbers.fetch_add(messages);
          const std::string body = isArrays ? arrayText(number) : textOf(peerFrame(number));
          timeInto(latencies, [&] { client.post("/v1/messages", body, isArrays ? 200 : 201); });
        }
      });
  rate.perSecond *= static_cast<double>(messages);
  return rate;
}

Rate callCrowd(const Settings& settings, OutboxManager& manager, unsigned threads, bool isArrays) {
  const std::uint64_t messages = isArrays ? kArrayMessages : 1;
  Rate rate = crowd(settings, threads, [&](Budget& budget, std::atomic<std::uint64_t>& numbers, Latencies& latencies) {
    while (budget.take(messages)) {
      const std::uint64_t number = numbers.fetch_add(messages);
      std::vector<Frame> frames;
      for (std::uint64_t index = 0; index < messages; ++index) {
        frames.push_back(peerFrame(number + index));
      }
      timeInto(latencies, [&] {
        requireStored(isArrays ? manager.enqueueBatch(frames)
                               : std::vector<EnqueueReceipt>{manager.enqueue(std::move(frames.front()))});
      });
    }
  });
  rate.perSecond *= static_cast<double>(messages);
  return rate;
}

/// One caller, the daemon and the library in turns.
void compareSingle(Measurement& measurement, const Settings& settings, const std::string& socketFile,
                   OutboxManager& manager) {
  DaemonClient client(socketFile);
  Latencies served;
  Latencies called;
  std::uint64_t number = 0;
  for (Budget budget(settings); budget.take(2);) {
    const Frame frame = peerFrame(number++);
    const std::string body = textOf(frame);
    timeInto(served, [&] { client.post("/v1/messages", body, 201); });
    timeInto(called, [&] { requireStored({manager.enqueue(frame)}); });
  }
  measurement.figure("single_above_in_process_p50_us", served.percentile(0.5) - called.percentile(0.5));
  measurement.ratio("single_p50_over_in_process", served.percentile(0.5), called.percentile(0.5));
  addLatencies(measurement.figures, "single", served);
  addLatencies(measurement.baselines, "in_process_single", called);
}

/// Counts what it is given, and says when it has all; throws at a repetition.
class Arrivals {
public:
  explicit Arrivals(std::uint64_t wanted) : wanted_(wanted) {}

  void add(const std::string& id) {
    const std::scoped_lock lock(mutex_);
    if (ids_.empty()) {
      began_ = steady_clock::now();
    }
    repeated_ = repeated_ || !ids_.insert(id).second;
    if (ids_.size() == wanted_) {
      ended_ = steady_clock::now();
      complete_.notify_all();
    }
  }
  [[nodiscard]] double awaitRate() {
    std::unique_lock lock(mutex_);
    if (!complete_.wait_for(lock, std::chrono::minutes(2), [this] { return ids_.size() >= wanted_; })) {
      throw std::runtime_error("only " + std::to_string(ids_.size()) + " frames were handled");
    }
    if (repeated_) {
      throw std::runtime_error("a frame was handled twice");
    }
    return perSecond(wanted_, ended_ - began_);
  }

private:
  const std::uint64_t wanted_;
  std::mutex mutex_;
  std::condition_variable complete_;
  std::set<std::string> ids_;
  steady_clock::time_point began_;
  steady_clock::time_point ended_;
  bool repeated_ = false;
};

/// A sender with frames for an inbox, which begins at once.
class FullSender {
public:
  FullSender(const Settings& settings, const std::string& url, std::uint64_t frames)
      : file_(freshDatabase(settings.folder, "sender")), manager_(OutboxManager::open(file_, optionsFor(url))) {
    add(frames);
    manager_.setSender(std::make_shared<HttpSender>());
    manager_.start();
  }
  ~FullSender() {
    manager_.stop();
    removeDatabase(file_);
  }
  FullSender(const FullSender&) = delete;
  FullSender& operator=(const FullSender&) = delete;

  void add(std::uint64_t frames) {
    std::vector<Frame> batch;
    for (std::uint64_t index = 0; index < frames; ++index) {
      batch.push_back(peerFrame(number_++));
    }
    requireStored(manager_.enqueueBatch(batch));
  }

private:
  static OutboxOptions optionsFor(const std::string& url) {
    OutboxOptions options = awayOptions();
    options.peers.front().url = url;
    options.log = [](const LogRecord&) {};
    return options;
  }

  const std::filesystem::path file_;
  OutboxManager manager_;
  std::uint64_t number_ = 0;
};

double pushedPerSecond(const Settings& settings, std::uint64_t frames) {
  OwnThread thread([](const std::string&) {});
  Arrivals arrivals(frames);
  transport::RequestSink sink;
  sink.bodyBytesMax = std::size_t{1} << 20;
  sink.handle = [&](InboundRequest request, const transport::RequestSink::Respond& respond) {
    arrivals.add(request.webhookId);
    InboundResponse response;
    response.authenticated = true;
    response.status = 204;
    respond(std::move(response));
  };
  InboundServerOptions options;
  options.path = "/";
  const auto application = std::make_shared<transport::HttpServer>(thread.executor(), options, std::move(sink));
  application->start();
  const json deliver = json::array({{{"url", application->url()}}});
  const json inbox = {
      {"listen", "127.0.0.1:0"}, {"allow_anonymous", true}, {"concurrency", kPushesAtOnce}, {"deliver", deliver}};
  const std::filesystem::path file = freshDatabase(settings.folder, "pushed");
  double rate = 0;
  {
    Daemon daemon(file, json{{"agent", kReceiverAgent}, {"inbox", inbox}}.dump());
    const FullSender sender(settings, daemon.inboxUrl(), frames);
    rate = arrivals.awaitRate();
    daemon.finish();
  }
  application->stop();
  thread.end();
  removeDatabase(file);
  return rate;
}

/// What stands in `line` behind `name` as a member that is a text; throws where there is none.
std::string memberOf(const std::string& line, const std::string& name) {
  const std::string key = "\"" + name + "\":\"";
  const std::size_t found = line.find(key);
  if (found == std::string::npos) {
    throw std::runtime_error("no " + name + " in " + line);
  }
  const std::size_t begin = found + key.size();
  return line.substr(begin, line.find('"', begin) - begin);
}

/// Acknowledges the frames of `lines`.
void acknowledge(DaemonClient& client, const std::vector<std::string>& lines) {
  std::string body = R"({"settlements":[)";
  for (const std::string& line : lines) {
    body +=
        (body.ends_with('[') ? "" : ",") + (R"({"receipt":")" + memberOf(line, "receipt")) + R"(","outcome":"ack"})";
  }
  const std::string answer = client.post("/v1/inbox/settle", body + "]}", 200);
  if (answer.find("\"gone\"") != std::string::npos) {
    throw std::runtime_error("a frame was not its stream's any more");
  }
}

/// One application with a stream and a connection to settle by, which acknowledges what has come, in arrays.
double pulledPerSecond(const Settings& settings, std::uint64_t frames) {
  Arrivals arrivals(frames);
  const json inbox = {{"listen", "127.0.0.1:0"}, {"allow_anonymous", true}, {"pull", json::array({"*"})}};
  const std::filesystem::path file = freshDatabase(settings.folder, "pulled");
  double rate = 0;
  {
    Daemon daemon(file, json{{"agent", kReceiverAgent}, {"inbox", inbox}}.dump());
    DaemonStream stream(daemon.socketFile(), "/v1/inbox/stream?window=1024");
    DaemonClient client(daemon.socketFile());
    const FullSender sender(settings, daemon.inboxUrl(), frames);
    for (std::uint64_t settled = 0; settled < frames;) {
      std::vector<std::string> lines;
      stream.take(lines, kArrayMessages);
      acknowledge(client, lines);
      for (const std::string& line : lines) {
        arrivals.add(memberOf(line, "id"));
      }
      settled += lines.size();
    }
    rate = arrivals.awaitRate();
    daemon.finish();
  }
  removeDatabase(file);
  return rate;
}

/// A window's frames, all at once.
std::vector<std::string> takeWindow(DaemonStream& stream) {
  std::vector<std::string> lines;
  while (lines.size() < kWindow) {
    stream.take(lines, kWindow);
  }
  return lines;
}

double handledPerSecond(const Settings& settings, std::uint64_t frames) {
  Arrivals arrivals(frames);
  const std::filesystem::path file = freshDatabase(settings.folder, "handled");
  double rate = 0;
  {
    OutboxOptions receiving = outboxOptions(Durability::powerCut);
    receiving.agent = kReceiverAgent;
    receiving.adoptPeers = true;
    receiving.log = [](const LogRecord&) {};
    OutboxManager manager = OutboxManager::open(file, receiving);
    InboundOptions options;
    options.allowAnonymous = true;
    options.deferred.concurrency = kPushesAtOnce;
    options.deferred.handler = [&](DeferredFrame frame) {
      arrivals.add(frame.frame().id);
      frame.finish(HandlerResult::ack());
    };
    InboundHandler handler(
        manager, [](const InboundFrame&, InboundTransaction&) { return HandlerResult::defer(); }, options);
    InboundServer server(handler);
    const FullSender sender(settings, server.url(), frames);
    rate = arrivals.awaitRate();
    server.stop();
  }
  removeDatabase(file);
  return rate;
}

/// An outbox whose peer is away, with rows that wait and dead letters.
std::filesystem::path filledFile(const Settings& settings, std::uint64_t live, std::uint64_t dead) {
  const std::filesystem::path file =
      settings.folder / ("served-" + std::to_string(live) + "-" + std::to_string(dead) + ".db");
  if (std::filesystem::exists(file)) {
    return file;
  }
  constexpr std::uint64_t kSlice = 5'000;
  OutboxManager manager = OutboxManager::open(file, awayOptions());
  const auto enqueue = [&](std::uint64_t rows) {
    for (std::uint64_t number = 0; number < rows;) {
      std::vector<Frame> frames;
      for (; number < rows && frames.size() < kSlice; ++number) {
        frames.push_back(peerFrame(number, 10'000));
      }
      requireStored(manager.enqueueBatch(frames));
    }
  };
  enqueue(dead);
  while (manager.getStats().failed < dead) {
    std::vector<ClaimResult> results;
    for (const Claim& claim : PullConsumer(manager).claim(kSlice)) {
      results.push_back({claim.token, {}});
      results.back().result.outcome = Outcome::term;
    }
    static_cast<void>(PullConsumer(manager).settleAll(results));
  }
  enqueue(live);
  return file;
}

/// What is asked for. `target` may end in the id of a dead letter, which is put behind it.
struct View {
  const char* name;
  const char* target;
  bool isOfMessage = false;
};

constexpr std::array kViews = {
    View{"stats", "/v1/stats"},
    View{"metrics", "/metrics"},
    View{"peers", "/v1/peers"},
    View{"messages", "/v1/messages?limit=100"},
    View{"failed_messages", "/v1/messages?state=failed&limit=100"},
    View{"messages_of_session", "/v1/messages?peer=bench&session=session-77&limit=100"},
    View{"dead_letters", "/v1/dead-letters?limit=100"},
    View{"dead_letters_of_reason", "/v1/dead-letters?reason=rejected&limit=100"},
    View{"dead_letters_of_other_reason", "/v1/dead-letters?reason=other&limit=100"},
    View{"sessions", "/v1/sessions?limit=100"},
    View{"inbox", "/v1/inbox?limit=100"},
    View{"message", "/v1/messages/", true},
    View{"page_overview", "/"},
    View{"page_peers", "/peers"},
    View{"page_dead_letters", "/dead-letters"},
    View{"page_messages", "/messages"},
    View{"page_failed_messages", "/messages?state=failed"},
    View{"page_messages_of_session", "/messages?peer=bench&session=session-77"},
    View{"page_message", "/messages/", true},
    View{"page_sessions", "/sessions"},
    View{"page_inbox", "/inbox"},
    View{"page_doctor", "/doctor"},
};

/// Asks a daemon for views.
class Onlooker {
public:
  explicit Onlooker(const std::string& socketFile) : client_(socketFile) {}

  void look(const View& view) {
    if (view.isOfMessage && deadLetter_.empty()) {
      const json page = json::parse(client_.get("/v1/dead-letters?limit=1"));
      deadLetter_ = page.at("messages").empty() ? "" : page.at("messages").at(0).at("message_id").get<std::string>();
    }
    if (!view.isOfMessage || !deadLetter_.empty()) {
      client_.get(view.target + (view.isOfMessage ? deadLetter_ : std::string()));
    }
  }

private:
  DaemonClient client_;
  // Empty: it is not known, or there is none.
  std::string deadLetter_;
};

struct Rows {
  std::uint64_t large;
  std::uint64_t small;
};

Rows rowsOf(const Settings& settings) {
  return settings.count == 0 ? Rows{1'000'000, 1'000} : Rows{2'000, 100};
}

/// `perSecond(settings, frames)`, beside a deferred handler in process.
Measurement besideHandler(const Settings& settings, const std::string& name,
                          double (*perSecond)(const Settings&, std::uint64_t)) {
  const std::uint64_t frames = settings.count == 0 ? kPushes : settings.count;
  const double served = perSecond(settings, frames);
  const double handled = handledPerSecond(settings, frames);
  Measurement measurement;
  measurement.figure(name + "_per_s", served);
  measurement.baseline("in_process_per_s", handled);
  measurement.ratio(name + "_over_in_process", served, handled);
  return measurement;
}

}  // namespace

Measurement serveEnqueue(const Settings& settings) {
  Measurement measurement;
  const std::filesystem::path served = freshDatabase(settings.folder, "served");
  const std::filesystem::path called = freshDatabase(settings.folder, "called");
  {
    Daemon daemon(served, kAwayConfig);
    OutboxManager manager = OutboxManager::open(called, awayOptions());
    compareSingle(measurement, settings, daemon.socketFile(), manager);
    const auto compare = [&](const std::string& name, unsigned connections, bool isArrays) {
      Rate ours = daemonCrowd(settings, daemon.socketFile(), connections, isArrays);
      const Rate theirs = callCrowd(settings, manager, connections, isArrays);
      measurement.figure(name + "_per_s", ours.perSecond);
      measurement.baseline("in_process_" + name + "_per_s", theirs.perSecond);
      measurement.ratio(name + "_over_in_process", ours.perSecond, theirs.perSecond);
      addLatencies(measurement.figures, name, ours.latencies);
    };
    compare("64_connections", kServeConnections, false);
    compare("arrays_of_100", kArrayConnections, true);
    daemon.finish();
  }
  removeDatabase(served);
  removeDatabase(called);
  return measurement;
}

Measurement servePush(const Settings& settings) {
  return besideHandler(settings, "single", pushedPerSecond);
}

Measurement servePull(const Settings& settings) {
  return besideHandler(settings, "arrays_of_100", pulledPerSecond);
}

Measurement serveHandOver(const Settings& settings) {
  const std::uint64_t turns = settings.count == 0 ? kHandOvers : std::min(settings.count, kHandOvers);
  const json inbox = {{"listen", "127.0.0.1:0"}, {"allow_anonymous", true}, {"pull", json::array({"*"})}};
  const std::filesystem::path file = freshDatabase(settings.folder, "handed-over");
  Latencies handedOver;
  Latencies sent;
  {
    Daemon daemon(file, json{{"agent", kReceiverAgent}, {"inbox", inbox}}.dump());
    const std::string target = "/v1/inbox/stream?window=" + std::to_string(kWindow);
    DaemonClient client(daemon.socketFile());
    FullSender sender(settings, daemon.inboxUrl(), 0);
    for (std::uint64_t turn = 0; turn < turns; ++turn) {
      std::optional<DaemonStream> stream;
      stream.emplace(daemon.socketFile(), target);
      timeInto(sent, [&] {
        sender.add(kWindow);
        takeWindow(*stream);
      });
      DaemonStream next(daemon.socketFile(), target);
      std::vector<std::string> lines;
      timeInto(handedOver, [&] {
        stream.reset();
        lines = takeWindow(next);
      });
      acknowledge(client, lines);
    }
    daemon.finish();
  }
  removeDatabase(file);
  Measurement measurement;
  addLatencies(measurement.figures, "closed_stream_to_another", handedOver);
  addLatencies(measurement.baselines, "enqueued_to_stream", sent);
  measurement.ratio("closed_over_enqueued_p50", handedOver.percentile(0.5), sent.percentile(0.5));
  return measurement;
}

Measurement serveMemory(const Settings& settings) {
  const auto peak = [&](std::uint64_t rows) {
    Daemon daemon(filledFile(settings, rows, 0), kAwayConfig);
    Onlooker onlooker(daemon.socketFile());
    for (const View& view : kViews) {
      onlooker.look(view);
    }
    const double mebibytes = daemon.peakMebibytes();
    daemon.finish();
    return mebibytes;
  };
  const Rows rows = rowsOf(settings);
  Measurement measurement;
  const double small = peak(rows.small);
  const double large = peak(rows.large);
  measurement.figure("backlog_of_" + std::to_string(rows.large) + "_mib", large);
  measurement.baseline("backlog_of_" + std::to_string(rows.small) + "_mib", small);
  measurement.ratio("large_over_small", large, small);
  return measurement;
}

Measurement serveViews(const Settings& settings) {
  const Rows rows = rowsOf(settings);
  Daemon small(filledFile(settings, rows.small, rows.small), kAwayConfig);
  Daemon large(filledFile(settings, rows.large, rows.large), kAwayConfig);
  Onlooker smallOnlooker(small.socketFile());
  Onlooker largeOnlooker(large.socketFile());
  Measurement measurement;
  for (const View& view : kViews) {
    Latencies inSmall;
    Latencies inLarge;
    // At least as many as a p99 needs, however slow a view is.
    const std::size_t least = settings.count == 0 ? kLooksAView : 0;
    std::size_t turns = 0;
    for (Budget budget(settings); budget.take() || turns < least; ++turns) {
      timeInto(inSmall, [&] { smallOnlooker.look(view); });
      timeInto(inLarge, [&] { largeOnlooker.look(view); });
    }
    measurement.ratio(std::string(view.name) + "_large_over_small_p50", inLarge.percentile(0.5),
                      inSmall.percentile(0.5));
    addLatencies(measurement.figures, view.name, inLarge);
    addLatencies(measurement.baselines, std::string("small_") + view.name, inSmall);
  }
  small.finish();
  large.finish();
  return measurement;
}

}  // namespace ackbox::bench
