// An agent in C++ between two beside `ackbox serve`, one in Python and one in TypeScript: it passes each ball on to the
// other, and survives kill -9 at any instant. The row, the mark and the message commit together, so that it needs
// neither a key nor a thought about repetitions.
//
//   cpp_partner FILE PORT KEY_FILE NAME=URL NAME=URL
//
// PORT is of its inbox; NAME and URL are of the two daemons' agents and inboxes, as `examples/run --serve` starts them.

#include <SQLiteCpp/SQLiteCpp.h>
#include <ackbox/http_sender.hpp>
#include <ackbox/inbound_handler.hpp>
#include <ackbox/inbound_server.hpp>
#include <ackbox/outbox_manager.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <cstdint>
#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace ackbox;

PeerOptions parsePeer(const std::string& argument, const SecretSource& secrets) {
  const std::size_t sign = argument.find('=');
  if (sign == std::string::npos) {
    throw std::invalid_argument("not NAME=URL: " + argument);
  }
  const std::string name = argument.substr(0, sign);
  return {.name = name, .url = argument.substr(sign + 1), .agent = "urn:agent:" + name, .secrets = secrets};
}

void run(const std::vector<std::string>& arguments) {
  const SecretSource secrets = SecretSource::file(arguments.at(2));
  const std::vector<PeerOptions> partners = {parsePeer(arguments.at(3), secrets), parsePeer(arguments.at(4), secrets)};
  OutboxOptions options{.agent = "urn:agent:carol", .peers = partners};
  auto outbox = OutboxManager::open(arguments.at(0), options);

  const auto pass = [&](const InboundFrame& frame, InboundTransaction& transaction) {
    const PeerOptions& other = partners[frame.source == partners[0].agent ? 1 : 0];
    transaction.database().exec("CREATE TABLE IF NOT EXISTS passed(ball TEXT NOT NULL)");
    SQLite::Statement insert(transaction.database(), "INSERT INTO passed(ball) VALUES (?)");
    insert.bind(1, frame.data);
    insert.exec();
    transaction.enqueue({.peer = other.name, .session = frame.session, .type = frame.type, .data = frame.data});
    return HandlerResult::ack();
  };
  InboundOptions inboundOptions;
  for (const PeerOptions& partner : partners) {
    inboundOptions.peers.push_back({.agents = {partner.agent}, .secrets = secrets});
  }
  InboundHandler inbox(outbox, pass, inboundOptions);
  const InboundServer server(inbox, {.port = static_cast<std::uint16_t>(std::stoi(arguments.at(1)))});
  outbox.setSender(std::make_shared<HttpSender>());
  outbox.start();
  std::cout << "listening on " << server.url() << std::endl;

  boost::asio::io_context context;
  boost::asio::signal_set signals(context, SIGTERM, SIGINT);
  signals.async_wait([](boost::system::error_code, int) {});
  context.run();
  outbox.stop();
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 6) {
    std::cerr << "usage: cpp_partner FILE PORT KEY_FILE NAME=URL NAME=URL" << std::endl;
    return 2;
  }
  try {
    run({arguments + 1, arguments + count});
  } catch (const std::exception& error) {
    std::cerr << "cpp_partner: " << error.what() << std::endl;
    return 1;
  }
  return 0;
}
