#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

struct evp_pkey_st;
struct x509_st;

namespace ackbox::testing {

/// What a certificate says of its owner.
struct CertificateFacts {
  /// Subject alternative names as OpenSSL writes them: `DNS:…`, `IP:…`, `URI:…`.
  std::vector<std::string> names = {"IP:127.0.0.1", "DNS:localhost"};
  /// Seconds from now.
  long validFrom = -3600;
  long validUntil = 3600;
};

/// The files of a certificate, in PEM.
struct CertificateFiles {
  std::filesystem::path certificate;
  std::filesystem::path key;
};

/// An authority made for one test, with a key of its own. Nothing of it is kept in the repository.
class TestAuthority {
public:
  explicit TestAuthority(std::filesystem::path directory, const std::string& name);
  /// One that `issuer` has certified. What it issues carries its certificate along.
  TestAuthority(std::filesystem::path directory, const std::string& name, const TestAuthority& issuer);

  /// Its own certificate, for whoever trusts it.
  [[nodiscard]] std::filesystem::path file() const { return directory_ / (name_ + ".pem"); }

  /// Issues a certificate into `<name>.pem` and `<name>.key`, in place of what was there.
  CertificateFiles issue(const std::string& name, const CertificateFacts& facts = {}) const;
  /// The same, signed by its own key and by nobody else.
  CertificateFiles issueSelfSigned(const std::string& name, const CertificateFacts& facts = {}) const;

  /// Writes the list of those that it has revoked, with these certificates in it, into `<its name>.crl`, in place of
  /// what was there. In force until `validUntil` seconds from now.
  std::filesystem::path revoke(const std::vector<CertificateFiles>& revoked, long validUntil = 3600) const;

private:
  CertificateFiles write(const std::string& name, const CertificateFacts& facts, bool selfSigned) const;

  const std::filesystem::path directory_;
  const std::string name_;
  std::shared_ptr<evp_pkey_st> key_;
  std::shared_ptr<x509_st> certificate_;
  bool isIntermediate_ = false;
};

}  // namespace ackbox::testing
