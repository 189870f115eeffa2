// Goal: deferred handlers that complete, progress and let go of their frames while the inbox is destroyed and made anew
// keep P5: each frame takes effect once, and none is charged for a shutdown.
// Method: two agents in one process, alice's sender hands requests to bob's inbox; bob's handlers think on threads of
// their own and commit from there; his inbox goes and comes back many times meanwhile, and both managers stop and
// start.

#include <SQLiteCpp/SQLiteCpp.h>

#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "ackbox/deferred_frame.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/outbox_manager.hpp"
#include "protocol/wire.hpp"
#include "race/check.hpp"
#include "support/scripted_sender.hpp"
#include "support/temp_dir.hpp"

namespace {

using namespace ackbox;

constexpr std::uint64_t kFrames = 120;

/// Bob's inbox, which goes away now and then.
class Inbox {
public:
  explicit Inbox(OutboxManager& manager) : manager_(manager) { make(); }
  ~Inbox() { join(); }
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  void make() {
    InboundOptions options{.allowAnonymous = true};
    options.deferred.handler = [this](DeferredFrame frame) { think(std::move(frame)); };
    options.deferred.retry.maxRetries = 0;
    const std::scoped_lock lock(mutex_);
    handler_.emplace(
        manager_, [](const InboundFrame&, InboundTransaction&) { return HandlerResult::defer(); }, options);
  }
  void destroy() {
    const std::scoped_lock lock(mutex_);
    handler_.reset();
  }
  void join() {
    std::vector<std::thread> thinkers;
    {
      const std::scoped_lock lock(thinkersMutex_);
      thinkers.swap(thinkers_);
    }
    for (std::thread& thinker : thinkers) {
      thinker.join();
    }
  }

  SendReport take(const SendRequest& request) {
    const protocol::EncodedRequest encoded = protocol::encodeRequest(request, "delivery");
    InboundRequest inbound;
    inbound.contentType = encoded.contentType;
    inbound.body = encoded.body;
    inbound.webhookId = encoded.webhookId;
    InboundResponse answer;
    const auto promised = std::make_shared<std::promise<InboundResponse>>();
    {
      const std::scoped_lock lock(mutex_);
      if (!handler_) {
        return {};
      }
      handler_->asyncHandle(inbound,
                            [promised](InboundResponse response) { promised->set_value(std::move(response)); });
      answer = promised->get_future().get();
    }
    return protocol::readAnswer(request, encoded.webhookId, answer.status, answer.contentType, "", answer.body);
  }

private:
  // The handler returns at once; a thread of its own has the frame, and may have it still when the inbox has gone.
  void think(DeferredFrame frame) {
    const std::scoped_lock lock(thinkersMutex_);
    thinkers_.emplace_back([kept = std::move(frame)]() mutable {
      (void)kept.progress();
      (void)kept.commit([id = kept.frame().id](InboundTransaction& transaction) {
        SQLite::Statement effect(transaction.database(), "INSERT INTO effects VALUES (?)");
        effect.bind(1, id);
        effect.exec();
        return HandlerResult::ack();
      });
      (void)kept.stopRequested();
    });
  }

  OutboxManager& manager_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::optional<InboundHandler> handler_;
  std::mutex thinkersMutex_;
  // Guarded by thinkersMutex_.
  std::vector<std::thread> thinkers_;
};

}  // namespace

int main() {
  testing::TempDir dir;
  OutboxOptions bobs{.agent = "urn:agent:bob"};
  bobs.stopTimeout = std::chrono::milliseconds(1);
  OutboxManager bob = OutboxManager::open(dir.file("bob.db"), bobs);
  SQLite::Database(dir.file("bob.db").string(), SQLite::OPEN_READWRITE, 5'000).exec("CREATE TABLE effects(id TEXT)");
  Inbox inbox(bob);

  OutboxOptions options{.agent = "urn:agent:alice"};
  options.ackTimeout = std::chrono::milliseconds(20);
  options.retry.maxRetries = 1'000'000;
  options.retry.delays = {std::chrono::milliseconds(5)};
  options.peerHealth.probeDelays = {std::chrono::milliseconds(5)};
  OutboxManager alice = OutboxManager::open(dir.file("alice.db"), options);
  alice.setSender(
      std::make_shared<testing::ScriptedSender>([&](const SendRequest& request) { return inbox.take(request); }));
  alice.start();
  for (std::uint64_t number = 0; number < kFrames; ++number) {
    Frame frame;
    frame.session = std::to_string(number % 6);
    frame.type = "race.event";
    race::check(alice.enqueue(frame).isNew(), "an enqueue stores");
  }
  while (alice.getStats().acked + alice.getStats().failed < kFrames) {
    inbox.destroy();
    inbox.make();
    alice.stop();
    alice.start();
    inbox.join();
  }
  alice.stop();
  inbox.destroy();
  inbox.join();
  race::check(alice.getStats().failed == 0, "a shutdown costs no frame its only try");
  SQLite::Database bobsFile(dir.file("bob.db").string(), SQLite::OPEN_READONLY);
  race::check(bobsFile.execAndGet("SELECT count(DISTINCT id) FROM effects").getInt() == kFrames, "all took effect");
  race::check(bobsFile.execAndGet("SELECT count(*) FROM effects").getInt() == kFrames, "each took effect once");
}
