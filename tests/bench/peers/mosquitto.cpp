// mosquitto with the Paho C++ client: QoS 1, sessions that outlive connections, the client's messages in files until
// they are acknowledged. Paho never syncs these files, so that they are as durable in memory as anywhere, and nothing
// but Paho is measured: ext4 without a journal, for one, takes ever longer to make a file where many were deleted. It
// acknowledges a message to the broker when it arrives, before the receiver sees it; the
// receiver cannot wait for its own commit. A message counts as acknowledged here when its effect is on disk.

#include <mqtt/async_client.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <semaphore>
#include <stdexcept>
#include <string>

#include "bench/peers/peer.hpp"

namespace ackbox::bench::peers {
namespace {

constexpr int kAtLeastOnce = 1;
constexpr std::string_view kTopicPrefix = "messages/";
constexpr const char* kTopics = "messages/+";

std::string url(const Server& server) {
  return "tcp://" + server.host + ":" + std::to_string(server.port);
}

std::string folder(const Server& server, const std::string& name) {
  const std::filesystem::path made = server.memoryFolder / name;
  std::filesystem::create_directories(made);
  return made.string();
}

mqtt::create_options createOptions() {
  // Else 100.
  constexpr int kBuffered = 2 * static_cast<int>(kWindow);
  return {MQTTVERSION_3_1_1, kBuffered};
}

mqtt::connect_options connectOptions() {
  mqtt::connect_options options;
  options.set_clean_session(false);
  options.set_max_inflight(static_cast<int>(kWindow));
  return options;
}

class MosquittoProducer : public Producer, private mqtt::iaction_listener {
public:
  explicit MosquittoProducer(const Server& server)
      : client_(url(server), "sender", createOptions(), folder(server, "sender")) {
    client_.connect(connectOptions())->wait();
  }

  void publish(const Message& message) override {
    window_.acquire();
    client_.publish(std::string(kTopicPrefix) + message.session, message.data.data(), message.data.size(), kAtLeastOnce,
                    false, nullptr, *this);
  }

  void drain() override {
    for (std::size_t permit = 0; permit < kWindow; ++permit) {
      window_.acquire();
    }
    window_.release(static_cast<std::ptrdiff_t>(kWindow));
    if (refused_ != 0) {
      throw std::runtime_error("publishes were refused");
    }
  }

private:
  void on_success(const mqtt::token& /*token*/) override { window_.release(); }

  void on_failure(const mqtt::token& /*token*/) override {
    ++refused_;
    window_.release();
  }

  std::atomic<std::uint64_t> refused_{0};
  std::counting_semaphore<> window_{static_cast<std::ptrdiff_t>(kWindow)};
  // Last, so that it ends before what its callbacks use.
  mqtt::async_client client_;
};

class MosquittoConsumer : public Consumer {
public:
  explicit MosquittoConsumer(const Server& server)
      : client_(url(server), "receiver", createOptions(), folder(server, "receiver")) {
    client_.start_consuming();
    client_.connect(connectOptions())->wait();
    client_.subscribe(kTopics, kAtLeastOnce)->wait();
  }

  std::size_t consume(Effects& effects) override {
    mqtt::const_message_ptr message;
    if (!client_.try_consume_message_for(&message, std::chrono::milliseconds(kPollMilliseconds))) {
      return 0;
    }
    std::size_t count = 0;
    effects.begin();
    do {
      if (!message) {
        throw std::runtime_error("the connection to mosquitto is lost");
      }
      effects.add({message->get_topic().substr(kTopicPrefix.size()), message->get_payload_str()});
    } while (++count < kBatch && client_.try_consume_message(&message));
    effects.commit();
    return count;
  }

private:
  mqtt::async_client client_;
};

}  // namespace
}  // namespace ackbox::bench::peers

int main(int argc, char** argv) {
  using namespace ackbox::bench::peers;
  return runPeer(argc, argv,
                 {[](const Server& server) { return std::make_unique<MosquittoProducer>(server); },
                  [](const Server& server) { return std::make_unique<MosquittoConsumer>(server); }});
}
