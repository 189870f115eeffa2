#pragma once

#include <cstdint>
#include <filesystem>
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

namespace ackbox::serve {

/// Where `ackbox serve` listens for its applications and people.
struct ApiConfig {
  /// `unix:PATH`, or a numeric address and a port. Default: a port on loopback.
  std::string address = "127.0.0.1";
  std::uint16_t port = 7070;
  TlsServerOptions tls = {};
  /// Empty: no tokens.
  std::filesystem::path tokensFile = {};
  /// Values of `Host` beside those of loopback. Not looked at on a socket file.
  std::vector<std::string> allowedHosts = {};
  bool openHealth = true;
  bool openMetrics = false;
};

/// Where peers send to, and how their frames go to applications.
struct InboxConfig {
  InboundServerOptions server = {};
  InboundOptions handler = {};
  /// Of several that fit a frame, the first.
  std::vector<DeliveryRule> deliver = {};
  /// Types, or beginnings of types with `*` behind them. Applications take frames of these from streams, where no entry
  /// of `deliver` fits. Others stay with their sender: nobody here would ever look at them.
  std::vector<std::string> pull = {};
};

/// Where spans of traces go.
struct TracesConfig {
  /// Of a collector that takes OTLP in JSON over HTTP, such as `http://127.0.0.1:4318/v1/traces`. Empty: nowhere.
  std::string url = {};
  /// The resource attribute `service.name`. Empty: the agent's URI, or `ackbox` without one.
  std::string serviceName = {};
};

/// All that a configuration file says. Names and defaults are those of the options that they set, but for
/// `acked_retention`.
struct Config {
  ApiConfig api = {};
  OutboxOptions outbox = {};
  HttpSenderOptions sender = {};
  /// Nothing: no peer can send here.
  std::optional<InboxConfig> inbox = {};
  TracesConfig traces = {};
  LogFormat logFormat = LogFormat::keyValue;
};

/// Reads the text of a configuration file, empty for none, and then what the command line says besides; and the files
/// that these name, as the start will. Adds all that is wrong to `problems`, in the order of the lines; what it returns
/// is of use only if there is nothing. Makes and binds nothing. `folder`: the file's, where the paths in it begin;
/// those of the command line begin where the process was started.
[[nodiscard]] Config readConfig(std::string_view text, const std::vector<ConfigOverride>& overrides,
                                std::vector<ConfigProblem>& problems, const std::filesystem::path& folder = {});

/// All fields of a configuration, as `readConfig` takes them, in its order.
[[nodiscard]] std::vector<FieldNote> configFields();

/// `serve.json:12: peers[0].url: must be …`, as compilers print it, or `--set: …`.
[[nodiscard]] std::string describe(const ConfigProblem& problem, const std::filesystem::path& file);

}  // namespace ackbox::serve
