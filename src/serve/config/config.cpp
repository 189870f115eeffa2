#include "serve/config/config.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <optional>

#include "ackbox/error.hpp"
#include "base/pattern.hpp"
#include "serve/config/checks.hpp"
#include "serve/config/section.hpp"
#include "transport/listener.hpp"
#include "transport/stream.hpp"
#include "transport/url.hpp"

namespace ackbox::serve {
namespace {

constexpr std::uint64_t kFrameBytesMost = std::uint64_t{64} * 1024 * 1024;
constexpr std::uint64_t kAnswerBytesMost = std::uint64_t{64} * 1024 * 1024;
constexpr std::chrono::milliseconds kShortest{1};
// SQLite takes it as an `int`.
constexpr std::chrono::milliseconds kBusyTimeoutMost{std::numeric_limits<int>::max()};
// A run that makes no progress within `DeferredOptions::timeout` is ended.
constexpr std::chrono::minutes kDeliveryMost{4};

/// `unix:PATH`, `127.0.0.1:7070` or `[::1]:7070`; absent, or wrong: as it is.
void readListen(Section& section, std::string& address, std::uint16_t& port) {
  std::string text;
  section.filled("listen", text);
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
    inner.path("certificate_file", tls.certificateFile);
    inner.path("key_file", tls.keyFile);
    inner.path("client_authority_file", tls.clientAuthorityFile);
    inner.path("crl_file", tls.crlFile);
    if (tls.certificateFile.empty() || tls.keyFile.empty()) {
      inner.problem("certificate_file", "certificate_file and key_file must both be set");
    } else if (!tls.crlFile.empty() && tls.clientAuthorityFile.empty()) {
      inner.problem("crl_file", "needs client_authority_file, whose certificates it is of");
    } else {
      checkTls(inner, tls);
    }
  });
}

void readApi(Section& root, ApiConfig& api) {
  readListen(root, api.address, api.port);
  readTls(root, api.tls);
  root.path("tokens_file", api.tokensFile);
  root.texts("allowed_hosts", api.allowedHosts);
  root.flag("open_health", api.openHealth);
  root.flag("open_metrics", api.openMetrics);
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

void readRetry(Section& section, RetryPolicy& retry) {
  section.object("retry", [&](Section& inner) {
    inner.count("max_retries", retry.maxRetries);
    inner.duration("horizon", retry.horizon);
  });
}

void readOutbox(Section& root, OutboxOptions& outbox) {
  root.text("agent", outbox.agent);
  root.object("outbox", [&](Section& section) {
    section.text("table_prefix", outbox.tablePrefix);
    section.duration("busy_timeout", outbox.busyTimeout, std::chrono::milliseconds(0), kBusyTimeoutMost);
    section.count("max_pending", outbox.maxPending);
    section.count("max_pending_bytes", outbox.maxPendingBytes);
    section.count("frame_bytes_max", outbox.frameBytesMax, 1, kFrameBytesMost);
    section.duration("idempotency_retention", outbox.idempotencyRetention);
    section.count("batch_frames", outbox.batchFrames, 1, 256);
    section.count("batch_bytes", outbox.batchBytes, 1);
    section.duration("request_timeout", outbox.requestTimeout, kShortest);
    section.duration("ack_timeout", outbox.ackTimeout, kShortest);
    section.duration("acked_retention", outbox.ackedRetention);
    section.duration("stop_timeout", outbox.stopTimeout);
    section.choice<GapPolicy>("gap", outbox.gap, {{"skip", GapPolicy::skip}, {"block", GapPolicy::block}});
    section.choice<PeerResetPolicy>("peer_reset", outbox.peerReset,
                                    {{"proceed", PeerResetPolicy::proceed}, {"resend", PeerResetPolicy::resend}});
    readRetry(section, outbox.retry);
  });
}

/// Returns the field that they come from, or that they would come from; nothing: something is wrong with them.
std::optional<std::string> readSecrets(Section& section, SecretSource& secrets) {
  std::filesystem::path file;
  std::string variable;
  section.path("secrets_file", file);
  section.filled("secrets_environment", variable);
  if (!file.empty() && !variable.empty()) {
    section.problem("secrets_file", "and secrets_environment cannot both be set");
    return std::nullopt;
  }
  const std::string field = variable.empty() ? "secrets_file" : "secrets_environment";
  if (!variable.empty() && std::getenv(variable.c_str()) == nullptr) {
    section.problem(field, "the environment has no variable '" + variable + "'; set it, or name a secrets_file");
    return std::nullopt;
  }
  if (file.empty() && variable.empty()) {
    return field;
  }
  SecretSource source = variable.empty() ? SecretSource::file(file) : SecretSource::environment(variable);
  if (!checkSecrets(section, field, file, source)) {
    return std::nullopt;
  }
  secrets = std::move(source);
  return field;
}

void readPeers(Section& root, const HttpSenderOptions& sender, std::vector<PeerOptions>& peers) {
  HttpSender probe(sender);
  std::vector<bool> sound;
  root.objects("peers", [&](Section& section) {
    PeerOptions peer;
    section.text("name", peer.name);
    section.text("url", peer.url);
    section.text("agent", peer.agent);
    section.count("max_requests", peer.maxRequests, 1, 64);
    section.flag("allow_plain_http", peer.allowPlainHttp);
    section.choice<PeerProfile>("profile", peer.profile,
                                {{"native", PeerProfile::native},
                                 {"webhook", PeerProfile::webhook},
                                 {"cloudevents", PeerProfile::cloudevents},
                                 {"cloudevents_binary", PeerProfile::cloudeventsBinary}});
    const std::string secretsField = readSecrets(section, peer.secrets).value_or("secrets_file");
    if (peer.url.empty()) {
      section.problem("url", "must be set");
    }
    sound.push_back(checkPeer(section, probe, peer, secretsField));
    peers.push_back(std::move(peer));
  });
  checkPeers(root, probe, peers, sound);
}

/// Returns the field of each one's secrets.
std::vector<std::string> readSenders(Section& section, std::vector<InboundPeer>& peers) {
  std::vector<std::string> secretsFields;
  section.objects("peers", [&](Section& inner) {
    InboundPeer peer;
    inner.texts("agents", peer.agents);
    inner.flag("by_certificate", peer.byCertificate);
    inner.flag("may_send", peer.maySend);
    inner.flag("may_ack", peer.mayAck);
    inner.texts("sessions", peer.sessions);
    const std::optional<std::string> field = readSecrets(inner, peer.secrets);
    // What is wrong with its secrets was said, and is not to be said again as a want of them.
    peer.byCertificate = peer.byCertificate || !field;
    secretsFields.push_back(field.value_or("secrets_file"));
    peers.push_back(std::move(peer));
  });
  return secretsFields;
}

void readDeliver(Section& section, const HttpSenderOptions& sender, std::vector<DeliveryRule>& rules) {
  section.objects("deliver", [&](Section& inner) {
    DeliveryRule rule;
    inner.text("types", rule.types);
    inner.text("url", rule.url);
    inner.flag("allow_plain_http", rule.allowPlainHttp);
    inner.duration("timeout", rule.timeout, kShortest, kDeliveryMost);
    const std::string secretsField = readSecrets(inner, rule.secrets).value_or("secrets_file");
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

void readInbox(Section& root, const HttpSenderOptions& sender, const std::string& agent,
               std::optional<InboxConfig>& config) {
  root.object("inbox", [&](Section& section) {
    InboxConfig& inbox = config.emplace();
    readListen(section, inbox.server.address, inbox.server.port);
    section.text("path", inbox.server.path);
    readTls(section, inbox.server.tls);
    section.flag("allow_plain_http", inbox.server.allowPlainHttp);
    section.flag("allow_anonymous", inbox.handler.allowAnonymous);
    section.count("concurrency", inbox.handler.deferred.concurrency, 1, 256);
    readRetry(section, inbox.handler.deferred.retry);
    const std::vector<std::string> secretsFields = readSenders(section, inbox.handler.peers);
    readDeliver(section, sender, inbox.deliver);
    section.texts("pull", inbox.pull);
    for (const std::string& types : inbox.pull) {
      if (const std::string_view problem = patternProblem(types); !problem.empty()) {
        section.problem("pull", std::string(problem));
      }
    }
    if (!section.has("deliver") && !section.has("pull")) {
      section.problem("deliver",
                      "must name the applications that frames go to, or pull the types that they ask for; where only "
                      "acknowledgements come, pull is []");
    }
    checkInbox(section, inbox.server, inbox.handler, agent, secretsFields);
  });
}

/// Both were taken.
void checkPlaces(Section& root, const Config& config) {
  const ApiConfig& api = config.api;
  if (config.inbox &&
      transport::ListenAddress(api.address, api.port)
          .collidesWith(transport::ListenAddress(config.inbox->server.address, config.inbox->server.port))) {
    root.problem("inbox.listen", "must be another one than listen: peers and callers of the API have each their own");
  }
}

void readSender(Section& root, HttpSenderOptions& sender) {
  root.object("sender", [&](Section& section) {
    section.path("authority_file", sender.tls.authorityFile);
    section.path("certificate_file", sender.tls.certificateFile);
    section.path("key_file", sender.tls.keyFile);
    section.count("connections_max", sender.connectionsMax, 1, 65'536);
    section.duration("connection_age", sender.connectionAge, kShortest);
    section.duration("idle_timeout", sender.idleTimeout, kShortest);
    section.count("response_bytes_max", sender.responseBytesMax, 1, kAnswerBytesMost);
    section.count("header_bytes_max", sender.headerBytesMax, transport::kHeaderBytesLeast, transport::kHeaderBytesMost);
    if (!checkTls(section, sender.tls)) {
      // Those that use them would only be refused for the same.
      sender.tls = {};
    }
  });
}

void readLog(Section& root, Config& config) {
  root.object("log", [&](Section& section) {
    section.choice<LogFormat>("format", config.logFormat,
                              {{"key_value", LogFormat::keyValue}, {"json", LogFormat::json}});
    section.choice<LogLevel>("level", config.outbox.logLevel,
                             {{"debug", LogLevel::debug},
                              {"info", LogLevel::info},
                              {"warning", LogLevel::warning},
                              {"error", LogLevel::error}});
  });
}

void readTraces(Section& root, TracesConfig& traces) {
  root.object("traces", [&](Section& section) {
    section.text("url", traces.url);
    section.text("service_name", traces.serviceName);
    const transport::ParsedUrl parsed = transport::parseUrl(traces.url);
    if (!parsed.url) {
      section.problem("url", parsed.error);
    } else if (!parsed.url->isEncrypted && !parsed.url->isLoopback()) {
      section.problem("url", "must be https:// beyond this machine");
    }
  });
}

}  // namespace

Config readConfig(std::string_view text, const std::vector<ConfigOverride>& overrides,
                  std::vector<ConfigProblem>& problems, const std::filesystem::path& folder) {
  Config config;
  // So that a script that enqueued a message can ask for its state a little later.
  config.outbox.ackedRetention = std::chrono::minutes(10);
  ConfigNode root{.kind = ConfigNode::Kind::object};
  if (!text.empty()) {
    root = parseConfig(text, problems);
  }
  if (!problems.empty()) {
    return config;
  }
  for (const ConfigOverride& override : overrides) {
    overrideField(root, override, problems);
  }
  {
    Section section(root, {}, problems, folder);
    readApi(section, config.api);
    readOutbox(section, config.outbox);
    readSender(section, config.sender);
    readPeers(section, config.sender, config.outbox.peers);
    checkOutbox(section, config.outbox);
    readInbox(section, config.sender, config.outbox.agent, config.inbox);
    const auto isOfListen = [](const ConfigProblem& problem) { return problem.field.ends_with("listen"); };
    if (std::ranges::none_of(problems, isOfListen)) {
      checkPlaces(section, config);
    }
    readTraces(section, config.traces);
    readLog(section, config);
    // A file without peers receives, or was given its peers by another process.
    config.outbox.adoptPeers = config.outbox.peers.empty();
  }
  // As the file has them, and then the command line.
  std::ranges::stable_sort(
      problems, {}, [](const ConfigProblem& problem) { return std::pair(!problem.option.empty(), problem.line); });
  return config;
}

std::string describe(const ConfigProblem& problem, const std::filesystem::path& file) {
  std::string text = !problem.option.empty() ? problem.option : file.empty() ? "command line" : file.string();
  if (problem.option.empty() && problem.line > 0) {
    text += ":" + std::to_string(problem.line);
  }
  // `--listen` says its field by itself.
  const bool isSaid = problem.field.empty() || text == "--" + problem.field;
  return text + ": " + (isSaid ? std::string() : problem.field + ": ") + problem.what;
}

}  // namespace ackbox::serve
