// One of two agents that talk to each other through ackbox. Alice reads JSON lines into her outbox; bob writes an
// effect for each frame and answers every tenth; alice writes down the answers. Each may be killed at any instant and
// started again with the same arguments: it goes on where it was. SIGTERM ends it gracefully.

#include <CLI/CLI.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ackbox/async.hpp"
#include "ackbox/http_sender.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/inbound_server.hpp"
#include "ackbox/outbox_manager.hpp"
#include "effects.hpp"
#include "feeder.hpp"

namespace {

struct Settings {
  std::string name;
  std::filesystem::path database;
  std::uint16_t port = 0;
  std::string peerUrl;
  std::vector<std::filesystem::path> inputs;
  std::uint32_t paceMilliseconds = 0;
  std::uint32_t sliceLines = 16;

  [[nodiscard]] std::string peer() const { return name == "alice" ? "bob" : "alice"; }
};

ackbox::OutboxOptions outboxOptions(const Settings& settings) {
  using std::chrono::milliseconds;
  ackbox::OutboxOptions options;
  options.agent = "urn:agent:" + settings.name;
  ackbox::PeerOptions peer;
  peer.name = settings.peer();
  peer.url = settings.peerUrl;
  peer.agent = "urn:agent:" + settings.peer();
  options.peers.push_back(peer);
  // The peer is killed several times a second and back at once: look for it more often than one would elsewhere.
  options.peerHealth.probeDelays = {milliseconds(20), milliseconds(40), milliseconds(80), milliseconds(160)};
  // It dies of SIGKILL, never of a message that it was sent.
  options.peerHealth.killerThreshold = 0;
  return options;
}

void run(const Settings& settings) {
  boost::asio::io_context context(1);
  ackbox::OutboxManager manager = ackbox::OutboxManager::open(settings.database, outboxOptions(settings));
  manager.setSender(std::make_shared<ackbox::HttpSender>());

  main_job::createEffects(settings.database);
  ackbox::InboundHandler handler(manager, main_job::effectsHandler(settings.name == "bob" ? settings.peer() : ""),
                                 {.allowAnonymous = true});
  ackbox::InboundServerOptions serverOptions;
  serverOptions.port = settings.port;
  ackbox::InboundServer server(context.get_executor(), handler, serverOptions);

  manager.asyncRun(context.get_executor(), [](const boost::system::error_code& error) {
    if (error) {
      throw std::runtime_error("delivery could not begin: " + error.message());
    }
  });

  std::optional<main_job::Feeder> feeder;
  boost::asio::steady_timer pace(context);
  std::function<void(const boost::system::error_code&)> feed = [&](const boost::system::error_code& cancelled) {
    if (!cancelled && feeder->feed(settings.sliceLines)) {
      pace.expires_after(std::chrono::milliseconds(settings.paceMilliseconds));
      pace.async_wait(feed);
    }
  };
  if (!settings.inputs.empty()) {
    feeder.emplace(manager, settings.database, settings.inputs, settings.peer());
    feed({});
  }

  boost::asio::signal_set signals(context, SIGTERM, SIGINT);
  signals.async_wait([&](const boost::system::error_code&, int) {
    pace.cancel();
    feed = [](const boost::system::error_code&) {};
    server.stop();
    manager.stop();
  });
  std::cout << "ready" << std::endl;
  context.run();
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  CLI::App app("An agent with an ackbox outbox; see examples/main_job");
  app.add_option("name", settings.name, "who it is")->required()->check(CLI::IsMember({"alice", "bob"}));
  app.add_option("--database", settings.database, "its SQLite file, created if missing")->required();
  app.add_option("--listen", settings.port, "loopback port of its inbox")->required();
  app.add_option("--peer-url", settings.peerUrl, "the other's inbox, http://127.0.0.1:PORT/inbox")->required();
  app.add_option("--input", settings.inputs, "JSON lines to send: {\"session\",\"type\",\"data\"}");
  app.add_option("--pace-ms", settings.paceMilliseconds, "pause between two slices of input")->capture_default_str();
  app.add_option("--slice-lines", settings.sliceLines, "lines enqueued in one transaction")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    run(settings);
    return EXIT_SUCCESS;
  } catch (const std::exception& error) {
    std::cerr << settings.name << ": " << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
