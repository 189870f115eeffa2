#include "serve/config/config.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>

#include "ackbox/error.hpp"
#include "base/options.hpp"
#include "base/pattern.hpp"
#include "protocol/inbound_options.hpp"
#include "protocol/text_rules.hpp"
#include "serve/config/checks.hpp"
#include "serve/config/connections.hpp"
#include "serve/config/fetch.hpp"
#include "serve/config/own_headers.hpp"
#include "serve/config/secrets.hpp"
#include "serve/config/section.hpp"
#include "transport/listener.hpp"
#include "transport/option_rows.hpp"
#include "transport/stream.hpp"
#include "transport/url.hpp"

namespace ackbox::serve {
namespace {

constexpr std::chrono::milliseconds kShortest{1};
// Below `DeferredOptions::timeout`, after which a run without progress is ended.
constexpr std::chrono::minutes kDeliveryMost{4};

/// Reads `unix:PATH`, `127.0.0.1:7070` or `[::1]:7070`; if absent or wrong, leaves the values unchanged.
void readListen(Section& section, std::string_view meaning, std::string& address, std::uint16_t& port) {
  std::string text;
  section.filled({"listen", meaning}, text);
  if (text.empty()) {
    return;
  }
  std::string host = text;
  std::uint16_t number = 0;
  if (!text.starts_with("unix:")) {
    const std::size_t colon = text.rfind(':');
    const char* const last = text.data() + text.size();
    const char* const first = colon == std::string::npos ? last : text.data() + colon + 1;
    const auto [end, error] = std::from_chars(first, last, number);
    host = text.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) {
      host = host.substr(1, host.size() - 2);
    }
    if (first == last || error != std::errc() || end != last || host.empty()) {
      section.problem("listen", "must be unix:PATH, or a numeric address and a port, such as 127.0.0.1:7070");
      return;
    }
  }
  if (checkListen(section, host, number)) {
    address = std::move(host);
    port = number;
  }
}

void readTls(Section& section, TlsServerOptions& tls) {
  section.object("tls", [&](Section& inner) {
    inner.path({"certificate_file", "the certificate, with its chain, in PEM"}, tls.certificateFile);
    inner.path({"key_file", "its private key, without a passphrase"}, tls.keyFile);
    inner.path({"client_authority_file", "the authorities of clients' certificates; clients are asked for one"},
               tls.clientAuthorityFile);
    inner.path({"crl_file", "the certificates of clients that were revoked"}, tls.crlFile);
    if (tls.certificateFile.empty() || tls.keyFile.empty()) {
      inner.problem("certificate_file", "certificate_file and key_file must both be set");
    } else if (!tls.crlFile.empty() && tls.clientAuthorityFile.empty()) {
      inner.problem("crl_file", "needs client_authority_file, the authority of the certificates that it lists");
    } else {
      checkTls(inner, tls);
    }
  });
}

void readApi(Section& root, ApiConfig& api) {
  readListen(root, "where the API and the page are: unix:PATH, or a numeric address and a port (127.0.0.1:7070)",
             api.address, api.port);
  readTls(root, api.tls);
  root.path({"tokens_file", "the tokens of the API's callers; without it every local caller may do everything"},
            api.tokensFile);
  root.texts({"allowed_hosts", "names beside localhost that callers may reach it by, such as outbox.example"},
             api.allowedHosts);
  root.flag({"open_health", "whether /healthz and /readyz need no token"}, api.openHealth);
  root.flag({"open_metrics", "whether /metrics needs no token"}, api.openMetrics);
  readConnections(root, api);
  checkHosts(root, "allowed_hosts", api.allowedHosts);
  if (!api.tokensFile.empty()) {
    checkTokens(root, "tokens_file", api.tokensFile);
  }
  const bool isOfThisMachine = transport::ListenAddress(api.address, api.port).isLocal();
  if (!isOfThisMachine && (api.tls.certificateFile.empty() || api.tokensFile.empty())) {
    root.problem("listen",
                 "beyond this machine the server listens only with TLS (tls.certificate_file, tls.key_file) and tokens "
                 "(tokens_file)");
  }
}

/// Returns whether the section has the policy.
bool readRetry(Section& section, RetryPolicy& retry) {
  return section.object("retry", [&](Section& inner) {
    inner.option(retryOptionRows(), "maxRetries", retry);
    inner.option(retryOptionRows(), "horizon", retry);
  });
}

/// `Policy` is a `GapPolicy`, or may be absent.
template <typename Policy>
void readGap(Section& section, std::string_view meaning, Policy& gap) {
  section.choice<Policy>({"gap", meaning}, gap, {{"skip", GapPolicy::skip}, {"block", GapPolicy::block}});
}

template <typename Policy>
void readPeerReset(Section& section, std::string_view meaning, Policy& peerReset) {
  section.choice<Policy>({"peer_reset", meaning}, peerReset,
                         {{"proceed", PeerResetPolicy::proceed}, {"resend", PeerResetPolicy::resend}});
}

void readOutbox(Section& root, OutboxOptions& outbox) {
  root.text({"agent", "this agent's URI, such as urn:agent:alice"}, outbox.agent);
  root.object("outbox", [&](Section& section) {
    section.text({"table_prefix", "begins the name of each table, where several outboxes share a file"},
                 outbox.tablePrefix);
    for (const char* const field :
         {"busyTimeout", "maxPending", "maxPendingBytes", "frameBytesMax", "idempotencyRetention", "batchFrames",
          "batchBytes", "requestTimeout", "ackTimeout", "ackedRetention", "stopTimeout"}) {
      section.option(outboxOptionRows(), field, outbox);
    }
    readGap(section, "whether a session goes on past its dead letters, or stops", outbox.gap);
    readPeerReset(section, "what becomes of acknowledged messages when a peer has lost its file", outbox.peerReset);
    readRetry(section, outbox.retry);
  });
}

/// Reads a peer's own limits and policies, which take precedence over those of the outbox.
void readPeerPolicies(Section& section, const OutboxOptions& outbox, PeerOptions& peer) {
  section.option(peerOptionRows(), "maxRequests", peer);
  section.object("rate_limit", [&](Section& inner) {
    for (const char* const field : {"rateLimit.frames", "rateLimit.per", "rateLimit.burst"}) {
      inner.option(peerOptionRows(), field, peer);
    }
    if (peer.rateLimit.frames == 0 && (peer.rateLimit.burst != 0 || !inner.has("frames"))) {
      inner.problem("frames", "is missing: the most messages in each `per`");
      peer.rateLimit = {};
    }
  });
  RetryPolicy retry = peer.profile == PeerProfile::native ? outbox.retry : outbox.webhookRetry;
  if (readRetry(section, retry)) {
    peer.retry = std::move(retry);
  }
  readGap(section, "for its sessions, instead of outbox.gap", peer.gap);
  readPeerReset(section, "for its messages, instead of outbox.peer_reset", peer.peerReset);
}

/// No networks are no limit, which is the opposite of what an empty list seems to say.
void requireSomeNetwork(Section& section, const std::vector<std::string>& networks) {
  if (section.has("networks") && networks.empty()) {
    section.problem("networks", "is empty, which would permit every address: name networks, such as public");
  }
}

/// Reads a peer but for its name. Returns whether it is sound.
bool readPeer(Section& section, HttpSender& probe, const OutboxOptions& outbox, PeerOptions& peer,
              std::shared_ptr<OauthTokens>& oauth) {
  section.text({"url", "where its inbox is"}, peer.url);
  section.filled({"agent", "its agent URI; with it, its ACK events settle messages"}, peer.agent);
  section.flag({"allow_plain_http", "whether url may be http:// to another machine"}, peer.allowPlainHttp);
  section.texts(
      {"networks", "where url may lead: networks such as 10.0.0.0/8, addresses, public, loopback; without it all"},
      peer.networks);
  requireSomeNetwork(section, peer.networks);
  section.choice<PeerProfile>({"profile", "the standard that it receives by"}, peer.profile,
                              {{"native", PeerProfile::native},
                               {"webhook", PeerProfile::webhook},
                               {"cloudevents", PeerProfile::cloudevents},
                               {"cloudevents_binary", PeerProfile::cloudeventsBinary}});
  readPeerPolicies(section, outbox, peer);
  const std::string secretsField = readSecrets(section, peer.secrets).value_or("secrets_file");
  readOwnHeaders(section, peer.headers, oauth);
  if (peer.url.empty()) {
    section.problem("url", "must be set");
  }
  return !section.reading().looksAtFiles || checkPeer(section, probe, peer, secretsField, outbox.ackedRetention);
}

void readPeers(Section& root, const HttpSenderOptions& sender, OutboxOptions& outbox, TokensOfPeers& tokens) {
  HttpSender probe(sender);
  std::vector<bool> sound;
  root.objects("peers", [&](Section& section) {
    PeerOptions peer;
    section.text({"name", "the name that messages address"}, peer.name);
    std::shared_ptr<OauthTokens> oauth;
    sound.push_back(readPeer(section, probe, outbox, peer, oauth));
    if (oauth) {
      tokens.insert_or_assign(peer.name, std::move(oauth));
    }
    outbox.peers.push_back(std::move(peer));
  });
  checkPeers(root, probe, outbox.peers, sound);
}

void readAddedPeers(Section& root, AddedPeersConfig& added) {
  root.object("added_peers", [&](Section& section) {
    section.path({"secrets_folder", "where the files are that peers which callers add may name; without it none"},
                 added.secretsFolder);
    section.texts({"networks", "the networks that peers which callers add may be in, as in peers[].networks"},
                  added.networks);
    requireSomeNetwork(section, added.networks);
    checkNetworks(section, "networks", added.networks);
  });
}

/// Returns the secrets field of each peer.
std::vector<std::string> readSenders(Section& section, std::vector<InboundPeer>& peers) {
  std::vector<std::string> secretsFields;
  section.objects("peers", [&](Section& inner) {
    InboundPeer peer;
    inner.texts({"agents", "the agent URIs that it may use"}, peer.agents);
    inner.flag({"by_certificate", "whether its certificate alone proves who it is"}, peer.byCertificate);
    inner.flag({"by_mailbox", "whether frames that inbox.fetch fetches and that name it as their source are believed"},
               peer.byMailbox);
    inner.flag({"may_send", "whether it may send messages"}, peer.maySend);
    inner.flag({"may_ack", "whether it may send ACK events"}, peer.mayAck);
    inner.texts({"mailboxes",
                 "the agents whose mailboxes it keeps, as URIs or beginnings with *: its ACK events are "
                 "believed for messages to these, too"},
                peer.mailboxes);
    inner.texts({"sessions", "the sessions that it may use, as names or beginnings with *; none: all"}, peer.sessions);
    const std::optional<std::string> field = readSecrets(inner, peer.secrets);
    // A problem with the secrets was reported already; avoids a second report that they are missing.
    peer.byCertificate = peer.byCertificate || !field;
    secretsFields.push_back(field.value_or("secrets_file"));
    peers.push_back(std::move(peer));
  });
  return secretsFields;
}

void readDeliver(Section& section, const HttpSenderOptions& sender, std::vector<DeliveryRule>& rules) {
  section.objects("deliver", [&](Section& inner) {
    DeliveryRule rule;
    inner.text({"types", "the types that go to it, as a name or a beginning with *"}, rule.types);
    inner.text({"url", "where the application takes them"}, rule.url);
    inner.flag({"allow_plain_http", "whether url may be http:// to another machine"}, rule.allowPlainHttp);
    inner.duration({"timeout", "how long it may take to answer"}, rule.timeout, kShortest, kDeliveryMost);
    const std::string secretsField = readSecrets(inner, rule.secrets).value_or("secrets_file");
    readOwnHeaders(inner, rule.headers, rule.oauth);
    if (const std::string_view problem = patternProblem(rule.types); !problem.empty()) {
      inner.problem("types", std::string(problem));
    }
    if (rule.url.empty()) {
      inner.problem("url", "must be set");
    } else {
      checkDelivery(inner, sender, rule, secretsField);
    }
    rules.push_back(std::move(rule));
  });
}

void readMailboxes(Section& section, const std::string& agent, InboxConfig& inbox) {
  section.texts(
      {"mailboxes",
       "the agents that fetch their frames here because they cannot be reached, as URIs or beginnings with *"},
      inbox.mailboxes);
  for (const std::string& pattern : inbox.mailboxes) {
    if (const std::string_view problem = patternProblem(pattern); pattern.empty() || !problem.empty()) {
      section.problem("mailboxes", pattern.empty() ? "has an empty name" : std::string(problem));
    } else if (pattern == agent) {
      section.problem("mailboxes", "names this agent itself: its frames go to deliver or pull");
    }
  }
  section.option(protocol::inboundOptionRows(), "deferred.mailboxes.mailboxFramesMax", inbox.handler);
}

/// A frame's limit is enough: that of a request follows it.
void readSizes(Section& section, InboundOptions& handler) {
  constexpr std::size_t kEnvelope = std::size_t{64} * 1024;
  section.option(protocol::inboundOptionRows(), "frameBytesMax", handler);
  handler.bodyBytesMax = std::max(handler.bodyBytesMax, handler.frameBytesMax + kEnvelope);
}

void readInbox(Section& root, const HttpSenderOptions& sender, const std::string& agent,
               std::optional<InboxConfig>& config) {
  root.object("inbox", [&](Section& section) {
    InboxConfig& inbox = config.emplace();
    readListen(section, "where peers send to: unix:PATH, or a numeric address and a port", inbox.server.address,
               inbox.server.port);
    section.text({"path", "the path of the inbox"}, inbox.server.path);
    section.option(transport::serverOptionRows(), "connectionsMax", inbox.server);
    readTls(section, inbox.server.tls);
    section.flag({"allow_plain_http", "whether it listens beyond this machine without TLS"},
                 inbox.server.allowPlainHttp);
    section.flag({"allow_anonymous", "whether requests without a proof of their sender are taken"},
                 inbox.handler.allowAnonymous);
    readSizes(section, inbox.handler);
    section.option(protocol::inboundOptionRows(), "deferred.concurrency", inbox.handler);
    readRetry(section, inbox.handler.deferred.retry);
    const std::vector<std::string> secretsFields = readSenders(section, inbox.handler.peers);
    readDeliver(section, sender, inbox.deliver);
    section.texts({"pull", "the types that applications ask for by streams, as names or beginnings with *"},
                  inbox.pull);
    for (const std::string& types : inbox.pull) {
      if (const std::string_view problem = patternProblem(types); !problem.empty()) {
        section.problem("pull", std::string(problem));
      }
    }
    readMailboxes(section, agent, inbox);
    readFetch(section, sender.tls, agent, inbox.fetch);
    inbox.isListening = inbox.fetch.empty() || section.has("listen");
    if (!section.has("deliver") && !section.has("pull") && !section.has("mailboxes")) {
      section.problem("deliver",
                      "must name the applications that frames go to, or pull the types that they ask for; where only "
                      "acknowledgements come, pull is []");
    }
    checkInbox(section, inbox.server, inbox.handler, agent, secretsFields);
  });
}

/// Checks both addresses for a collision.
void checkPlaces(Section& root, const Config& config) {
  const ApiConfig& api = config.api;
  if (config.inbox && config.inbox->isListening &&
      transport::ListenAddress(api.address, api.port)
          .collidesWith(transport::ListenAddress(config.inbox->server.address, config.inbox->server.port))) {
    root.problem("inbox.listen", "must be another one than listen: peers and callers of the API have each their own");
  }
}

void readSender(Section& root, HttpSenderOptions& sender) {
  root.object("sender", [&](Section& section) {
    section.path({"authority_file", "the authorities of peers' certificates; without it the system's"},
                 sender.tls.authorityFile);
    section.path({"certificate_file", "this agent's certificate, with its chain, in PEM"}, sender.tls.certificateFile);
    section.path({"key_file", "its private key, without a passphrase"}, sender.tls.keyFile);
    for (const char* const field :
         {"connectionsMax", "connectionAge", "idleTimeout", "responseBytesMax", "headerBytesMax"}) {
      section.option(transport::senderOptionRows(), field, sender);
    }
    if (!checkTls(section, sender.tls)) {
      // Otherwise each use of them would be refused for the same reason.
      sender.tls = {};
    }
  });
}

void readLog(Section& root, Config& config) {
  root.object("log", [&](Section& section) {
    section.choice<LogFormat>({"format", "of the records on standard error"}, config.logFormat,
                              {{"key_value", LogFormat::keyValue}, {"json", LogFormat::json}});
    section.choice<LogLevel>({"level", "records below it are left out"}, config.outbox.logLevel,
                             {{"debug", LogLevel::debug},
                              {"info", LogLevel::info},
                              {"warning", LogLevel::warning},
                              {"error", LogLevel::error}});
  });
}

void readTraces(Section& root, TracesConfig& traces) {
  root.object("traces", [&](Section& section) {
    section.text({"url", "of a collector of OTLP in JSON, such as http://127.0.0.1:4318/v1/traces"}, traces.url);
    section.text({"service_name", "of the spans; without it the agent's URI"}, traces.serviceName);
    const transport::ParsedUrl parsed = transport::parseUrl(traces.url);
    if (!parsed.url) {
      section.problem("url", parsed.error);
    } else if (!parsed.url->isEncrypted && !parsed.url->isLoopback()) {
      section.problem("url", "must be https:// beyond this machine");
    }
  });
}

Config readAll(const ConfigNode& root, ConfigReading& reading) {
  Config config;
  // So that a script that enqueued a message can ask for its state a little later.
  config.outbox.ackedRetention = std::chrono::minutes(10);
  Section section(root, {}, reading);
  readApi(section, config.api);
  readOutbox(section, config.outbox);
  readSender(section, config.sender);
  readPeers(section, config.sender, config.outbox, config.oauth);
  readAddedPeers(section, config.addedPeers);
  checkOutbox(section, config.outbox);
  readInbox(section, config.sender, config.outbox.agent, config.inbox);
  const auto isOfListen = [](const ConfigProblem& problem) { return problem.field.ends_with("listen"); };
  if (std::ranges::none_of(reading.problems, isOfListen)) {
    checkPlaces(section, config);
  }
  readTraces(section, config.traces);
  readLog(section, config);
  // A file without configured peers only receives, or another process configured its peers.
  config.outbox.adoptPeers = config.outbox.peers.empty();
  return config;
}

}  // namespace

Config readConfig(std::string_view text, const std::vector<ConfigOverride>& overrides,
                  std::vector<ConfigProblem>& problems, const std::filesystem::path& folder) {
  ConfigNode root{.kind = ConfigNode::Kind::object};
  if (!text.empty()) {
    root = parseConfig(text, problems);
  }
  if (!problems.empty()) {
    return {};
  }
  for (const ConfigOverride& override : overrides) {
    overrideField(root, override, problems);
  }
  ConfigReading reading{problems, folder};
  Config config = readAll(root, reading);
  // Problems of the file first, by line, and then those of the command line.
  std::ranges::stable_sort(
      problems, {}, [](const ConfigProblem& problem) { return std::pair(!problem.option.empty(), problem.line); });
  return config;
}

PeerOptions readPeerDefinition(const std::string& name, std::string_view text, const Config& config, bool looksAtFiles,
                               std::vector<ConfigProblem>& problems, std::shared_ptr<OauthTokens>* oauth) {
  PeerOptions peer;
  peer.name = name;
  const ConfigNode root = parseConfig(text, problems);
  if (!problems.empty()) {
    return peer;
  }
  ConfigReading reading{.problems = problems,
                        .folder = config.addedPeers.secretsFolder,
                        .isOfCaller = true,
                        .looksAtFiles = looksAtFiles};
  HttpSender probe(config.sender);
  Section section(root, {}, reading);
  // A peer that is in the file already stays, whatever its name.
  if (looksAtFiles && (!protocol::isPlainText(name, name.size()) || name == "." || name == "..")) {
    section.problem("name", "must be UTF-8 without control characters, and not . or .., which no address can name");
  }
  if (section.has("networks")) {
    section.problem("networks", "is for the configuration only: added_peers.networks counts");
  }
  std::shared_ptr<OauthTokens> tokens;
  readPeer(section, probe, config.outbox, peer, tokens);
  if (oauth != nullptr) {
    *oauth = std::move(tokens);
  }
  peer.networks = config.addedPeers.networks;
  return peer;
}

PeerOptions definedPeer(const std::string& name, std::string_view text, const Config& config,
                        std::shared_ptr<OauthTokens>* oauth) {
  std::vector<ConfigProblem> problems;
  PeerOptions peer = readPeerDefinition(name, text, config, false, problems, oauth);
  std::string rest;
  for (std::size_t index = 1; index < problems.size(); ++index) {
    rest += "; " + problems[index].field + ": " + problems[index].what;
  }
  if (!problems.empty()) {
    throw OptionError(problems.front().field, problems.front().what + rest);
  }
  return peer;
}

std::vector<FieldNote> configFields() {
  std::vector<ConfigProblem> ignored;
  std::vector<FieldNote> notes;
  ConfigReading reading{ignored, {}, &notes};
  static_cast<void>(readAll(ConfigNode{.kind = ConfigNode::Kind::object}, reading));
  return notes;
}

std::string describe(const ConfigProblem& problem, const std::filesystem::path& file) {
  std::string text = !problem.option.empty() ? problem.option : file.empty() ? "command line" : file.string();
  if (problem.option.empty() && problem.line > 0) {
    text += ":" + std::to_string(problem.line);
  }
  // `--listen` implies its field.
  const bool isSaid = problem.field.empty() || text == "--" + problem.field;
  return text + ": " + (isSaid ? std::string() : problem.field + ": ") + problem.what;
}

}  // namespace ackbox::serve
