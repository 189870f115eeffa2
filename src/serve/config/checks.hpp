#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/error.hpp"
#include "ackbox/http_sender.hpp"
#include "ackbox/inbound_options.hpp"
#include "ackbox/inbound_server.hpp"
#include "ackbox/options.hpp"
#include "ackbox/tls.hpp"
#include "serve/config/section.hpp"
#include "serve/inbox/delivery_rule.hpp"

namespace ackbox::serve {

// What the start would refuse: it is asked of the code that refuses it, and reported by the names of the configuration.
// The files that are named are read; nothing is made, bound or written.

/// What the library refuses, in the names of the configuration.
[[nodiscard]] std::string inConfigWords(const Error& error);

// Those that return something return whether they found nothing.

bool checkListen(Section& section, const std::string& address, std::uint16_t port);
bool checkTls(Section& section, const TlsServerOptions& tls);
bool checkTls(Section& section, const TlsClientOptions& tls);
/// `field` names where they come from, `file` may be empty.
bool checkSecrets(Section& section, std::string_view field, const std::filesystem::path& file,
                  const SecretSource& secrets);
void checkHosts(Section& section, std::string_view field, const std::vector<std::string>& hosts);
void checkTokens(Section& section, std::string_view field, const std::filesystem::path& file);

/// The section of one peer. `probe` is a sender that is used for nothing else. `secretsField`: as for `checkSecrets`.
bool checkPeer(Section& section, HttpSender& probe, const PeerOptions& peer, std::string_view secretsField);
/// The section of everything. Peers among themselves; `sound` says which of them are right by themselves.
void checkPeers(Section& root, HttpSender& probe, const std::vector<PeerOptions>& peers,
                const std::vector<bool>& sound);
/// The section of one entry of `deliver`.
void checkDelivery(Section& section, const HttpSenderOptions& sender, const DeliveryRule& rule,
                   std::string_view secretsField);
/// The section of the inbox. `secretsFields` has one for each of its peers.
void checkInbox(Section& section, const InboundServerOptions& server, const InboundOptions& handler,
                std::string_view agent, const std::vector<std::string>& secretsFields);
/// The section of everything.
void checkOutbox(Section& root, const OutboxOptions& outbox);

}  // namespace ackbox::serve
