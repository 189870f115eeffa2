#include "transport/tls_context.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <utility>

#include "ackbox/error.hpp"

namespace ackbox::transport {
namespace {

std::string opensslReason() {
  std::array<char, 256> text{};
  const unsigned long code = ERR_peek_last_error();
  ERR_error_string_n(code, text.data(), text.size());
  ERR_clear_error();
  return code == 0 ? "unknown" : text.data();
}

void require(bool succeeded, const char* field, const std::filesystem::path& file) {
  if (!succeeded) {
    throw Error(Errc::invalidOption, std::string(field) + " '" + file.string() + "': " + opensslReason());
  }
}

std::shared_ptr<SSL_CTX> makeContext(const SSL_METHOD* method) {
  ERR_clear_error();
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(method), SSL_CTX_free);
  if (!context || SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1) {
    throw Error(Errc::outOfMemory, "TLS could not be set up: " + opensslReason());
  }
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  // A key with a passphrase is refused; nobody is there to type it.
  SSL_CTX_set_default_passwd_cb(context.get(), [](char*, int, int, void*) { return 0; });
  return context;
}

void loadIdentity(SSL_CTX* context, const std::filesystem::path& certificate, const std::filesystem::path& key) {
  if (certificate.empty() && key.empty()) {
    return;
  }
  require(SSL_CTX_use_certificate_chain_file(context, certificate.c_str()) == 1, "tls.certificateFile", certificate);
  require(SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) == 1, "tls.keyFile", key);
  require(SSL_CTX_check_private_key(context) == 1, "tls.keyFile does not belong to tls.certificateFile:", key);
}

std::shared_ptr<SSL_CTX> loadClient(const TlsClientOptions& options) {
  std::shared_ptr<SSL_CTX> context = makeContext(TLS_client_method());
  if (options.authorityFile.empty()) {
    require(SSL_CTX_set_default_verify_paths(context.get()) == 1, "the system's authorities", "");
  } else {
    require(SSL_CTX_load_verify_file(context.get(), options.authorityFile.c_str()) == 1, "tls.authorityFile",
            options.authorityFile);
  }
  loadIdentity(context.get(), options.certificateFile, options.keyFile);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  return context;
}

std::shared_ptr<SSL_CTX> loadServer(const TlsServerOptions& options) {
  std::shared_ptr<SSL_CTX> context = makeContext(TLS_server_method());
  SSL_CTX_set_options(context.get(), SSL_OP_CIPHER_SERVER_PREFERENCE);
  loadIdentity(context.get(), options.certificateFile, options.keyFile);
  // Resumption would keep a certificate's word beyond the reload that takes it back.
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(context.get(), 0);
  if (!options.clientAuthorityFile.empty()) {
    const std::filesystem::path& file = options.clientAuthorityFile;
    require(SSL_CTX_load_verify_file(context.get(), file.c_str()) == 1, "tls.clientAuthorityFile", file);
    STACK_OF(X509_NAME)* const names = SSL_load_client_CA_file(file.c_str());
    require(names != nullptr, "tls.clientAuthorityFile", file);
    SSL_CTX_set_client_CA_list(context.get(), names);
    SSL_CTX_set_verify(context.get(),
                       SSL_VERIFY_PEER | (options.requireClientCertificate ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
                       nullptr);
  }
  return context;
}

}  // namespace

TlsContext::TlsContext(const TlsClientOptions& options)
    : TlsContext([options] { return loadClient(options); },
                 {options.authorityFile, options.certificateFile, options.keyFile}) {}

TlsContext::TlsContext(const TlsServerOptions& options)
    : TlsContext([options] { return loadServer(options); },
                 {options.certificateFile, options.keyFile, options.clientAuthorityFile}) {}

TlsContext::TlsContext(std::function<Shared()> load, std::vector<std::filesystem::path> files)
    : load_(std::move(load)), files_(std::move(files)), stamps_(stamps()), context_(load_()) {}

// Not the time alone: a file that is put in another's place may be older, and two may be written in one tick.
TlsContext::Stamps TlsContext::stamps() const {
  Stamps made;
  for (const std::filesystem::path& file : files_) {
    struct stat facts {};
    if (file.empty() || ::stat(file.c_str(), &facts) != 0) {
      made.emplace_back();
      continue;
    }
    made.push_back(std::to_string(facts.st_ino) + " " + std::to_string(facts.st_size) + " " +
                   std::to_string(facts.st_mtim.tv_sec) + " " + std::to_string(facts.st_mtim.tv_nsec));
  }
  return made;
}

// With mutex_ held. The stamps are taken first, and kept even if the files do not fit together: they are looked at
// again when they change again, and not before.
void TlsContext::refresh() {
  Stamps now = stamps();
  if (now == stamps_) {
    return;
  }
  stamps_ = std::move(now);
  try {
    context_ = load_();
    ++generation_;
  } catch (const Error&) {
    // Documented: what was there before stays.
  }
}

ssl_st* TlsContext::makeConnection() {
  const std::scoped_lock lock(mutex_);
  refresh();
  SSL* const connection = SSL_new(context_.get());
  if (connection == nullptr) {
    throw Error(Errc::outOfMemory, "a TLS connection could not be made: " + opensslReason());
  }
  return connection;
}

void TlsContext::reload() {
  const std::scoped_lock lock(mutex_);
  Stamps now = stamps();
  context_ = load_();
  stamps_ = std::move(now);
  ++generation_;
}

std::uint64_t TlsContext::generation() {
  const std::scoped_lock lock(mutex_);
  refresh();
  return generation_;
}

}  // namespace ackbox::transport
