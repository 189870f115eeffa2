// An agent of the crash test, started again and again on the same file:
//
//   crash_agent NAME PEER DATABASE PORT PEER_URL KEYS [--feed] [--reply] [--own-threads] [--defer]
//     [--slow-disk] [--defect mark-before-effect]
//
// KEYS is a folder with authority.pem, NAME.pem, NAME.key and secret: mutual TLS, each side known to the other by its
// certificate, and every request and answer signed. --feed: keeps enqueueing numbered frames, each in one transaction
// with the number reached. --reply: answers every tenth frame of a session. --own-threads: delivery and the server run
// on their own threads, as is the library's default, and frames are fed one at a time, so that each step, and each
// frame's effect, commits on the thread on which it arrived. --defer: defers every third frame of a session, half of
// them to a separate pool. --slow-disk: its disk is slow while a test requests it (hardships.hpp). Prints "ready" once
// it serves; SIGTERM ends it.

#include <SQLiteCpp/SQLiteCpp.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/async.hpp"
#include "ackbox/deferred_frame.hpp"
#include "ackbox/http_sender.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/inbound_server.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_writer.hpp"
#include "effects.hpp"
#include "fed_frame.hpp"
#include "hardships.hpp"
#include "late_effects.hpp"

namespace {

using std::chrono::milliseconds;

struct Settings {
  std::string name;
  std::string peer;
  std::filesystem::path database;
  std::uint16_t port = 0;
  std::string peerUrl;
  std::filesystem::path keys;
  bool feeds = false;
  bool replies = false;
  bool ownThreads = false;
  bool defers = false;
  bool slowDisk = false;
  bool defect = false;
};

Settings parse(const std::vector<std::string>& words) {
  if (words.size() < 6) {
    throw std::runtime_error(
        "usage: crash_agent NAME PEER DATABASE PORT PEER_URL KEYS [--feed] [--reply] [--own-threads] "
        "[--defer] [--slow-disk] [--defect D]");
  }
  Settings settings{words[0], words[1], words[2], static_cast<std::uint16_t>(std::stoi(words[3])), words[4], words[5]};
  for (std::size_t index = 6; index < words.size(); ++index) {
    if (words[index] == "--feed") {
      settings.feeds = true;
    } else if (words[index] == "--reply") {
      settings.replies = true;
    } else if (words[index] == "--own-threads") {
      settings.ownThreads = true;
    } else if (words[index] == "--defer") {
      settings.defers = true;
    } else if (words[index] == "--slow-disk") {
      settings.slowDisk = true;
    } else if (words[index] == "--defect" && index + 1 < words.size() && words[index + 1] == "mark-before-effect") {
      settings.defect = true;
      ++index;
    } else {
      throw std::runtime_error("unknown word " + words[index]);
    }
  }
  return settings;
}

ackbox::OutboxOptions outboxOptions(const Settings& settings) {
  ackbox::OutboxOptions options;
  options.agent = "urn:agent:" + settings.name;
  ackbox::PeerOptions peer;
  peer.name = settings.peer;
  peer.url = settings.peerUrl;
  peer.agent = "urn:agent:" + settings.peer;
  peer.secrets = ackbox::SecretSource::file(settings.keys / "secret");
  options.peers.push_back(peer);
  // Small requests, many at once, and short probe delays: a kill then always interrupts some work.
  options.batchFrames = 5;
  options.peerHealth.probeDelays = {milliseconds(5), milliseconds(10), milliseconds(20)};
  // The peer dies of SIGKILL, never because of a message.
  options.peerHealth.killerThreshold = 0;
  return options;
}

ackbox::HttpSenderOptions senderOptions(const Settings& settings) {
  ackbox::HttpSenderOptions options;
  options.tls.authorityFile = settings.keys / "authority.pem";
  options.tls.certificateFile = settings.keys / (settings.name + ".pem");
  options.tls.keyFile = settings.keys / (settings.name + ".key");
  return options;
}

ackbox::InboundServerOptions serverOptions(const Settings& settings) {
  ackbox::InboundServerOptions options;
  options.port = settings.port;
  options.tls.certificateFile = settings.keys / (settings.name + ".pem");
  options.tls.keyFile = settings.keys / (settings.name + ".key");
  options.tls.clientAuthorityFile = settings.keys / "authority.pem";
  return options;
}

ackbox::FrameHandler deferring(ackbox::FrameHandler handler) {
  return [handler = std::move(handler)](const ackbox::InboundFrame& frame, ackbox::InboundTransaction& transaction) {
    return frame.sequence % 3 == 0 ? ackbox::HandlerResult::defer() : handler(frame, transaction);
  };
}

ackbox::InboundOptions inboundOptions(const Settings& settings, const ackbox::FrameHandler& handler) {
  ackbox::InboundOptions options;
  options.peers = {
      {.agents = {"urn:agent:" + settings.peer}, .secrets = ackbox::SecretSource::file(settings.keys / "secret")}};
  if (settings.defers) {
    options.deferred.pools = {{{"com.example.fed.*"}, 2}};
    options.deferred.handler = [handler](ackbox::DeferredFrame frame) {
      frame.commit(
          [handler, frame](ackbox::InboundTransaction& transaction) { return handler(frame.frame(), transaction); });
    };
  }
  return options;
}

// Enqueues on the application's own connection and in its own transactions (P2), with a short backlog.
class Feeder {
public:
  Feeder(ackbox::OutboxManager& manager, const Settings& settings, boost::asio::io_context& context)
      : manager_(manager),
        peer_(settings.peer),
        connection_(settings.database.string(), SQLite::OPEN_READWRITE, kBusyTimeoutMilliseconds),
        writer_(manager, connection_),
        timer_(context),
        backlog_(settings.ownThreads ? 1 : kBacklog),
        sliceFrames_(settings.ownThreads ? 1 : kSliceFrames) {
    connection_.exec("CREATE TABLE IF NOT EXISTS fed (reached INTEGER NOT NULL)");
  }

  void run() {
    if (manager_.getStats().pending < backlog_) {
      feed();
    }
    timer_.expires_after(milliseconds(1));
    timer_.async_wait([this](const boost::system::error_code& cancelled) {
      if (!cancelled && !ending_) {
        run();
      }
    });
  }

  void stop() {
    ending_ = true;
    timer_.cancel();
  }

private:
  static constexpr int kBusyTimeoutMilliseconds = 5000;
  static constexpr std::uint64_t kBacklog = 1000;
  static constexpr std::int64_t kSliceFrames = 5;

  void feed() {
    SQLite::Transaction transaction(connection_, SQLite::TransactionBehavior::IMMEDIATE);
    std::int64_t reached = connection_.execAndGet("SELECT coalesce(max(reached), 0) FROM fed").getInt64();
    for (std::int64_t count = 0; count < sliceFrames_; ++count) {
      const main_job::Entry entry = crash::fedFrame(++reached);
      ackbox::Frame frame;
      frame.peer = peer_;
      frame.session = entry.session;
      frame.type = reached % 2 == 0 ? "com.example.fed" : "com.example.fed.later";
      frame.data = entry.data;
      if (!writer_.enqueue(frame).isNew()) {
        throw std::runtime_error("a fresh frame was refused");
      }
    }
    connection_.exec("DELETE FROM fed");
    connection_.exec("INSERT INTO fed VALUES (" + std::to_string(reached) + ")");
    transaction.commit();
  }

  ackbox::OutboxManager& manager_;
  const std::string peer_;
  SQLite::Database connection_;
  ackbox::OutboxWriter writer_;
  boost::asio::steady_timer timer_;
  const std::uint64_t backlog_;
  const std::int64_t sliceFrames_;
  bool ending_ = false;
};

void run(const Settings& settings) {
  if (settings.slowDisk) {
    crash::SlowDisk::obey(settings.database);
  }
  boost::asio::io_context context(1);
  ackbox::OutboxManager manager = ackbox::OutboxManager::open(settings.database, outboxOptions(settings));
  manager.setSender(std::make_shared<ackbox::HttpSender>(senderOptions(settings)));

  main_job::createEffects(settings.database);
  const std::string replyTo = settings.replies ? settings.peer : "";
  std::optional<crash::LateEffects> late;
  if (settings.defect) {
    late.emplace(settings.database);
  }
  const ackbox::FrameHandler effects = late ? late->handler(replyTo) : main_job::effectsHandler(replyTo);
  ackbox::InboundHandler handler(manager, settings.defers ? deferring(effects) : effects,
                                 inboundOptions(settings, effects));
  ackbox::InboundServer server = settings.ownThreads
                                     ? ackbox::InboundServer(handler, serverOptions(settings))
                                     : ackbox::InboundServer(context.get_executor(), handler, serverOptions(settings));
  if (settings.ownThreads) {
    manager.start();
  } else {
    manager.asyncRun(context.get_executor(), [](const boost::system::error_code& error) {
      if (error) {
        throw std::runtime_error("delivery could not begin: " + error.message());
      }
    });
  }
  std::optional<Feeder> feeder;
  if (settings.feeds) {
    feeder.emplace(manager, settings, context);
    feeder->run();
  }
  boost::asio::signal_set signals(context, SIGTERM);
  signals.async_wait([&](const boost::system::error_code&, int) {
    if (feeder) {
      feeder->stop();
    }
    server.stop();
    manager.stop();
  });
  std::cout << "ready" << std::endl;
  context.run();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(parse(std::vector<std::string>(argv + 1, argv + argc)));
    return EXIT_SUCCESS;
  } catch (const std::exception& error) {
    std::cerr << "crash_agent: " << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
