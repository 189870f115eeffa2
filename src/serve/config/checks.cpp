#include "serve/config/checks.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <cctype>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "ackbox/error.hpp"
#include "base/nested_error.hpp"
#include "protocol/signature.hpp"
#include "serve/config/regular_file.hpp"
#include "serve/http/host.hpp"
#include "serve/http/tokens.hpp"
#include "serve/inbox/pusher.hpp"
#include "transport/http_server.hpp"
#include "transport/listener.hpp"
#include "transport/tls_context.hpp"

namespace ackbox::serve {
namespace {

// Of certificates with their chain, keys and lists of those that were revoked.
constexpr std::size_t kPemBytesMax = std::size_t{16} * 1024 * 1024;
constexpr std::size_t kSecretsBytesMax = std::size_t{64} * 1024;

bool isLetter(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
}

/// `allowPlainHttp` as `allow_plain_http`; words with a capital at their beginning stay.
std::string snakeCase(std::string_view word) {
  std::string made;
  for (const char letter : word) {
    const bool isCapital = std::isupper(static_cast<unsigned char>(letter)) != 0;
    if (isCapital && (made.empty() || std::isupper(static_cast<unsigned char>(word.front())) != 0)) {
      return std::string(word);
    }
    made += isCapital ? std::string{'_', static_cast<char>(std::tolower(static_cast<unsigned char>(letter)))}
                      : std::string(1, letter);
  }
  return made;
}

// What stands before an option's name in the library, and not in the configuration.
constexpr std::string_view kOwners[] = {
    "InboundOptions::", "OutboxOptions::", "PeerOptions::", "InboundServerOptions::", "deferred.", "tls."};

/// The bytes of an owner that `text` begins with.
std::size_t ownerBytes(std::string_view text) {
  for (const std::string_view owner : kOwners) {
    if (text.starts_with(owner)) {
      return owner.size();
    }
  }
  return 0;
}

/// Calls what throws where the start would; returns what it said.
template <typename Attempt>
std::string refusalOf(const Attempt& attempt) {
  try {
    attempt();
    return {};
  } catch (const Error& error) {
    return circumstancesOf(error);
  }
}

/// Reports a refusal of the library under the field that it names, or else under `otherwise`.
bool report(Section& section, std::string_view refusal, std::string_view otherwise) {
  if (refusal.empty()) {
    return true;
  }
  NamedRefusal named = inConfigNames(refusal);
  section.problem(named.field.empty() ? otherwise : std::string_view(named.field), std::move(named.what));
  return false;
}

/// `peers['bob'].url: …` and `deliver: http://…: …` without what the section says already.
std::string_view without(std::string_view text, std::string_view prefix) {
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
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
  const std::string refusal = refusalOf([&] { const transport::TlsContext context(tls); });
  return report(section, refusal.empty() ? refusal : refusal + "; it must be PEM, and a key without a passphrase",
                files.front().first);
}

std::string fieldOf(std::size_t place, std::string_view field) {
  return "peers[" + std::to_string(place) + "]." + std::string(field);
}

/// RFC 3986: a scheme, and something behind its colon.
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

NamedRefusal inConfigNames(std::string_view refusal) {
  const std::string text(refusal);
  std::string made;
  bool isQuoted = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t blank = std::min(text.find(' ', at), text.size());
    const bool isPath = !isQuoted && text[at] != '\'' && (at == 0 || text[at - 1] == ' ') &&
                        std::string_view(text).substr(at, blank - at).find('/') != std::string_view::npos;
    if (isPath) {
      made.append(text, at, blank - at);
      at = blank;
      continue;
    }
    // Of `InboundOptions::deferred.framesMax` there are two.
    for (std::size_t owner = 1; !isQuoted && owner > 0; at += owner) {
      owner = ownerBytes(std::string_view(text).substr(at));
    }
    std::size_t end = at;
    while (!isQuoted && end < text.size() && isLetter(text[end])) {
      ++end;
    }
    isQuoted = isQuoted != (text[at] == '\'');
    end = std::max(end, at + 1);
    made += snakeCase(text.substr(at, end - at));
    at = end;
  }
  const std::size_t end = std::min(made.find_first_of(": "), made.size());
  NamedRefusal named{made.substr(0, end), made};
  // A sentence that does not begin with a field has a word there, or a path.
  const bool isName = std::ranges::all_of(
      named.field, [](char letter) { return isLetter(letter) || letter == '.' || letter == '[' || letter == ']'; });
  const bool isField = isName && (made.compare(end, 2, ": ") == 0 || named.field.find('_') != std::string::npos ||
                                  named.field == "path" || named.field == "address");
  if (!isField) {
    return {{}, std::move(made)};
  }
  if (made.compare(end, 2, ": ") == 0) {
    named.what = made.substr(end + 2);
  } else if (made.compare(end, 2, " '") == 0) {
    named.what = made.substr(end + 1);
  }
  named.field = named.field == "address" ? "listen" : named.field;
  return named;
}

std::string inConfigWords(const Error& error) {
  const NamedRefusal named = inConfigNames(circumstancesOf(error));
  return (named.field.empty() ? std::string() : named.field + ": ") + named.what;
}

bool checkListen(Section& section, const std::string& address, std::uint16_t port) {
  const std::string refusal = refusalOf([&] { const transport::ListenAddress listen(address, port); });
  if (refusal.empty()) {
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
  if (!file.empty() && !checkFile(section, field, readSecretFile(file, kSecretsBytesMax))) {
    return false;
  }
  const std::string refusal = refusalOf([&] { const protocol::KeyRing keys(secrets.load()); });
  if (!refusal.empty()) {
    section.problem(field, file.empty() ? refusal : file.string() + ": " + refusal);
  }
  return refusal.empty();
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

void checkTokens(Section& section, std::string_view field, const std::filesystem::path& file) {
  std::vector<std::string> problems;
  static_cast<void>(Tokens::read(file, problems));
  for (std::string& problem : problems) {
    section.problem(field, std::move(problem));
  }
}

bool checkPeer(Section& section, HttpSender& probe, const PeerOptions& peer, std::string_view secretsField) {
  const std::string owner = "peers['" + peer.name + "'].";
  PeerOptions plain = peer;
  plain.secrets = {};
  bool isSound = report(section, without(refusalOf([&] { probe.usePeers({&plain, 1}); }), owner), "url");
  PeerOptions nowhere = peer;
  nowhere.url = {};
  const std::string refusal = refusalOf([&] { probe.usePeers({&nowhere, 1}); });
  if (!refusal.empty()) {
    section.problem(secretsField, inConfigNames(without(refusal, owner)).what);
    isSound = false;
  }
  OutboxOptions outbox;
  outbox.peers = {peer};
  return report(section, without(refusalOf([&] { validate(outbox); }), "peers[0]."), "name") && isSound;
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
  // One that leads where another does hides those behind it.
  while (true) {
    const std::string refusal = refusalOf([&] { probe.usePeers(rest); });
    const auto wrong = std::ranges::find_if(
        rest, [&](const PeerOptions& peer) { return refusal.starts_with("peers['" + peer.name + "'].url: "); });
    if (wrong == rest.end()) {
      return;
    }
    root.problem(fieldOf(places.at(wrong->name), "url"), refusal.substr(refusal.find(": ") + 2));
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
  const std::string owner = "deliver: " + rule.url + ": ";
  if (const std::string why = refusal(plain); !why.empty()) {
    section.problem("url", std::string(without(why, owner)));
  } else if (const std::string whySigned = refusal(rule); !whySigned.empty()) {
    section.problem(secretsField, std::string(without(whySigned, owner)) + "; add whsec_ or whsk_");
  }
}

void checkInbox(Section& section, const InboundServerOptions& server, const InboundOptions& handler,
                std::string_view agent, const std::vector<std::string>& secretsFields) {
  report(section, refusalOf([&] { transport::validate(server, handler.bodyBytesMax); }), "listen");
  InboundOptions rest = handler;
  // Which peers are left, by their places in the configuration: one that is refused hides those behind it.
  std::vector<std::size_t> places(handler.peers.size());
  for (std::size_t place = 0; place < places.size(); ++place) {
    places[place] = place;
  }
  while (true) {
    const std::string refusal = refusalOf([&] { validate(rest, agent); });
    NamedRefusal named = inConfigNames(refusal);
    const std::size_t bracket = named.field.find("].");
    if (refusal.empty() || bracket == std::string::npos) {
      report(section, rest.peers.size() == handler.peers.size() ? refusal : std::string(), "peers");
      return;
    }
    const std::size_t index = std::stoul(named.field.substr(std::string_view("peers[").size()));
    const std::size_t place = places.at(index);
    const std::string field = named.field.substr(bracket + 2);
    section.problem("peers[" + std::to_string(place) + "]." + (field == "secrets" ? secretsFields.at(place) : field),
                    std::move(named.what));
    rest.peers.erase(rest.peers.begin() + static_cast<std::ptrdiff_t>(index));
    places.erase(places.begin() + static_cast<std::ptrdiff_t>(index));
  }
}

void checkOutbox(Section& root, const OutboxOptions& outbox) {
  if (!isUri(outbox.agent)) {
    root.problem("agent", "'" + outbox.agent + "' is no URI; write one, such as urn:agent:alice");
  }
  // Each by itself, so that one hides no other.
  const auto part = [&](const auto& set) {
    OutboxOptions one;
    set(one);
    const std::string refusal = refusalOf([&] { validate(one); });
    report(root, refusal.empty() ? refusal : "outbox." + refusal, "outbox");
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
