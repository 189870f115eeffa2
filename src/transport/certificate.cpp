#include <openssl/asn1.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>

#include "ackbox/tls.hpp"

namespace ackbox {
namespace {

std::optional<WallTime> endOf(const X509* certificate) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &parts) != 1) {
    return std::nullopt;
  }
  return WallTime(std::chrono::seconds(timegm(&parts)));
}

}  // namespace

std::optional<WallTime> certificateEnds(const std::filesystem::path& file) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> input(BIO_new_file(file.c_str(), "r"), BIO_free);
  std::optional<WallTime> first;
  while (input) {
    // PEM_read_bio_X509 skips a key in the same file.
    const std::unique_ptr<X509, decltype(&X509_free)> certificate(
        PEM_read_bio_X509(input.get(), nullptr, nullptr, nullptr), X509_free);
    if (!certificate) {
      break;
    }
    const std::optional<WallTime> end = endOf(certificate.get());
    first = first && end ? std::min(first, end) : end;
    if (!end) {
      break;
    }
  }
  ERR_clear_error();
  return first;
}

}  // namespace ackbox
