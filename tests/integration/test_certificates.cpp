#include "integration/test_certificates.hpp"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <stdexcept>
#include <utility>

namespace ackbox::testing {
namespace {

using Key = std::shared_ptr<EVP_PKEY>;
using Certificate = std::shared_ptr<X509>;

void require(bool holds, const char* step) {
  if (!holds) {
    throw std::runtime_error(std::string("OpenSSL: ") + step);
  }
}

Key makeKey() {
  Key key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  require(key != nullptr, "key");
  return key;
}

void addExtension(X509* certificate, int kind, const std::string& value) {
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str());
  require(extension != nullptr && X509_add_ext(certificate, extension, -1) == 1, "extension");
  X509_EXTENSION_free(extension);
}

Certificate makeCertificate(const std::string& name, EVP_PKEY* owner, const X509* issuer, EVP_PKEY* issuerKey,
                            const CertificateFacts& facts, bool isAuthority) {
  Certificate certificate(X509_new(), X509_free);
  X509* const raw = certificate.get();
  std::uint64_t serial = 0;
  RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof(serial));
  X509_set_version(raw, X509_VERSION_3);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(raw), serial >> 1U);
  X509_gmtime_adj(X509_getm_notBefore(raw), facts.validFrom);
  X509_gmtime_adj(X509_getm_notAfter(raw), facts.validUntil);
  X509_set_pubkey(raw, owner);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(raw), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_issuer_name(raw, X509_get_subject_name(issuer == nullptr ? raw : issuer));
  addExtension(raw, NID_basic_constraints, isAuthority ? "critical,CA:TRUE" : "critical,CA:FALSE");
  std::string names;
  for (const std::string& each : facts.names) {
    names += (names.empty() ? "" : ",") + each;
  }
  if (!isAuthority && !names.empty()) {
    addExtension(raw, NID_subject_alt_name, names);
  }
  require(X509_sign(raw, issuerKey, EVP_sha256()) > 0, "sign");
  return certificate;
}

template <typename Write>
void writeFile(const std::filesystem::path& file, Write write) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new_file(file.c_str(), "w"), BIO_free);
  require(bio && write(bio.get()) == 1, "write");
}

void writeCertificate(const std::filesystem::path& file, X509* certificate) {
  writeFile(file, [certificate](BIO* bio) { return PEM_write_bio_X509(bio, certificate); });
}

}  // namespace

TestAuthority::TestAuthority(std::filesystem::path directory, const std::string& name)
    : directory_(std::move(directory)),
      name_(name),
      key_(makeKey()),
      certificate_(makeCertificate(name, key_.get(), nullptr, key_.get(), {}, true)) {
  writeCertificate(file(), certificate_.get());
}

TestAuthority::TestAuthority(std::filesystem::path directory, const std::string& name, const TestAuthority& issuer)
    : directory_(std::move(directory)),
      name_(name),
      key_(makeKey()),
      certificate_(makeCertificate(name, key_.get(), issuer.certificate_.get(), issuer.key_.get(), {}, true)),
      isIntermediate_(true) {
  writeCertificate(file(), certificate_.get());
}

CertificateFiles TestAuthority::issue(const std::string& name, const CertificateFacts& facts) const {
  return write(name, facts, false);
}

CertificateFiles TestAuthority::issueSelfSigned(const std::string& name, const CertificateFacts& facts) const {
  return write(name, facts, true);
}

std::filesystem::path TestAuthority::revoke(const std::vector<CertificateFiles>& revoked, long validUntil) const {
  const std::unique_ptr<X509_CRL, decltype(&X509_CRL_free)> list(X509_CRL_new(), X509_CRL_free);
  const std::unique_ptr<ASN1_TIME, decltype(&ASN1_TIME_free)> from(X509_gmtime_adj(nullptr, -7200), ASN1_TIME_free);
  const std::unique_ptr<ASN1_TIME, decltype(&ASN1_TIME_free)> until(X509_gmtime_adj(nullptr, validUntil),
                                                                    ASN1_TIME_free);
  X509_CRL_set_version(list.get(), X509_CRL_VERSION_2);
  X509_CRL_set_issuer_name(list.get(), X509_get_subject_name(certificate_.get()));
  X509_CRL_set1_lastUpdate(list.get(), from.get());
  X509_CRL_set1_nextUpdate(list.get(), until.get());
  for (const CertificateFiles& files : revoked) {
    const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new_file(files.certificate.c_str(), "r"), BIO_free);
    const Certificate certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr), X509_free);
    require(certificate != nullptr, "read");
    X509_REVOKED* const entry = X509_REVOKED_new();
    X509_REVOKED_set_serialNumber(entry, X509_get_serialNumber(certificate.get()));
    X509_REVOKED_set_revocationDate(entry, from.get());
    // The list's from now on.
    require(X509_CRL_add0_revoked(list.get(), entry) == 1, "revoke");
  }
  require(X509_CRL_sign(list.get(), key_.get(), EVP_sha256()) > 0, "sign the list");
  std::filesystem::path file = directory_ / (name_ + ".crl");
  writeFile(file, [&list](BIO* bio) { return PEM_write_bio_X509_CRL(bio, list.get()); });
  return file;
}

CertificateFiles TestAuthority::write(const std::string& name, const CertificateFacts& facts, bool selfSigned) const {
  const Key key = makeKey();
  const Certificate certificate = makeCertificate(name, key.get(), selfSigned ? nullptr : certificate_.get(),
                                                  selfSigned ? key.get() : key_.get(), facts, false);
  CertificateFiles files{directory_ / (name + ".pem"), directory_ / (name + ".key")};
  writeFile(files.certificate, [&](BIO* bio) {
    const bool isWritten = PEM_write_bio_X509(bio, certificate.get()) == 1;
    return isWritten && isIntermediate_ ? PEM_write_bio_X509(bio, certificate_.get()) : isWritten ? 1 : 0;
  });
  writeFile(files.key,
            [&](BIO* bio) { return PEM_write_bio_PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr); });
  std::filesystem::permissions(files.key, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  return files;
}

}  // namespace ackbox::testing
