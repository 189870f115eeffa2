#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>

#include "ackbox/deferred_frame.hpp"
#include "ackbox/router.hpp"
#include "integration/loopback_agent.hpp"
#include "support/inbound_request.hpp"

namespace ackbox::testing {

/// An agent that applies `quick` frames at once, and defers `slow` ones.
class Agent : public LoopbackAgent {
public:
  Agent(const std::filesystem::path& file, const std::string& name, std::chrono::milliseconds ackTimeout)
      : LoopbackAgent(file, name, 2) {
    options.ackTimeout = ackTimeout;
    router.on("quick", write);
    router.onDeferred("slow", [this](DeferredFrame frame) {
      frame.commit([this, frame](InboundTransaction& transaction) {
        write(frame.frame(), transaction);
        return frame.frame().data == "\"reject\"" ? HandlerResult::reject("no such order", "no-order")
                                                  : HandlerResult::ack("{\"by\":\"" + options.agent + "\"}");
      });
    });
  }
  ~Agent() { close(); }

  void knows(const std::string& name, const Agent& other, const std::string& agent) {
    options.peers.push_back({.name = name, .url = other.url(), .agent = agent, .secrets = sharedByAll()});
  }
  void open() {
    openManager();
    InboundOptions inbound;
    for (const char* agent : {"urn:agent:alice", "urn:agent:bob", "urn:agent:eve", "urn:agent:nobody"}) {
      if (agent != options.agent) {
        inbound.peers.push_back({.agents = {agent}, .secrets = sharedByAll(), .byCertificate = true});
      }
    }
    inbound.deferred.handler = router.deferredHandler();
    inbound.deferred.retry = retry;
    handler.emplace(*manager, router.frameHandler(), inbound);
  }
  void start(std::shared_ptr<Sender> sender = std::make_shared<HttpSender>()) {
    open();
    listen();
    speak(std::move(sender));
  }
  void close() {
    closeServer();
    closeManager();
  }
  /// Proved by a certificate of the event's source.
  InboundResponse post(const std::string& body) {
    InboundRequest request{"application/cloudevents+json", body, "w"};
    request.certificateAgents = {sourceOf(body)};
    return answerTo(*handler, std::move(request));
  }

  /// Of deferred frames.
  RetryPolicy retry;
  Router router;

private:
  static SecretSource sharedByAll() {
    return SecretSource::fixed({Secret("whsec_YWxsIGFsbCBhbGwgYWxsIGFsbCBhbGwgYWxsIGFsbCE=")});
  }
  static std::string sourceOf(const std::string& event) {
    const std::string key = R"("source":")";
    const std::size_t begin = event.find(key) + key.size();
    return event.substr(begin, event.find('"', begin) - begin);
  }
};

inline constexpr std::chrono::milliseconds kLong = std::chrono::hours(1);

struct Pair {
  explicit Pair(std::chrono::milliseconds ackTimeout = kLong)
      : alice(dir.file("alice.db"), "alice", ackTimeout), bob(dir.file("bob.db"), "bob", ackTimeout) {}
  void introduce() {
    alice.knows("bob", bob, "urn:agent:bob");
    bob.knows("alice", alice, "urn:agent:alice");
  }
  void open() {
    alice.start();
    bob.start();
  }

  TempDir dir;
  Agent alice;
  Agent bob;
};

}  // namespace ackbox::testing
