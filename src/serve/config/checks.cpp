#include "serve/config/checks.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <cctype>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "ackbox/error.hpp"
#include "base/nested_error.hpp"
#include "protocol/own_headers.hpp"
#include "protocol/signature.hpp"
#include "serve/config/regular_file.hpp"
#include "serve/http/host.hpp"
#include "serve/http/tokens.hpp"
#include "serve/inbox/pusher.hpp"
#include "transport/http_server.hpp"
#include "transport/listener.hpp"
#include "transport/mailbox_run.hpp"
#include "transport/networks.hpp"
#include "transport/tls_context.hpp"

namespace ackbox::serve {
namespace {

// For certificates with their chain, keys and revocation lists.
constexpr std::size_t kPemBytesMax = std::size_t{16} * 1024 * 1024;
constexpr std::size_t kSecretsBytesMax = std::size_t{64} * 1024;

/// An error of the library, in the configuration's field names.
struct Refusal {
  /// Empty if the library does not name a field.
  std::string field = {};
  std::string what = {};
};

/// The configuration's name of a field in the option structures, such as `tls.key_file`.
std::string configField(std::string_view field) {
  constexpr std::string_view kDeferred = "deferred.";
  if (field == "address" || field == "port") {
    return "listen";
  }
  if (field.starts_with(kDeferred)) {
    return configField(field.substr(kDeferred.size()));
  }
  const std::size_t owner = field.rfind('.') + 1;
  return std::string(field.substr(0, owner)) + configName(field);
}

/// `text` with the option names in backquotes replaced by the configuration's names.
std::string configWords(std::string_view text) {
  std::string made;
  while (!text.empty()) {
    const std::size_t begin = text.find('`');
    const std::size_t end = begin == std::string_view::npos ? begin : text.find('`', begin + 1);
    made += text.substr(0, end == std::string_view::npos ? end : begin);
    if (end == std::string_view::npos) {
      break;
    }
    std::string_view name = text.substr(begin + 1, end - begin - 1);
    if (const std::size_t owner = name.find("::"); owner != std::string_view::npos) {
      name.remove_prefix(owner + 2);
    }
    made += configField(name);
    text.remove_prefix(end + 1);
  }
  return made;
}

Refusal inConfigNames(const Error& error) {
  const auto* const option = dynamic_cast<const OptionError*>(&error);
  if (option == nullptr) {
    return {{}, circumstancesOf(error)};
  }
  const std::string allowed = option->allowed().empty() ? std::string() : ", allowed: " + option->allowed();
  return {configField(option->field()), configWords(option->problem() + allowed)};
}

/// Calls code that throws where the start would. Returns nothing if it does not throw.
template <typename Attempt>
std::optional<Refusal> refusalOf(const Attempt& attempt) {
  try {
    attempt();
    return std::nullopt;
  } catch (const Error& error) {
    return inConfigNames(error);
  }
}

/// Reports a refusal under the field that it names, or else under `otherwise`.
bool report(Section& section, const std::optional<Refusal>& refusal, std::string_view otherwise) {
  if (refusal) {
    section.problem(refusal->field.empty() ? otherwise : std::string_view(refusal->field), refusal->what);
  }
  return !refusal;
}

/// Reduces `peers[1].url` to `url`.
std::string_view withoutPeer(std::string_view field) {
  const std::size_t bracket = field.find("].");
  return bracket == std::string_view::npos ? field : field.substr(bracket + 2);
}

/// Like `report`, for a field of one peer or application. Reports a problem with its secrets under `secretsField`.
bool reportOne(Section& section, const std::optional<Refusal>& refusal, std::string_view otherwise,
               std::string_view secretsField) {
  if (!refusal) {
    return true;
  }
  const std::string_view field = withoutPeer(refusal->field);
  return report(section, Refusal{std::string(field.starts_with("secrets") ? secretsField : field), refusal->what},
                otherwise);
}

bool checkFile(Section& section, std::string_view field, const RegularFile& file) {
  if (!file.problem.empty()) {
    section.problem(field, file.problem);
  }
  return file.problem.empty();
}

using NamedFile = std::pair<const char*, const std::filesystem::path*>;

template <typename Options>
bool checkPem(Section& section, const Options& tls, std::span<const NamedFile> files) {
  bool isFine = true;
  bool hasFile = false;
  for (const auto& [field, file] : files) {
    if (!file->empty()) {
      const bool isKey = std::string_view(field) == "key_file";
      hasFile = true;
      isFine = checkFile(section, field,
                         isKey ? readSecretFile(*file, kPemBytesMax) : readRegularFile(*file, kPemBytesMax)) &&
               isFine;
    }
  }
  if (!isFine || !hasFile) {
    return isFine;
  }
  std::optional<Refusal> refusal = refusalOf([&] { const transport::TlsContext context(tls); });
  if (refusal) {
    constexpr std::string_view kOwner = "tls.";
    refusal->field.erase(0, refusal->field.starts_with(kOwner) ? kOwner.size() : 0);
    refusal->what += "; it must be PEM, and a key without a passphrase";
  }
  return report(section, refusal, files.front().first);
}

/// `attempt` loads what the source gives, and throws if it cannot be used. `file` may be empty.
template <typename Attempt>
bool checkSource(Section& section, std::string_view field, const std::filesystem::path& file, const Attempt& attempt) {
  if (!file.empty() && !checkFile(section, field, readSecretFile(file, kSecretsBytesMax))) {
    return false;
  }
  const std::optional<Refusal> refusal = refusalOf(attempt);
  if (refusal) {
    const std::string which = refusal->field.empty() ? std::string() : refusal->field + ": ";
    section.problem(field, (file.empty() ? std::string() : file.string() + ": ") + which + refusal->what);
  }
  return !refusal;
}

std::string fieldOf(std::size_t place, std::string_view field) {
  return "peers[" + std::to_string(place) + "]." + std::string(field);
}

/// Checks the form of RFC 3986: a scheme, and text after its colon.
bool isUri(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view scheme = text.substr(0, colon);
  const auto isOfScheme = [](char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '+' || letter == '-' || letter == '.';
  };
  const auto isOfUri = [](char letter) {
    return letter > ' ' && letter <= '~' && std::string_view("\"<>\\^`{|}").find(letter) == std::string_view::npos;
  };
  return colon != std::string_view::npos && !scheme.empty() &&
         std::isalpha(static_cast<unsigned char>(scheme.front())) != 0 && std::ranges::all_of(scheme, isOfScheme) &&
         colon + 1 < text.size() && std::ranges::all_of(text, isOfUri);
}

}  // namespace

std::string inConfigWords(const Error& error) {
  const Refusal refusal = inConfigNames(error);
  return (refusal.field.empty() ? std::string() : refusal.field + ": ") + refusal.what;
}

bool checkListen(Section& section, const std::string& address, std::uint16_t port) {
  if (!refusalOf([&] { const transport::ListenAddress listen(address, port); })) {
    return true;
  }
  const bool isUnix = address.starts_with("unix:");
  section.problem("listen", isUnix ? "the path behind unix: must have 1 to 107 bytes"
                                   : "'" + address +
                                         "' is no numeric address; write unix:PATH, or an address and a port, such as "
                                         "127.0.0.1:7070");
  return false;
}

bool checkTls(Section& section, const TlsServerOptions& tls) {
  const std::array<NamedFile, 4> files = {{{"certificate_file", &tls.certificateFile},
                                           {"key_file", &tls.keyFile},
                                           {"client_authority_file", &tls.clientAuthorityFile},
                                           {"crl_file", &tls.crlFile}}};
  return checkPem(section, tls, files);
}

bool checkTls(Section& section, const TlsClientOptions& tls) {
  if (tls.certificateFile.empty() != tls.keyFile.empty()) {
    section.problem("certificate_file", "certificate_file and key_file must both be set, or neither");
    return false;
  }
  const std::array<NamedFile, 3> files = {
      {{"authority_file", &tls.authorityFile}, {"certificate_file", &tls.certificateFile}, {"key_file", &tls.keyFile}}};
  return checkPem(section, tls, files);
}

bool checkSecrets(Section& section, std::string_view field, const std::filesystem::path& file,
                  const SecretSource& secrets) {
  return checkSource(section, field, file, [&] { const protocol::KeyRing keys(secrets.load()); });
}

bool checkHeaders(Section& section, std::string_view field, const std::filesystem::path& file,
                  const SecretSource& headers) {
  return checkSource(section, field, file, [&] {
    if (protocol::OwnHeaders(headers.load()).isEmpty()) {
      throw OptionError("headers", "there is no header; add one, such as Authorization: Bearer TOKEN");
    }
  });
}

void checkHosts(Section& section, std::string_view field, const std::vector<std::string>& hosts) {
  for (const std::string& host : hosts) {
    if (!hostNameOf(host)) {
      section.problem(field, "'" + host +
                                 "' is no host; write it as browsers send it, such as outbox.example or "
                                 "10.0.0.7, without a scheme or a path");
    }
  }
}

void checkNetworks(Section& section, std::string_view field, const std::vector<std::string>& networks) {
  const auto refusal = refusalOf([&] { const transport::Networks sound(networks); });
  if (refusal) {
    section.problem(field, refusal->what);
  }
}

void checkTokens(Section& section, std::string_view field, const std::filesystem::path& file) {
  std::vector<std::string> problems;
  static_cast<void>(Tokens::read(file, problems));
  for (std::string& problem : problems) {
    section.problem(field, std::move(problem));
  }
}

bool checkPeer(Section& section, HttpSender& probe, const PeerOptions& peer, std::string_view secretsField,
               std::chrono::milliseconds ackedRetention) {
  // Checks each part separately, so that one error does not hide another.
  PeerOptions plain = peer;
  plain.secrets = {};
  plain.networks = {};
  PeerOptions nowhere = peer;
  nowhere.url = {};
  nowhere.networks = {};
  PeerOptions limited;
  limited.networks = peer.networks;
  OutboxOptions outbox;
  outbox.peers = {peer};
  outbox.ackedRetention = ackedRetention;
  const bool isAddressSound = reportOne(section, refusalOf([&] { probe.usePeers({&plain, 1}); }), "url", secretsField);
  const bool isSecretSound = reportOne(section, refusalOf([&] {
                                         probe.usePeers({&nowhere, 1});
                                       }),
                                       secretsField, secretsField);
  const bool isLimitSound = reportOne(section, refusalOf([&] {
                                        probe.usePeers({&limited, 1});
                                      }),
                                      "networks", secretsField);
  return reportOne(section, refusalOf([&] { validate(outbox); }), "name", secretsField) && isAddressSound &&
         isSecretSound && isLimitSound;
}

void checkPeers(Section& root, HttpSender& probe, const std::vector<PeerOptions>& peers,
                const std::vector<bool>& sound) {
  std::vector<PeerOptions> rest;
  std::map<std::string_view, std::size_t> places;
  for (std::size_t place = 0; place < peers.size(); ++place) {
    const PeerOptions& peer = peers[place];
    if (!sound.at(place)) {
      continue;
    }
    if (places.try_emplace(peer.name, place).second) {
      rest.push_back(peer);
    } else {
      root.problem(fieldOf(place, "name"), "'" + peer.name + "' is used twice; give each peer its own");
    }
  }
  // A peer with the same destination as another hides the errors of the peers after it.
  while (const std::optional<Refusal> refusal = refusalOf([&] { probe.usePeers(rest); })) {
    const auto wrong = std::ranges::find_if(
        rest, [&](const PeerOptions& peer) { return refusal->field == configField("peers['" + peer.name + "'].url"); });
    if (wrong == rest.end()) {
      return;
    }
    root.problem(fieldOf(places.at(wrong->name), "url"), refusal->what);
    rest.erase(wrong);
  }
}

void checkDelivery(Section& section, const HttpSenderOptions& sender, const DeliveryRule& rule,
                   std::string_view secretsField) {
  boost::asio::io_context nowhere;
  const auto refusal = [&](const DeliveryRule& one) {
    return refusalOf([&] { const Pusher probe(nowhere.get_executor(), {one}, sender, {}); });
  };
  DeliveryRule plain = rule;
  plain.secrets = {};
  if (reportOne(section, refusal(plain), "url", secretsField)) {
    reportOne(section, refusal(rule), secretsField, secretsField);
  }
}

void checkFetch(Section& section, const FetchRule& rule) {
  report(section, refusalOf([&] { transport::validate(rule.options); }), "url");
  if (!rule.tokenFile.empty() && section.reading().looksAtFiles) {
    checkHeaders(section, "token_file", rule.tokenFile, SecretSource::bearer(rule.options.token));
  }
}

void checkInbox(Section& section, const InboundServerOptions& server, const InboundOptions& handler,
                std::string_view agent, const std::vector<std::string>& secretsFields) {
  constexpr std::string_view kPeers = "peers[";
  report(section, refusalOf([&] { transport::validate(server, handler.bodyBytesMax); }), "listen");
  InboundOptions rest = handler;
  // The peers that are left, as indexes in the configuration: an error of one peer hides those of later peers.
  std::vector<std::size_t> places(handler.peers.size());
  for (std::size_t place = 0; place < places.size(); ++place) {
    places[place] = place;
  }
  while (const std::optional<Refusal> refusal = refusalOf([&] { validate(rest, agent); })) {
    const std::string& field = refusal->field;
    if (!field.starts_with(kPeers)) {
      // If a peer was removed above, the remaining list is not the one in the configuration.
      if (rest.peers.size() == handler.peers.size()) {
        report(section, refusal, "peers");
      }
      return;
    }
    const std::size_t index = std::stoul(field.substr(kPeers.size()));
    const std::size_t place = places.at(index);
    const std::string_view name = withoutPeer(field);
    section.problem(fieldOf(place, name.starts_with("secrets") ? std::string_view(secretsFields.at(place)) : name),
                    refusal->what);
    rest.peers.erase(rest.peers.begin() + static_cast<std::ptrdiff_t>(index));
    places.erase(places.begin() + static_cast<std::ptrdiff_t>(index));
  }
}

void checkOutbox(Section& root, const OutboxOptions& outbox) {
  if (!isUri(outbox.agent)) {
    root.problem("agent", "'" + outbox.agent + "' is no URI; write one, such as urn:agent:alice");
  }
  // Checks each part separately, so that one error does not hide another.
  const auto part = [&](const auto& set) {
    OutboxOptions one;
    set(one);
    std::optional<Refusal> refusal = refusalOf([&] { validate(one); });
    if (refusal) {
      refusal->field.insert(0, "outbox.");
    }
    report(root, refusal, "outbox");
  };
  part([&](OutboxOptions& one) { one.tablePrefix = outbox.tablePrefix; });
  part([&](OutboxOptions& one) {
    one.ackedRetention = outbox.ackedRetention;
    one.peerReset = outbox.peerReset;
  });
  part([&](OutboxOptions& one) {
    const OutboxOptions usual;
    one = outbox;
    one.agent = usual.agent;
    one.peers = usual.peers;
    one.tablePrefix = usual.tablePrefix;
    one.peerReset = usual.peerReset;
  });
}

}  // namespace ackbox::serve
