#include "transport/tls_context.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <sys/stat.h>

#include <array>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <fstream>
#include <iterator>
#include <utility>

#include "ackbox/error.hpp"

namespace ackbox::transport {
namespace {

// Longer than it takes to put a certificate and its key in place by two renames.
constexpr std::chrono::milliseconds kPairPause{100};
constexpr std::chrono::milliseconds kGraceMax = std::chrono::hours(24);

std::string opensslReason() {
  std::array<char, 256> text{};
  const unsigned long code = ERR_peek_last_error();
  ERR_error_string_n(code, text.data(), text.size());
  ERR_clear_error();
  return code == 0 ? "unknown" : text.data();
}

void require(bool succeeded, const char* field, const std::filesystem::path& file) {
  if (!succeeded) {
    throw OptionError(field, "'" + file.string() + "': " + opensslReason());
  }
}

std::shared_ptr<SSL_CTX> makeContext(const SSL_METHOD* method) {
  ERR_clear_error();
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(method), SSL_CTX_free);
  if (!context || SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1) {
    throw Error(Errc::outOfMemory, "TLS could not be set up: " + opensslReason());
  }
  // For TLS 1.2; TLS 1.3 has only suites of this kind.
  if (SSL_CTX_set_cipher_list(context.get(), "ECDHE+AESGCM:ECDHE+CHACHA20") != 1) {
    throw Error(Errc::outOfMemory, "TLS could not be set up: " + opensslReason());
  }
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  // A key with a passphrase is refused, as no person is there to enter it.
  SSL_CTX_set_default_passwd_cb(context.get(), [](char*, int, int, void*) { return 0; });
  return context;
}

void loadIdentity(SSL_CTX* context, const std::filesystem::path& certificate, const std::filesystem::path& key) {
  if (certificate.empty() && key.empty()) {
    return;
  }
  require(SSL_CTX_use_certificate_chain_file(context, certificate.c_str()) == 1, "tls.certificateFile", certificate);
  require(SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) == 1, "tls.keyFile", key);
  if (SSL_CTX_check_private_key(context) != 1) {
    throw OptionError("tls.keyFile",
                      "'" + key.string() + "' does not belong to `tls.certificateFile`: " + opensslReason());
  }
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
  // Resumption would keep a certificate valid beyond the reload that revokes it.
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
  if (!options.crlFile.empty()) {
    X509_STORE* const store = SSL_CTX_get_cert_store(context.get());
    X509_LOOKUP* const lookup = X509_STORE_add_lookup(store, X509_LOOKUP_file());
    const bool isLoaded =
        lookup != nullptr && X509_load_crl_file(lookup, options.crlFile.c_str(), X509_FILETYPE_PEM) > 0;
    require(isLoaded, "tls.crlFile", options.crlFile);
    // For the whole chain: CRL_CHECK alone checks only the client's own certificate, and a revoked authority would
    // pass.
    const unsigned long flags = X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL;
    require(X509_STORE_set_flags(store, flags) == 1, "tls.crlFile", options.crlFile);
  }
  return context;
}

/// Whether the file can be read and names no authority at all.
bool isEmptied(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  return stream.is_open() && !stream.bad() && text.find("-----BEGIN") == std::string::npos;
}

/// A context with the same identity and no trusted authorities.
std::shared_ptr<SSL_CTX> trustingNobody(SSL_CTX* context, const SSL_METHOD* method) {
  std::shared_ptr<SSL_CTX> made = makeContext(method);
  STACK_OF(X509)* chain = nullptr;
  X509* const certificate = SSL_CTX_get0_certificate(context);
  if (certificate != nullptr &&
      (SSL_CTX_get0_chain_certs(context, &chain) != 1 || SSL_CTX_use_certificate(made.get(), certificate) != 1 ||
       SSL_CTX_set1_chain(made.get(), chain) != 1 ||
       SSL_CTX_use_PrivateKey(made.get(), SSL_CTX_get0_privatekey(context)) != 1)) {
    throw Error(Errc::outOfMemory, "TLS could not be set up: " + opensslReason());
  }
  SSL_CTX_set_options(made.get(), SSL_CTX_get_options(context));
  SSL_CTX_set_session_cache_mode(made.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(made.get(), 0);
  SSL_CTX_set_verify(made.get(), SSL_CTX_get_verify_mode(context), nullptr);
  return made;
}

/// Waits `kPairPause` of the machine's clock, whatever clock the options give, because it waits for another process.
void letReplace() {
  boost::asio::io_context waiting;
  const std::shared_ptr<Clock> machine = systemClock();
  const std::unique_ptr<Alarm> alarm = machine->makeAlarm(waiting.get_executor());
  alarm->set(machine->steadyNow() + kPairPause, [] {});
  waiting.run();
}

/// Loads again after a pause: a process may start between the renames of a certificate and its key.
template <typename Load>
std::shared_ptr<SSL_CTX> loadPatiently(const Load& load) {
  try {
    return load();
  } catch (const Error&) {
    letReplace();
    return load();
  }
}

}  // namespace

TlsContext::TlsContext(const TlsClientOptions& options, std::shared_ptr<Clock> clock)
    : TlsContext([options] { return loadClient(options); },
                 {options.authorityFile, options.certificateFile, options.keyFile},
                 {options.authorityFile, options.authorityGrace, TLS_client_method}, std::move(clock)) {}

TlsContext::TlsContext(const TlsServerOptions& options, std::shared_ptr<Clock> clock)
    : TlsContext([options] { return loadServer(options); },
                 {options.certificateFile, options.keyFile, options.clientAuthorityFile, options.crlFile},
                 {options.clientAuthorityFile, options.authorityGrace, TLS_server_method}, std::move(clock)) {}

TlsContext::TlsContext(std::function<Shared()> load, std::vector<std::filesystem::path> files, Trust trust,
                       std::shared_ptr<Clock> clock)
    : load_(std::move(load)),
      files_(std::move(files)),
      trust_(std::move(trust)),
      clock_(std::move(clock)),
      stamps_(stamps()),
      context_(loadPatiently(load_)),
      soundAt_(clock_->steadyNow()) {
  if (trust_.grace.count() < 0 || trust_.grace > kGraceMax) {
    throw OptionError("tls.authorityGrace", "is " + std::to_string(trust_.grace.count()) + " ms", "0s to 1d");
  }
}

// The time alone is not enough: a file put in another's place may be older, and two may be written in one tick.
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

// The stamps are taken first, and kept even if the files do not fit together: the files are read again only when they
// change again.
void TlsContext::refresh() {
  Stamps now = stamps();
  if (now != stamps_) {
    stamps_ = std::move(now);
    try {
      context_ = load_();
      ++generation_;
      isFailing_ = false;
      hasEnded_ = false;
    } catch (const Error&) {
      // Documented: the previous certificates stay, for the grace.
      isFailing_ = true;
    }
  }
  if (isFailing_) {
    outlast();
  } else {
    soundAt_ = clock_->steadyNow();
  }
}

void TlsContext::outlast() {
  if (trust_.file.empty() || hasEnded_ || (clock_->steadyNow() - soundAt_ < trust_.grace && !isEmptied(trust_.file))) {
    return;
  }
  context_ = trustingNobody(context_.get(), trust_.method());
  ++generation_;
  hasEnded_ = true;
}

ssl_st* TlsContext::makeConnection() {
  const MutexLock lock(mutex_);
  refresh();
  SSL* const connection = SSL_new(context_.get());
  if (connection == nullptr) {
    throw Error(Errc::outOfMemory, "a TLS connection could not be made: " + opensslReason());
  }
  return connection;
}

void TlsContext::reload() {
  const MutexLock lock(mutex_);
  Stamps now = stamps();
  context_ = load_();
  stamps_ = std::move(now);
  ++generation_;
  soundAt_ = clock_->steadyNow();
  isFailing_ = false;
  hasEnded_ = false;
}

std::uint64_t TlsContext::generation() {
  const MutexLock lock(mutex_);
  refresh();
  return generation_;
}

}  // namespace ackbox::transport
