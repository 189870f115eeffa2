#include "cli/certificate.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <chrono>
#include <ctime>
#include <memory>
#include <optional>

#include "ackbox/error.hpp"

namespace ackbox::cli {

WallTime certificateEnds(const std::filesystem::path& path) {
  const std::unique_ptr<BIO, int (*)(BIO*)> file(BIO_new_file(path.c_str(), "r"), BIO_free);
  std::optional<WallTime> ends;
  while (file) {
    const std::unique_ptr<X509, void (*)(X509*)> certificate(PEM_read_bio_X509(file.get(), nullptr, nullptr, nullptr),
                                                             X509_free);
    std::tm date{};
    if (!certificate || ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &date) != 1) {
      break;
    }
    const std::chrono::sys_days day = std::chrono::year(date.tm_year + 1900) /
                                      std::chrono::month(static_cast<unsigned>(date.tm_mon + 1)) /
                                      std::chrono::day(static_cast<unsigned>(date.tm_mday));
    const WallTime end =
        day + std::chrono::hours(date.tm_hour) + std::chrono::minutes(date.tm_min) + std::chrono::seconds(date.tm_sec);
    ends = ends ? std::min(*ends, end) : end;
  }
  ERR_clear_error();
  if (!ends) {
    throw Error(file ? Errc::invalidOption : Errc::cannotOpen, path.string() + ": no certificate in PEM can be read");
  }
  return *ends;
}

}  // namespace ackbox::cli
