#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <chrono>
#include <ctime>
#include <utility>

#include "ackbox/error.hpp"
#include "transport/on_strand.hpp"
#include "transport/quiet.hpp"
#include "transport/stream.hpp"
#include "transport/tls_context.hpp"

namespace ackbox::transport {
namespace {

namespace asio = boost::asio;

enum class Role : bool { client, server };

class TlsStream final : public Stream {
public:
  TlsStream(Socket socket, SSL* connection, Role role)
      : connection_(connection), stream_(std::move(socket), connection), role_(role) {}

  [[nodiscard]] executor_type get_executor() override { return stream_.get_executor(); }

  void asyncHandshake(std::function<void(std::string)> done) override {
    const auto type = role_ == Role::server ? asio::ssl::stream_base::server : asio::ssl::stream_base::client;
    stream_.async_handshake(type, [this, done = std::move(done)](const Error& error) {
      done(error ? "TLS handshake: " + reason(error) : std::string());
    });
  }

  // The other side's `close_notify` may never come; the caller has an alarm.
  void asyncFinish(std::function<void()> done) override {
    stream_.async_shutdown([this, done = std::move(done)](const Error&) {
      Error ignored;
      stream_.next_layer().shutdown(asio::socket_base::shutdown_send, ignored);
      done();
    });
  }

  void asyncDiscardSome(asio::mutable_buffer buffer, Transferred done) override {
    stream_.next_layer().async_read_some(asio::buffer(buffer), onStrand(std::move(done)));
  }

  void asyncAwaitInput(std::function<void()> done) override {
    stream_.next_layer().async_wait(Socket::wait_read, [done = std::move(done)](const Error&) { done(); });
  }

  [[nodiscard]] bool isQuiet() override { return isSocketQuiet(stream_.next_layer().native_handle()); }
  [[nodiscard]] std::string peerAddress() override { return peerAddressOf(stream_.next_layer().native_handle()); }
  [[nodiscard]] bool hasEnded() override { return hasSocketEnded(stream_.next_layer().native_handle()); }

  [[nodiscard]] std::vector<std::string> peerUris() const override {
    std::vector<std::string> uris;
    const std::unique_ptr<X509, decltype(&X509_free)> certificate(SSL_get1_peer_certificate(connection_), X509_free);
    if (!certificate || SSL_get_verify_result(connection_) != X509_V_OK) {
      return uris;
    }
    const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> names(
        static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate.get(), NID_subject_alt_name, nullptr, nullptr)),
        GENERAL_NAMES_free);
    for (int index = 0; names && index < sk_GENERAL_NAME_num(names.get()); ++index) {
      const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names.get(), index);
      if (name->type == GEN_URI) {
        const ASN1_IA5STRING* const text = name->d.uniformResourceIdentifier;
        uris.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                          static_cast<std::size_t>(ASN1_STRING_length(text)));
      }
    }
    return uris;
  }

  [[nodiscard]] std::optional<WallTime> peerCertificateEnd() const override {
    std::optional<WallTime> first;
    const STACK_OF(X509)* const chain = SSL_get0_verified_chain(connection_);
    for (int index = 0; chain != nullptr && index < sk_X509_num(chain); ++index) {
      std::tm parts{};
      // A certificate counts as expired if its end cannot be read.
      const bool isRead = ASN1_TIME_to_tm(X509_get0_notAfter(sk_X509_value(chain, index)), &parts) == 1;
      const WallTime end = isRead ? WallTime(std::chrono::seconds(::timegm(&parts))) : WallTime();
      first = std::min(first.value_or(end), end);
    }
    return first;
  }

  [[nodiscard]] std::string certificateProblem(const Error& error) const override {
    if (role_ == Role::server || error.category() != asio::error::get_ssl_category()) {
      return {};
    }
    const bool hasCertificate = SSL_get_certificate(connection_) != nullptr;
    switch (ERR_GET_REASON(static_cast<unsigned long>(error.value()))) {
      case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
        break;
      case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
        // TLS 1.2 has no alert for it; if no certificate was requested, the alert has another cause.
        if (!wasAskedForCertificate() || hasCertificate) {
          return {};
        }
        break;
      case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
      case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
      case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
      case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
      case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
      case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
        return hasCertificate ? "the peer refuses this agent's client certificate: " + error.message() : std::string();
      default:
        return {};
    }
    return "the peer wants a client certificate, and none is given: set the sender's certificate file and key file (" +
           error.message() + ")";
  }

  void close() override {
    Error ignored;
    stream_.next_layer().close(ignored);
  }

protected:
  void readSome(asio::mutable_buffer buffer, Transferred done) override {
    stream_.async_read_some(asio::buffer(buffer), onStrand(std::move(done)));
  }

  void writeSome(const ConstBuffers& buffers, std::size_t /*count*/, Transferred done) override {
    stream_.async_write_some(buffers, onStrand(std::move(done)));
  }

private:
  [[nodiscard]] bool wasAskedForCertificate() const { return SSL_get0_peer_CA_list(connection_) != nullptr; }

  [[nodiscard]] std::string reason(const Error& error) const {
    const long verdict = SSL_get_verify_result(connection_);
    if (std::string problem = certificateProblem(error); !problem.empty()) {
      return problem;
    }
    return verdict == X509_V_OK ? error.message()
                                : std::string("the certificate is refused: ") + X509_verify_cert_error_string(verdict);
  }

  // Owned by `stream_`.
  SSL* const connection_;
  asio::ssl::stream<Socket> stream_;
  const Role role_;
};

using Connection = std::unique_ptr<SSL, decltype(&SSL_free)>;

// Certificates expire by the clock that the whole process uses.
void judgeBy(SSL* connection, WallTime now) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
  X509_VERIFY_PARAM_set_time(SSL_get0_param(connection), static_cast<std::time_t>(seconds));
}

// Does what OpenSSL's macro does, without its casts.
bool sayName(SSL* connection, std::string host) {
  return SSL_ctrl(connection, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, host.data()) == 1;
}

std::shared_ptr<Stream> makeStream(Socket&& socket, Connection connection, Role role) {
  return std::make_shared<TlsStream>(std::move(socket), connection.release(), role);
}

}  // namespace

std::shared_ptr<Stream> makeTlsServerStream(Socket socket, TlsContext& context, WallTime now) {
  Connection connection(context.makeConnection(), SSL_free);
  judgeBy(connection.get(), now);
  return makeStream(std::move(socket), std::move(connection), Role::server);
}

std::shared_ptr<Stream> makeTlsClientStream(Socket socket, TlsContext& context, const std::string& host, WallTime now) {
  Connection connection(context.makeConnection(), SSL_free);
  judgeBy(connection.get(), now);
  X509_VERIFY_PARAM* const rules = SSL_get0_param(connection.get());
  Stream::Error notNumeric;
  asio::ip::make_address(host, notNumeric);
  bool isSet = false;
  if (notNumeric) {
    X509_VERIFY_PARAM_set_hostflags(rules, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    isSet = X509_VERIFY_PARAM_set1_host(rules, host.c_str(), host.size()) == 1 && sayName(connection.get(), host);
  } else {
    isSet = X509_VERIFY_PARAM_set1_ip_asc(rules, host.c_str()) == 1;
  }
  // A connection must never be made without checking the other end.
  if (!isSet) {
    throw ackbox::Error(Errc::outOfMemory, "TLS with " + host + " could not be set up");
  }
  return makeStream(std::move(socket), std::move(connection), Role::client);
}

}  // namespace ackbox::transport
