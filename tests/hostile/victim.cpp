#include "hostile/victim.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"

#include <future>
#include <stdexcept>
#include <thread>
#include <utility>

namespace ackbox::testing {

namespace {

std::uint64_t ackedByBob(const OutboxManager& manager) {
  for (const PeerStats& peer : OutboxReader(manager).peerStats()) {
    if (peer.peer == "bob") {
      return peer.acked;
    }
  }
  return 0;
}

}  // namespace

/// Passes requests on, and keeps the report of the first one to mallory.
class Victim::Watched final : public Sender {
public:
  explicit Watched(std::promise<SendReport>& seen) : seen_(seen) {}

  [[nodiscard]] std::uint32_t initialCredit() const override { return inner_.initialCredit(); }
  void usePeers(std::span<const PeerOptions> peers) override { inner_.usePeers(peers); }
  void start(const boost::asio::any_io_executor& executor) override { inner_.start(executor); }
  void stop() override { inner_.stop(); }
  void asyncSend(SendRequest request, SendHandler handler) override {
    const bool isLiedTo = request.peer == "mallory" && !std::exchange(isSeen_, request.peer == "mallory" || isSeen_);
    inner_.asyncSend(std::move(request), [this, isLiedTo, handler = std::move(handler)](SendReport report) {
      const SendReport copy = report;
      handler(std::move(report));
      if (isLiedTo) {
        seen_.set_value(copy);
      }
    });
  }

private:
  HttpSender inner_;
  std::promise<SendReport>& seen_;
  bool isSeen_ = false;
};

Victim::Victim(std::chrono::milliseconds timeout) : timeout_(timeout) {}

Victim::~Victim() = default;

void Victim::speakToBob() {
  Frame frame;
  frame.peer = "bob";
  frame.session = "honest";
  frame.type = "test";
  frame.data = "{}";
  const std::uint64_t before = ackedByBob(*manager_);
  if (!manager_->enqueue(frame).isNew()) {
    throw std::runtime_error("the message to bob was refused");
  }
  while (ackedByBob(*manager_) == before) {
    std::this_thread::yield();
  }
}

Ending Victim::face(const std::function<void(RawConnection&, const std::string&)>& script) {
  std::promise<SendReport> seen;
  RawServer mallory({[&](RawConnection& connection) {
    const std::string request = connection.receiveMessage();
    speakToBob();
    script(connection, request);
  }});
  OutboxOptions options;
  options.agent = "urn:agent:alice";
  options.requestTimeout = timeout_;
  // Not so soon that mallory is asked again before the test has looked; soon enough for bob, should the machine once be
  // too slow for him.
  options.peerHealth.probeDelays = {std::chrono::seconds(1)};
  options.retry.delays = {std::chrono::hours(1)};
  PeerOptions liar;
  liar.name = "mallory";
  liar.url = mallory.url();
  PeerOptions honest;
  honest.name = "bob";
  honest.url = bob_.url();
  honest.agent = "urn:agent:bob";
  honest.secrets = Target::alicesSecret();
  options.peers = {liar, honest};
  manager_ = std::make_unique<OutboxManager>(OutboxManager::open(directory_.file("alice.db"), options));
  manager_->setSender(std::make_shared<Watched>(seen));
  Frame frame;
  frame.peer = "mallory";
  frame.session = "lies";
  frame.type = "test";
  frame.data = "{}";
  messageId_ = manager_->enqueue(frame).messageId;
  manager_->start();
  Ending ending;
  ending.report = seen.get_future().get();
  // It is claimed until its report was taken in.
  for (ending.stats = manager_->getStats(); ending.stats.sending > 0; ending.stats = manager_->getStats()) {
    std::this_thread::yield();
  }
  manager_->stop();
  if (const std::string failure = mallory.finish(); !failure.empty()) {
    throw std::runtime_error("mallory's script: " + failure);
  }
  manager_.reset();
  return ending;
}

bool isKept(const Ending& ending) {
  return ending.stats.pending == 1 && ending.stats.acked == 1 && ending.stats.failedTotal == 0 &&
         ending.stats.sending + ending.stats.sent == 0;
}

std::string answerOf(const std::string& body, const std::string& contentType, const std::string& headers) {
  return "HTTP/1.1 200 OK\r\nContent-Type: " + contentType + "\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string ackOf(const std::string& messageId) {
  return R"({"outbox":"1","delivery":")" + messageId + R"(","store":"s","results":[{"id":")" + messageId +
         R"(","outcome":"ack"}]})";
}

}  // namespace ackbox::testing
