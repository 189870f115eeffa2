// Goal: no header crashes the verification, none passes it without the key, and every signature that was made does.
// Method: lines of the input are id, timestamp, signature and a secret; the rest is the body.

#include <array>
#include <string>

#include "ackbox/error.hpp"
#include "check.hpp"
#include "protocol/base64.hpp"
#include "protocol/signature.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace ackbox;
  using protocol::KeyRing;
  std::string_view rest = fuzz::textOf(bytes, size);
  const auto line = [&rest] {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view text = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return std::string(text);
  };
  const protocol::SignatureHeaders headers{line(), line(), line()};
  const std::string secret = line();
  const WallTime now(std::chrono::seconds(1'674'087'231));

  // A key that no input was signed with.
  static const KeyRing ring{std::array{Secret("whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")}};
  fuzz::require(ring.verify(headers, rest, now) != protocol::SignatureVerdict::valid, "a signature without a key");
  const protocol::SignatureHeaders made = ring.sign(headers.id, rest, now);
  fuzz::require(headers.id.empty() || ring.verify(made, rest, now) == protocol::SignatureVerdict::valid,
                "a signature that was made does not hold");
  try {
    const KeyRing given{std::array{Secret(secret)}};
    static_cast<void>(given.verify(headers, rest, now));
  } catch (const Error& error) {
    fuzz::require(error.code() == Errc::invalidOption, "a bad secret is reported as something else");
  }
  if (const auto decoded = protocol::decodeBase64(secret)) {
    fuzz::require(protocol::encodeBase64(*decoded) == secret, "base64 changes on its way");
  }
  return 0;
}
