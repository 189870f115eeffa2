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
#include "serve/inbox/fetchers.hpp"

namespace ackbox::serve {

// Finds what the start would refuse, by calling the code that refuses it, and reports it under the configuration's
// field names. Reads the files that the configuration names; creates, binds and writes nothing.

/// The library's error in the configuration's field names.
[[nodiscard]] std::string inConfigWords(const Error& error);

// The functions that return a value return whether they found no problem.

/// Checks the entries of a list of networks, see `PeerOptions::networks`.
void checkNetworks(Section& section, std::string_view field, const std::vector<std::string>& networks);

bool checkListen(Section& section, const std::string& address, std::uint16_t port);
bool checkTls(Section& section, const TlsServerOptions& tls);
bool checkTls(Section& section, const TlsClientOptions& tls);
/// `field` is the field that the secrets come from; `file` may be empty.
bool checkSecrets(Section& section, std::string_view field, const std::filesystem::path& file,
                  const SecretSource& secrets);
/// The same for headers (`PeerOptions::headers`), of which there must be one.
bool checkHeaders(Section& section, std::string_view field, const std::filesystem::path& file,
                  const SecretSource& headers);
void checkHosts(Section& section, std::string_view field, const std::vector<std::string>& hosts);
void checkTokens(Section& section, std::string_view field, const std::filesystem::path& file);

/// Checks the section of one peer. `probe` is a sender used only for checks. `secretsField`: as for `checkSecrets`.
/// `ackedRetention` is that of the outbox.
bool checkPeer(Section& section, HttpSender& probe, const PeerOptions& peer, std::string_view secretsField,
               std::chrono::milliseconds ackedRetention);
/// Checks the peers against each other. `root` is the root section; `sound` says which peers are valid on their own.
void checkPeers(Section& root, HttpSender& probe, const std::vector<PeerOptions>& peers,
                const std::vector<bool>& sound);
/// Checks the section of one entry of `deliver`.
void checkDelivery(Section& section, const HttpSenderOptions& sender, const DeliveryRule& rule,
                   std::string_view secretsField);
/// Checks the section of one entry of `fetch`.
void checkFetch(Section& section, const FetchRule& rule);
/// Checks the section of the inbox. `secretsFields` has one entry for each of its peers.
void checkInbox(Section& section, const InboundServerOptions& server, const InboundOptions& handler,
                std::string_view agent, const std::vector<std::string>& secretsFields);
/// Checks the root section.
void checkOutbox(Section& root, const OutboxOptions& outbox);

}  // namespace ackbox::serve
