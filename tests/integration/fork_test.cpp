// Goal: a fork of a process that has an outbox open harms neither side: the child is refused with an error that names
// both processes and the remedy, what it destroys is nobody's loss, and nothing of the parent outlives the parent.
// Method: real forks of the test, of which each child writes one text into a pipe and ends without cleaning up.

#include <SQLiteCpp/Database.h>
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <utility>

#include "ackbox/error.hpp"
#include "ackbox/http_sender.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/inbound_server.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_operator.hpp"
#include "ackbox/outbox_reader.hpp"
#include "ackbox/outbox_writer.hpp"
#include "ackbox/pull.hpp"
#include "support/asleep.hpp"
#include "support/temp_dir.hpp"
#include "support/test_frame.hpp"
#include "unit/transport/raw_peer.hpp"

namespace ackbox::fork_test {
namespace {

using testing::RawConnection;
using testing::TempDir;
using testing::testFrame;

// A sanitizer's allocator does not prepare for a fork: a lock that another thread holds in it is held in the child for
// ever.
void untilOtherThreadsSleep() {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    const pid_t thread = std::stoi(entry.path().filename().string());
    if (thread != gettid()) {
      testing::untilAsleep(thread);
    }
  }
}

/// A child that runs `work`, which gets a function that writes to the parent.
class Child {
public:
  using Say = std::function<void(const std::string&)>;

  explicit Child(const std::function<void(const Say&)>& work) {
    std::array<int, 2> ends{};
    REQUIRE(pipe(ends.data()) == 0);
    untilOtherThreadsSleep();
    process_ = fork();
    if (process_ == 0) {
      close(ends[0]);
      const Say say = [&](const std::string& text) { (void)!write(ends[1], text.data(), text.size()); };
      try {
        work(say);
      } catch (const std::exception& error) {
        say(std::string("thrown: ") + error.what());
      }
      _exit(0);
    }
    close(ends[1]);
    from_ = ends[0];
  }
  ~Child() {
    close(from_);
    waitpid(process_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] pid_t process() const { return process_; }

  /// Up to the end of the child and of the children that it has made.
  [[nodiscard]] std::string readAll() const {
    std::string text;
    std::array<char, 4096> piece{};
    for (ssize_t size = 0; (size = read(from_, piece.data(), piece.size())) > 0;) {
      text.append(piece.data(), static_cast<std::size_t>(size));
    }
    return text;
  }
  /// The next piece.
  [[nodiscard]] std::string readSome() const {
    std::array<char, 4096> piece{};
    return {piece.data(), static_cast<std::size_t>(read(from_, piece.data(), piece.size()))};
  }

private:
  pid_t process_ = 0;
  int from_ = -1;
};

std::string codeOf(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code() == Errc::otherProcess ? "" : std::string("other: ") + error.what() + "; ";
  } catch (const std::exception& error) {
    return std::string("other: ") + error.what() + "; ";
  }
  return "nothing; ";
}

HandlerResult acknowledge(const InboundFrame&, InboundTransaction&) {
  return HandlerResult::ack();
}

std::string post(const std::string& id) {
  const std::string body =
      R"({"specversion":"1.0","id":")" + id + R"(","source":"urn:agent:alice","type":"test","data":1})";
  return "POST /inbox HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/cloudevents+json\r\nwebhook-id: " + id +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

TEST_CASE("A child that uses what its parent opened is refused, with both processes named, and its end harms nothing") {
  const TempDir directory;
  auto manager = std::make_optional(OutboxManager::open(directory.file("bob.db"), {.agent = "urn:agent:bob"}));
  std::optional<InboundHandler> handler(std::in_place, *manager, acknowledge, InboundOptions{.allowAnonymous = true});
  std::optional<InboundServer> server(std::in_place, *handler);
  RawConnection peer(server->port());
  const auto isServed = [&](const std::string& id) {
    peer.send(post(id));
    return peer.receiveMessage().starts_with("HTTP/1.1 200 ");
  };
  REQUIRE(isServed("a"));

  auto alice = std::make_optional(
      OutboxManager::open(directory.file("alice.db"), {.agent = "urn:agent:alice", .peers = {{.url = server->url()}}}));
  const auto sender = std::make_shared<HttpSender>();
  alice->setSender(sender);
  std::optional<std::promise<void>> acked(std::in_place);
  std::optional<Subscription> subscription(alice->onAcked([&](const AckedEvent&) { acked->set_value(); }));
  alice->start();
  const auto isDelivered = [&] {
    acked.emplace();
    const std::future<void> isAcked = acked->get_future();
    CHECK(alice->enqueue(testFrame("s")).isNew());
    isAcked.wait();
  };
  isDelivered();

  std::optional<OutboxReader> reader(OutboxReader::open(directory.file("bob.db")));
  std::optional<OutboxReader> ofManager(std::in_place, *manager);
  SQLite::Database own(directory.file("bob.db").string(), SQLite::OPEN_READWRITE);
  std::optional<OutboxWriter> writer(std::in_place, *manager, own);
  std::optional<OutboxOperator> byHand(std::in_place, *manager);
  std::optional<PullConsumer> consumer(std::in_place, *manager);

  {
    const pid_t parent = getpid();
    const Child child([&](const Child::Say& say) {
      try {
        manager->enqueue(testFrame("s"));
      } catch (const Error& error) {
        say(error.what() + std::string("\n"));
      }
      say(codeOf([&] { manager->enqueueThen(testFrame("s"), [](std::error_code, const EnqueueReceipt&) {}); }));
      say(codeOf([&] { (void)manager->getStats(); }));
      say(codeOf([&] { alice->stop(); }));
      say(codeOf([&] { alice->start(); }));
      say(codeOf([&] { alice->drainOnce(); }));
      say(codeOf([&] { (void)reader->getStats(); }));
      say(codeOf([&] { (void)ofManager->find("m"); }));
      say(codeOf([&] { (void)reader->fileInfo(); }));
      say(codeOf([&] { reader->backUp(directory.file("copy.db")); }));
      say(codeOf([&] { (void)reader->inbox({}, 1); }));
      say(codeOf([&] { (void)reader->findInbox("s", "m"); }));
      say(codeOf([&] { (void)reader->inboxFrame("s", "m"); }));
      say(codeOf([&] { (void)reader->inboxSources("m"); }));
      say(codeOf([&] { (void)reader->explainInbox("s", "m"); }));
      say(codeOf([&] { writer->enqueue(testFrame("s")); }));
      say(codeOf([&] { byHand->retry("m"); }));
      say(codeOf([&] { byHand->retryInbox("s", "m"); }));
      say(codeOf([&] { byHand->retryInbox(InboxFilter{}); }));
      say(codeOf([&] { byHand->discardInbox("s", "m"); }));
      say(codeOf([&] { byHand->discardInbox(InboxFilter{}); }));
      say(codeOf([&] { consumer->claim(1); }));
      say(codeOf([&] { handler->asyncHandle({}, [](const InboundResponse&) {}); }));
      say(codeOf([&] { InboundHandler(*manager, acknowledge, {.allowAnonymous = true}); }));
      server->stop();
      subscription.reset();
      consumer.reset();
      byHand.reset();
      writer.reset();
      ofManager.reset();
      reader.reset();
      server.reset();
      handler.reset();
      alice.reset();
      manager.reset();
      say("ended");
    });
    CHECK(child.readAll() == "opened by process " + std::to_string(parent) + ", used by its child " +
                                 std::to_string(child.process()) + ": " +
                                 make_error_code(Errc::otherProcess).message() + "\nended");
  }

  CHECK(isServed("b"));
  RawConnection another(server->port());
  another.send(post("c"));
  CHECK(another.receiveMessage().starts_with("HTTP/1.1 200 "));
  isDelivered();
  CHECK(reader->getStats().received >= 4);
  CHECK(writer.has_value());
}

TEST_CASE("P1: a child cannot open a file that its parent has open, by whatever name, and may open any other") {
  const TempDir directory;
  const std::filesystem::path file = directory.file("agent.db");
  const std::filesystem::path link = directory.file("link.db");
  std::optional<OutboxManager> manager(OutboxManager::open(file));
  std::filesystem::create_symlink(file, link);
  {
    // SQLite would take the inherited locks for its own: the parent's end would take the log, and with it what the
    // child commits.
    const Child child([&](const Child::Say& say) {
      say(codeOf([&] { (void)OutboxManager::open(file); }));
      say(codeOf([&] { (void)OutboxManager::open(link); }));
      say(codeOf([&] { (void)OutboxReader::open(file); }));
      say(codeOf([&] { (void)OutboxOperator::previewRepair(link); }));
      say(codeOf([&] { (void)OutboxOperator::makeNewStore(link); }));
      OutboxManager other = OutboxManager::open(directory.file("other.db"));
      say(other.enqueue(testFrame("s")).isNew() ? "other" : "no other");
    });
    CHECK(child.readAll() == "other");
  }
  manager.reset();
  const Child child([&](const Child::Say& say) {
    OutboxManager own = OutboxManager::open(file);
    say(own.enqueue(testFrame("s")).isNew() ? "own" : "none");
  });
  CHECK(child.readAll() == "own");
}

TEST_CASE("P7: a child that outlives its parent keeps neither the parent's messages nor its port") {
  const TempDir directory;
  std::array<int, 2> held{};
  REQUIRE(pipe(held.data()) == 0);
  std::string said;
  {
    const Child agent([&](const Child::Say& say) {
      OutboxManager manager = OutboxManager::open(directory.file("agent.db"));
      manager.enqueue(testFrame("s"));
      PullConsumer consumer(manager);
      InboundHandler handler(manager, acknowledge, {.allowAnonymous = true});
      const InboundServer server(handler);
      say(consumer.claim(1).size() == 1 ? std::to_string(server.port()) : "0");
      if (fork() == 0) {
        close(held[1]);
        char ignored = 0;
        // Until the test closes its end.
        (void)!read(held[0], &ignored, 1);
        _exit(0);
      }
      _exit(0);
    });
    said = agent.readSome();
  }
  const OutboxManager manager = OutboxManager::open(directory.file("agent.db"));
  CHECK(manager.getStats().sending == 0);
  CHECK(manager.getStats().pending == 1);
  OutboxManager other = OutboxManager::open(directory.file("other.db"));
  InboundHandler handler(other, acknowledge, {.allowAnonymous = true});
  InboundServerOptions same;
  same.port = static_cast<std::uint16_t>(std::stoi(said));
  CHECK_NOTHROW(InboundServer(handler, same));
  close(held[1]);
  close(held[0]);
}

}  // namespace
}  // namespace ackbox::fork_test
