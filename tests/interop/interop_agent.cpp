// The ackbox side of the tests with independent peers: sends to one that listens, or serves one that posts.
//
//   interop_agent send PORT COUNT BATCH [PROFILE]     delivers COUNT frames in ten sessions to
//                                                     http://127.0.0.1:PORT/inbox, from a file of its own
//   interop_agent deliver FILE PORT COUNT PROFILE     the same from FILE, which may have some of them from an earlier
//                                                     life that was killed
//   interop_agent serve OWED                          prints its port and the ids of OWED messages that wait for an ACK
//                                                     event, serves until its input ends, prints what it counted
//
// PROFILE is native, webhook, cloudevents or cloudevents_binary. Secrets come from the environment:
// ACKBOX_INTEROP_SECRETS, the current one first.

#include <boost/asio/thread_pool.hpp>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/http_sender.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/inbound_server.hpp"
#include "ackbox/outbox_manager.hpp"
#include "support/scripted_sender.hpp"
#include "support/temp_dir.hpp"

namespace {

using namespace ackbox;

unsigned long long printable(std::uint64_t number) {
  return number;
}

PeerProfile profileNamed(const std::string& name) {
  const std::map<std::string, PeerProfile> profiles{{"native", PeerProfile::native},
                                                    {"webhook", PeerProfile::webhook},
                                                    {"cloudevents", PeerProfile::cloudevents},
                                                    {"cloudevents_binary", PeerProfile::cloudeventsBinary}};
  return profiles.at(name);
}

/// Ends when all of them have ended. Those that an earlier life enqueued are known by their keys.
int deliver(const std::filesystem::path& file, const std::string& port, std::uint64_t count, std::uint32_t batch,
            PeerProfile profile) {
  OutboxOptions options;
  options.agent = "urn:agent:ackbox";
  options.batchFrames = batch;
  PeerOptions peer;
  peer.name = "node";
  peer.url = "http://127.0.0.1:" + port + "/inbox";
  peer.agent = "urn:agent:node";
  peer.secrets = SecretSource::environment("ACKBOX_INTEROP_SECRETS");
  peer.profile = profile;
  options.peers.push_back(peer);
  // Answers that were tampered with, and kills, are followed by a question soon.
  options.peerHealth.probeDelays = {std::chrono::milliseconds(1)};
  OutboxManager outbox = OutboxManager::open(file, options);
  outbox.setSender(std::make_shared<HttpSender>());

  std::vector<Frame> frames;
  for (std::uint64_t index = 0; index < count; ++index) {
    Frame frame;
    frame.peer = "node";
    frame.session = "s" + std::to_string(index % 10);
    frame.type = "com.example.counted";
    frame.idempotencyKey = std::to_string(index);
    frame.data = "{\"number\": " + std::to_string(index) + ", \"session\": \"" + frame.session +
                 "\", \"text\": \"na\u00efve \\u2713 caf\u00e9\"}";
    frames.push_back(std::move(frame));
  }
  outbox.enqueueBatch(frames);
  // An event wakes; what has ended is what the file counts, as an earlier life may have settled some.
  std::mutex mutex;
  std::condition_variable woken;
  bool isNew = true;
  const auto wake = [&](const auto&) {
    const std::scoped_lock lock(mutex);
    isNew = true;
    woken.notify_all();
  };
  const Subscription acked = outbox.onAcked(wake);
  const Subscription failed = outbox.onFailed(wake);
  outbox.start();
  for (Stats stats = outbox.getStats(); stats.acked + stats.failed < count; stats = outbox.getStats()) {
    std::unique_lock lock(mutex);
    woken.wait(lock, [&] { return std::exchange(isNew, false); });
  }
  outbox.stop();
  const Stats stats = outbox.getStats();
  std::printf("{\"acked\":%llu,\"failed\":%llu,\"retries\":%llu}\n", printable(stats.acked), printable(stats.failed),
              printable(stats.totalRetries));
  return stats.acked == count ? 0 : 1;
}

int serve(std::uint64_t owed) {
  const testing::TempDir dir;
  OutboxOptions options;
  options.agent = "urn:agent:ackbox";
  PeerOptions peer;
  peer.name = "node";
  peer.agent = "urn:agent:node";
  peer.sender = testing::ScriptedSender::always(Outcome::defer);
  options.peers.push_back(peer);
  OutboxManager outbox = OutboxManager::open(dir.file("agent.db"), options);
  InboundOptions limits;
  InboundPeer node;
  node.agents = {"urn:agent:node"};
  node.secrets = SecretSource::environment("ACKBOX_INTEROP_SECRETS");
  limits.peers.push_back(node);
  limits.binaryMode = true;
  InboundHandler handler(
      outbox, [](const InboundFrame&, InboundTransaction&) { return HandlerResult::ack(); }, limits);
  boost::asio::thread_pool pool(1);
  InboundServerOptions place;
  place.compatibilityPath = "/message";
  InboundServer server(pool.get_executor(), handler, place);
  std::string ids;
  for (std::uint64_t number = 0; number < owed; ++number) {
    Frame frame;
    frame.peer = "node";
    frame.type = "com.example.owed";
    ids += (ids.empty() ? "" : " ") + outbox.enqueue(frame).messageId;
  }
  outbox.processAll();
  std::printf("{\"port\":%u,\"owed\":\"%s\"}\n", static_cast<unsigned>(server.port()), ids.c_str());
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  server.stop();
  pool.stop();
  pool.join();
  const Stats stats = outbox.getStats();
  std::printf("{\"received\":%llu,\"duplicates\":%llu,\"acked\":%llu}\n", printable(stats.received),
              printable(stats.duplicates), printable(stats.acked));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  try {
    if ((words.size() == 4 || words.size() == 5) && words[0] == "send") {
      const testing::TempDir dir;
      return deliver(dir.file("agent.db"), words[1], std::stoull(words[2]),
                     static_cast<std::uint32_t>(std::stoul(words[3])),
                     profileNamed(words.size() == 5 ? words[4] : "native"));
    }
    if (words.size() == 5 && words[0] == "deliver") {
      return deliver(words[1], words[2], std::stoull(words[3]), 1, profileNamed(words[4]));
    }
    if (words.size() == 2 && words[0] == "serve") {
      return serve(std::stoull(words[1]));
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "interop_agent: %s\n", error.what());
    return 1;
  }
  std::fprintf(stderr,
               "usage: interop_agent send PORT COUNT BATCH [PROFILE] | deliver FILE PORT COUNT PROFILE | serve OWED\n");
  return 2;
}
