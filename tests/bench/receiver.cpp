#include "bench/receiver.hpp"

#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/http_sender.hpp"
#include "ackbox/inbound_server.hpp"
#include "ackbox/postgres.hpp"
#include "bench/effects.hpp"
#include "bench/measured_disk.hpp"
#include "bench/pace.hpp"
#include "bench/workload.hpp"
#include "integration/test_certificates.hpp"

namespace ackbox::bench {
namespace {

constexpr const char* kSecretFile = "secret";
constexpr const char* kAuthority = "authority";
constexpr const char* kServer = "receiver";

std::vector<std::string> roleOf(const std::filesystem::path& file, Durability durability, const Link& link) {
  std::vector<std::string> words = {"--role", durability == Durability::powerCut ? "receiver" : "receiver-normal",
                                    "--file", file.string()};
  if (!link.keys.empty()) {
    words.insert(words.end(), {"--keys", link.keys.string()});
  }
  if (link.isSigned) {
    words.emplace_back("--signed");
  }
  if (link.isEncrypted) {
    words.emplace_back("--encrypted");
  }
  if (link.isLogged) {
    words.emplace_back("--logged");
  }
  return words;
}

// A sink that makes each record's line, as one that writes it must, and throws it away.
LogSink discardedLog() {
  return [](const LogRecord& record) {
    if (toKeyValue(record).empty()) {
      throw std::logic_error("a record without a line");
    }
  };
}

OutboxManager openSender(const std::filesystem::path& file, [[maybe_unused]] const std::string& database,
                         const OutboxOptions& options) {
#ifdef ACKBOX_BENCH_POSTGRES
  if (!database.empty()) {
    return OutboxManager::open(PostgresLocation{database}, options);
  }
#endif
  return OutboxManager::open(file, options);
}

}  // namespace

void writeKeys(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder / kSecretFile) << "whsec_dGhlIGJlbmNoIGtlZXBzIHRoaXMgdG8gaXRzZWxmIC4=\n";
  const testing::TestAuthority authority(folder, kAuthority);
  (void)authority.issue(kServer);
}

Receiver::Receiver(const std::filesystem::path& file, Durability durability, const Link& link)
    : process_(roleOf(file, durability, link)), url_(process_.readLine()) {}

ReceiverUsage Receiver::usage() {
  process_.writeLine("usage");
  std::istringstream words(process_.readLine());
  ReceiverUsage usage;
  words >> usage.cpuMicroseconds >> usage.syncs;
  return usage;
}

int runReceiver(const std::filesystem::path& file, Durability durability, const Link& link) {
  createEffects(file);
  OutboxOptions options = outboxOptions(durability);
  options.agent = kReceiverAgent;
  if (link.isLogged) {
    options.log = discardedLog();
  }
  OutboxManager manager = OutboxManager::open(file, options);
  InboundOptions inbound;
  if (link.isSigned) {
    inbound.peers = {{.agents = {kSenderAgent}, .secrets = SecretSource::file(link.keys / kSecretFile)}};
  } else {
    inbound.allowAnonymous = true;
  }
  InboundHandler handler(manager, effectHandler(), std::move(inbound));
  InboundServerOptions serverOptions;
  if (link.isEncrypted) {
    serverOptions.tls.certificateFile = link.keys / (std::string(kServer) + ".pem");
    serverOptions.tls.keyFile = link.keys / (std::string(kServer) + ".key");
  }
  InboundServer server(handler, serverOptions);
  diskCounts().reset();
  const double before = ownCpuMicroseconds();
  std::cout << server.url() << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << ownCpuMicroseconds() - before << ' ' << diskCounts().logSyncs << std::endl;
  }
  return 0;
}

std::unique_ptr<OutboxManager> startSender(const std::filesystem::path& file, Durability durability,
                                           const Receiver& receiver, const Link& link) {
  OutboxOptions options = outboxOptions(durability);
  if (link.isLogged) {
    options.log = discardedLog();
  }
  if (link.batchFrames != 0) {
    options.batchFrames = link.batchFrames;
  }
  PeerOptions& peer = options.peers.emplace_back();
  peer.url = receiver.url();
  peer.agent = kReceiverAgent;
  if (link.maxRequests != 0) {
    peer.maxRequests = link.maxRequests;
  }
  if (link.isSigned) {
    peer.secrets = SecretSource::file(link.keys / kSecretFile);
  }
  HttpSenderOptions senderOptions;
  if (link.isEncrypted) {
    senderOptions.tls.authorityFile = link.keys / (std::string(kAuthority) + ".pem");
  }
  auto manager = std::make_unique<OutboxManager>(openSender(file, link.database, options));
  manager->setSender(std::make_shared<HttpSender>(senderOptions));
  manager->start();
  return manager;
}

}  // namespace ackbox::bench
