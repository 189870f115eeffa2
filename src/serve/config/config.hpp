#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ackbox/http_sender.hpp"
#include "ackbox/inbound_options.hpp"
#include "ackbox/inbound_server.hpp"
#include "ackbox/log.hpp"
#include "ackbox/options.hpp"
#include "ackbox/tls.hpp"
#include "serve/config/document.hpp"
#include "serve/config/section.hpp"
#include "serve/inbox/delivery_rule.hpp"
#include "serve/inbox/fetchers.hpp"
#include "serve/oauth/oauth_tokens.hpp"

namespace ackbox::serve {

/// Where `ackbox serve` listens for applications and people.
struct ApiConfig {
  /// `unix:PATH`, or a numeric address and a port. Default: a port on loopback.
  std::string address = "127.0.0.1";
  std::uint16_t port = 7070;
  TlsServerOptions tls = {};
  /// Empty if no tokens are configured.
  std::filesystem::path tokensFile = {};
  /// Values of `Host` that are allowed in addition to those of loopback. Ignored on a socket file.
  std::vector<std::string> allowedHosts = {};
  bool openHealth = true;
  bool openMetrics = false;
  /// Fewer if the process may not open as many descriptors. Default: room for 1,000 connected mailboxes beside
  /// requests.
  std::size_t connectionsMax = 2'048;
  /// Streams of frames among them, see `Places::frameStreamsMost`; 0: a half of them.
  std::size_t streamsMax = 0;
};

/// The listener for peers, and how their frames reach applications.
struct InboxConfig {
  InboundServerOptions server = {};
  InboundOptions handler = {};
  /// The first rule that fits a frame applies.
  std::vector<DeliveryRule> deliver = {};
  /// Types, or prefixes of types followed by `*`. Applications take frames of these types from streams, if no entry of
  /// `deliver` fits. Frames of other types stay with their sender, because no application here would take them.
  std::vector<std::string> pull = {};
  /// See `DeferredMailboxes::agents`.
  std::vector<std::string> mailboxes = {};
  /// Mailboxes at other daemons, from which frames are fetched.
  std::vector<FetchRule> fetch = {};
  /// Whether peers can connect here. An inbox that fetches its frames needs no address.
  bool isListening = true;
};

/// What peers that callers of the API add to the file may do.
struct AddedPeersConfig {
  /// The folder of the files that their definitions may name; empty: they may name no files.
  std::filesystem::path secretsFolder = {};
  /// See `PeerOptions::networks`. Default: the internet, this machine and private IPv4 networks; not the link-local,
  /// shared and unique-local addresses at which clouds serve a machine's credentials.
  std::vector<std::string> networks = {"public", "loopback", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"};
};

/// Where spans of traces are sent.
struct TracesConfig {
  /// A collector of OTLP in JSON over HTTP, such as `http://127.0.0.1:4318/v1/traces`. Empty: no spans are sent.
  std::string url = {};
  /// The resource attribute `service.name`. If empty: the agent's URI, or `ackbox` if that is empty as well.
  std::string serviceName = {};
};

/// The content of a configuration file. Names and defaults are those of the options that the fields set, except for
/// `acked_retention`.
struct Config {
  ApiConfig api = {};
  OutboxOptions outbox = {};
  HttpSenderOptions sender = {};
  /// Of the peers in `outbox` with a field `oauth`.
  TokensOfPeers oauth = {};
  AddedPeersConfig addedPeers = {};
  /// Nothing if no peer can send here.
  std::optional<InboxConfig> inbox = {};
  TracesConfig traces = {};
  LogFormat logFormat = LogFormat::keyValue;
};

/// Reads the text of a configuration file, which may be empty, then the settings of the command line, and then the
/// files that these name, as the start will. Adds all errors to `problems`, ordered by line; the result is usable only
/// if there are no errors. Creates and binds nothing. `folder` is the folder of the file: its relative paths are
/// resolved there, those of the command line in the working directory.
[[nodiscard]] Config readConfig(std::string_view text, const std::vector<ConfigOverride>& overrides,
                                std::vector<ConfigProblem>& problems, const std::filesystem::path& folder = {});

/// Reads the definition of a peer that is added at run time: an object as in `peers`, without `name`, which may name
/// files of `AddedPeersConfig::secretsFolder` only. Adds all errors to `problems`. `looksAtFiles`: those files are read
/// and checked as well, as the start does with those of the configuration. `oauth` gets the tokens of its field
/// `oauth`.
[[nodiscard]] PeerOptions readPeerDefinition(const std::string& name, std::string_view text, const Config& config,
                                             bool looksAtFiles, std::vector<ConfigProblem>& problems,
                                             std::shared_ptr<OauthTokens>* oauth = nullptr);

/// The same as the manager needs it: without a look at files, which may come later. Throws `Error` with
/// `invalidOption`.
[[nodiscard]] PeerOptions definedPeer(const std::string& name, std::string_view text, const Config& config,
                                      std::shared_ptr<OauthTokens>* oauth = nullptr);

/// All fields of a configuration, in the order of `readConfig`.
[[nodiscard]] std::vector<FieldNote> configFields();

/// `serve.json:12: peers[0].url: must be …`, the format of compilers, or `--set: …`.
[[nodiscard]] std::string describe(const ConfigProblem& problem, const std::filesystem::path& file);

}  // namespace ackbox::serve
