#include "serve/config/file_stamps.hpp"

#include <openssl/sha.h>

#include <array>
#include <filesystem>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "ackbox/error.hpp"
#include "base/nested_error.hpp"
#include "protocol/own_headers.hpp"
#include "protocol/signature.hpp"
#include "serve/config/regular_file.hpp"
#include "transport/tls_context.hpp"

namespace ackbox::serve {
namespace {

constexpr std::size_t kStampedBytesMax = std::size_t{16} * 1024 * 1024;

void add(std::string& stamp, std::string_view text) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  stamp.append(reinterpret_cast<const char*>(digest.data()), digest.size());
}

void addFile(std::string& stamp, const RegularFile& file) {
  if (!file.problem.empty()) {
    throw Error(Errc::invalidOption, file.problem);
  }
  add(stamp, file.text);
}

void addFiles(std::string& stamp, std::initializer_list<std::filesystem::path> files) {
  for (const std::filesystem::path& file : files) {
    addFile(stamp, file.empty() ? RegularFile() : readRegularFile(file, kStampedBytesMax));
  }
}

void addSecretFile(std::string& stamp, const std::filesystem::path& file) {
  addFile(stamp, file.empty() ? RegularFile() : readSecretFile(file, kStampedBytesMax));
}

void addTls(std::string& stamp, const TlsServerOptions& tls) {
  addFiles(stamp, {tls.certificateFile, tls.clientAuthorityFile, tls.crlFile});
  addSecretFile(stamp, tls.keyFile);
  if (!tls.certificateFile.empty()) {
    const transport::TlsContext sound(tls);
  }
}

void addTls(std::string& stamp, const TlsClientOptions& tls) {
  addFiles(stamp, {tls.authorityFile, tls.certificateFile});
  addSecretFile(stamp, tls.keyFile);
  if (!tls.authorityFile.empty() || !tls.certificateFile.empty()) {
    const transport::TlsContext sound(tls);
  }
}

/// Throws if the source gives what `Secrets` does not accept.
template <typename Secrets>
void addSource(std::string& stamp, const SecretSource& source) {
  const std::vector<Secret> secrets = source.load();
  const Secrets sound(secrets);
  for (const Secret& secret : secrets) {
    add(stamp, secret.reveal());
  }
  // Marks where the next entry begins.
  add(stamp, {});
}

void addSecrets(std::string& stamp, const InboundPeer& peer) {
  addSource<protocol::KeyRing>(stamp, peer.secrets);
}

/// Of a peer or an application that requests go to.
template <typename Destination>
void addSecrets(std::string& stamp, const Destination& destination) {
  addSource<protocol::KeyRing>(stamp, destination.secrets);
  addSource<protocol::OwnHeaders>(stamp, destination.headers);
}

void addTokens(std::string& stamp, const OauthTokens& tokens) {
  addSource<protocol::OwnHeaders>(stamp, SecretSource::bearer(tokens.rule().clientSecret));
}

void addSecrets(std::string& stamp, const DeliveryRule& rule) {
  addSecrets<DeliveryRule>(stamp, rule);
  if (rule.oauth) {
    addTokens(stamp, *rule.oauth);
  }
}

/// Of a mailbox.
void addSecrets(std::string& stamp, const FetchRule& rule) {
  if (rule.options.token) {
    addSource<protocol::OwnHeaders>(stamp, SecretSource::bearer(rule.options.token));
  }
}

template <typename Entries>
void addSecrets(std::string& stamp, const std::string& list, const Entries& entries) {
  for (std::size_t index = 0; index < entries.size(); ++index) {
    try {
      addSecrets(stamp, entries[index]);
    } catch (const Error& error) {
      throwNested(list + "[" + std::to_string(index) + "]: ", error);
    }
  }
}

}  // namespace

FileStamps FileStamps::of(const Config& config) {
  FileStamps stamps;
  addSecretFile(stamps.tokens, config.api.tokensFile);
  addTls(stamps.certificates, config.api.tls);
  addTls(stamps.certificates, config.sender.tls);
  addSecrets(stamps.secrets, "peers", config.outbox.peers);
  for (const auto& [name, tokens] : config.oauth) {
    addTokens(stamps.secrets, *tokens);
  }
  if (config.inbox) {
    addTls(stamps.certificates, config.inbox->server.tls);
    addSecrets(stamps.secrets, "inbox.peers", config.inbox->handler.peers);
    addSecrets(stamps.secrets, "inbox.deliver", config.inbox->deliver);
    addSecrets(stamps.secrets, "inbox.fetch", config.inbox->fetch);
  }
  return stamps;
}

std::string FileStamps::differencesFrom(const FileStamps& other) const {
  std::string names;
  const auto compare = [&](const std::string& one, const std::string& two, const char* name) {
    if (one != two) {
      names += (names.empty() ? "" : ",") + std::string(name);
    }
  };
  compare(tokens, other.tokens, "tokens");
  compare(certificates, other.certificates, "certificates");
  compare(secrets, other.secrets, "secrets");
  return names.empty() ? "nothing" : names;
}

}  // namespace ackbox::serve
