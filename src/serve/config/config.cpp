#include "serve/config/config.hpp"

#include <charconv>
#include <chrono>

#include "ackbox/error.hpp"
#include "serve/config/section.hpp"
#include "serve/inbox/pattern.hpp"
#include "transport/url.hpp"

namespace ackbox::serve {
namespace {

constexpr std::uint64_t kFrameBytesMost = std::uint64_t{64} * 1024 * 1024;

/// `unix:PATH`, `127.0.0.1:7070` or `[::1]:7070`; absent: as it is.
void readListen(Section& section, std::string& address, std::uint16_t& port) {
  std::string text;
  section.text("listen", text);
  if (text.empty() || text.starts_with("unix:")) {
    address = text.empty() ? address : text;
    port = text.empty() ? port : std::uint16_t{0};
    return;
  }
  const std::size_t colon = text.rfind(':');
  const char* const last = text.data() + text.size();
  const char* const first = colon == std::string::npos ? last : text.data() + colon + 1;
  const auto [end, error] = std::from_chars(first, last, port);
  address = text.substr(0, colon);
  if (address.starts_with('[') && address.ends_with(']')) {
    address = address.substr(1, address.size() - 2);
  }
  if (first == last || error != std::errc() || end != last || address.empty()) {
    section.problem("listen", "must be unix:PATH, or a numeric address and a port, such as 127.0.0.1:7070");
  }
}

bool isLoopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1";
}

void readTls(Section& section, TlsServerOptions& tls) {
  section.object("tls", [&](Section& inner) {
    inner.path("certificate_file", tls.certificateFile);
    inner.path("key_file", tls.keyFile);
    inner.path("client_authority_file", tls.clientAuthorityFile);
    inner.path("crl_file", tls.crlFile);
    if (tls.certificateFile.empty() || tls.keyFile.empty()) {
      inner.problem("certificate_file", "certificate_file and key_file must both be set");
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
  const bool isOfThisMachine = api.address.starts_with("unix:") || isLoopback(api.address);
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
    section.duration("busy_timeout", outbox.busyTimeout);
    section.count("max_pending", outbox.maxPending);
    section.count("max_pending_bytes", outbox.maxPendingBytes);
    section.count("frame_bytes_max", outbox.frameBytesMax, 1, kFrameBytesMost);
    section.duration("idempotency_retention", outbox.idempotencyRetention);
    section.count("batch_frames", outbox.batchFrames, 1, 256);
    section.count("batch_bytes", outbox.batchBytes, 1);
    section.duration("request_timeout", outbox.requestTimeout);
    section.duration("ack_timeout", outbox.ackTimeout);
    section.duration("acked_retention", outbox.ackedRetention);
    section.duration("stop_timeout", outbox.stopTimeout);
    section.choice<GapPolicy>("gap", outbox.gap, {{"skip", GapPolicy::skip}, {"block", GapPolicy::block}});
    section.choice<PeerResetPolicy>("peer_reset", outbox.peerReset,
                                    {{"proceed", PeerResetPolicy::proceed}, {"resend", PeerResetPolicy::resend}});
    readRetry(section, outbox.retry);
  });
}

void readSecrets(Section& section, SecretSource& secrets) {
  std::filesystem::path file;
  std::string variable;
  section.path("secrets_file", file);
  section.text("secrets_environment", variable);
  if (!file.empty() && !variable.empty()) {
    section.problem("secrets_file", "and secrets_environment cannot both be set");
  } else if (!file.empty()) {
    secrets = SecretSource::file(file);
  } else if (!variable.empty()) {
    try {
      secrets = SecretSource::environment(variable);
    } catch (const Error& error) {
      section.problem("secrets_environment", error.what());
    }
  }
}

void readPeers(Section& root, std::vector<PeerOptions>& peers) {
  root.objects("peers", [&](Section& section) {
    PeerOptions peer;
    section.text("name", peer.name);
    section.text("url", peer.url);
    section.text("agent", peer.agent);
    section.count("max_requests", peer.maxRequests, 1, 64);
    section.flag("allow_plain_http", peer.allowPlainHttp);
    section.choice<PeerProfile>("profile", peer.profile,
                                {{"native", PeerProfile::native}, {"webhook", PeerProfile::webhook}});
    readSecrets(section, peer.secrets);
    if (peer.url.empty()) {
      section.problem("url", "must be set");
    }
    peers.push_back(std::move(peer));
  });
}

void readSenders(Section& section, std::vector<InboundPeer>& peers) {
  section.objects("peers", [&](Section& inner) {
    InboundPeer peer;
    inner.texts("agents", peer.agents);
    inner.flag("by_certificate", peer.byCertificate);
    inner.flag("may_send", peer.maySend);
    inner.flag("may_ack", peer.mayAck);
    inner.texts("sessions", peer.sessions);
    readSecrets(inner, peer.secrets);
    peers.push_back(std::move(peer));
  });
}

void readDeliver(Section& section, std::vector<DeliveryRule>& rules) {
  section.objects("deliver", [&](Section& inner) {
    DeliveryRule rule;
    inner.text("types", rule.types);
    inner.text("url", rule.url);
    inner.duration("timeout", rule.timeout);
    readSecrets(inner, rule.secrets);
    if (const std::string_view problem = patternProblem(rule.types); !problem.empty()) {
      inner.problem("types", std::string(problem));
    }
    if (rule.url.empty()) {
      inner.problem("url", "must be set");
    }
    // A run that makes no progress within DeferredOptions::timeout is ended.
    if (rule.timeout < std::chrono::milliseconds(1) || rule.timeout > std::chrono::minutes(4)) {
      inner.problem("timeout", "must be from 1ms to 4m");
    }
    rules.push_back(std::move(rule));
  });
}

void readInbox(Section& root, std::optional<InboxConfig>& config) {
  root.object("inbox", [&](Section& section) {
    InboxConfig& inbox = config.emplace();
    readListen(section, inbox.server.address, inbox.server.port);
    section.text("path", inbox.server.path);
    readTls(section, inbox.server.tls);
    section.flag("allow_plain_http", inbox.server.allowPlainHttp);
    section.flag("allow_anonymous", inbox.handler.allowAnonymous);
    section.count("concurrency", inbox.handler.deferred.concurrency, 1, 256);
    readRetry(section, inbox.handler.deferred.retry);
    readSenders(section, inbox.handler.peers);
    readDeliver(section, inbox.deliver);
    section.texts("pull", inbox.pull);
    for (const std::string& types : inbox.pull) {
      if (const std::string_view problem = patternProblem(types); !problem.empty()) {
        section.problem("pull", std::string(problem));
      }
    }
    if (inbox.deliver.empty() && inbox.pull.empty()) {
      section.problem("deliver", "must name the applications that frames go to, or pull the types that they ask for");
    }
  });
}

void readSender(Section& root, HttpSenderOptions& sender) {
  root.object("sender", [&](Section& section) {
    section.path("authority_file", sender.tls.authorityFile);
    section.path("certificate_file", sender.tls.certificateFile);
    section.path("key_file", sender.tls.keyFile);
    section.count("connections_max", sender.connectionsMax, 1, 65'536);
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

Config readConfig(std::string_view text, const std::vector<std::pair<std::string, std::string>>& overrides,
                  std::vector<ConfigProblem>& problems) {
  Config config;
  // So that a script that enqueued a message can ask for its state a little later.
  config.outbox.ackedRetention = std::chrono::minutes(10);
  ConfigNode root{.kind = ConfigNode::Kind::object};
  if (!text.empty()) {
    root = parseConfig(text, problems);
  }
  for (const auto& [field, value] : overrides) {
    overrideField(root, field, value, problems);
  }
  if (!problems.empty()) {
    return config;
  }
  {
    Section section(root, {}, problems);
    readApi(section, config.api);
    readOutbox(section, config.outbox);
    readPeers(section, config.outbox.peers);
    readSender(section, config.sender);
    readInbox(section, config.inbox);
    readTraces(section, config.traces);
    readLog(section, config);
    // A file without peers receives, or was given its peers by another process.
    config.outbox.adoptPeers = config.outbox.peers.empty();
  }
  if (problems.empty()) {
    try {
      validate(config.outbox);
    } catch (const Error& error) {
      problems.push_back({0, "outbox", error.what()});
    }
  }
  return config;
}

std::string describe(const ConfigProblem& problem, const std::filesystem::path& file) {
  std::string text = file.empty() ? "command line" : file.string();
  if (problem.line > 0) {
    text += ":" + std::to_string(problem.line);
  }
  return text + ": " + (problem.field.empty() ? std::string() : problem.field + ": ") + problem.what;
}

}  // namespace ackbox::serve
