#include "protocol/signing_key.hpp"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "ackbox/error.hpp"
#include "protocol/base64.hpp"

namespace ackbox::protocol {
namespace {

constexpr std::size_t kSharedBytesMin = 24;
constexpr std::size_t kSharedBytesMax = 64;
constexpr std::size_t kSeedBytes = 32;
constexpr std::size_t kMacBytes = 32;
constexpr std::size_t kSignatureBytes = 64;

constexpr std::size_t lettersOf(std::size_t bytes) noexcept {
  return (bytes + 2) / 3 * 4;
}

template <auto Free>
struct Freer {
  template <typename Type>
  void operator()(Type* object) const noexcept {
    Free(object);
  }
};

using Mac = std::unique_ptr<EVP_MAC, Freer<EVP_MAC_free>>;
using MacContext = std::unique_ptr<EVP_MAC_CTX, Freer<EVP_MAC_CTX_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, Freer<EVP_MD_CTX_free>>;

// Only a lack of memory, or a library without these algorithms, can be the cause.
void require(bool succeeded) {
  if (!succeeded) {
    throw Error(Errc::outOfMemory, "OpenSSL could not compute a signature");
  }
}

const unsigned char* bytesOf(std::string_view text) noexcept {
  return reinterpret_cast<const unsigned char*>(text.data());
}

/// Key bytes that are overwritten when they go out of scope.
class KeyBytes {
public:
  explicit KeyBytes(std::vector<std::uint8_t> bytes) : bytes_(std::move(bytes)) {}
  KeyBytes(const KeyBytes&) = delete;
  KeyBytes& operator=(const KeyBytes&) = delete;
  ~KeyBytes() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }

  [[nodiscard]] const std::uint8_t* data() const noexcept { return bytes_.data(); }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }

private:
  std::vector<std::uint8_t> bytes_;
};

class SharedKey final : public SigningKey {
public:
  explicit SharedKey(const KeyBytes& bytes) {
    const Mac mac(EVP_MAC_fetch(nullptr, "HMAC", nullptr));
    require(mac != nullptr);
    keyed_.reset(EVP_MAC_CTX_new(mac.get()));
    std::array<char, 7> digest = {"SHA256"};
    const std::array<OSSL_PARAM, 2> parameters = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), 0), OSSL_PARAM_construct_end()};
    require(keyed_ && EVP_MAC_init(keyed_.get(), bytes.data(), bytes.size(), parameters.data()) == 1);
  }

  [[nodiscard]] std::string_view version() const noexcept override { return "v1"; }
  [[nodiscard]] std::size_t signatureLength() const noexcept override { return lettersOf(kMacBytes); }
  [[nodiscard]] bool isShared() const noexcept override { return true; }
  [[nodiscard]] bool canSign() const noexcept override { return true; }
  [[nodiscard]] bool canVerify() const noexcept override { return true; }

  [[nodiscard]] std::string sign(const SignedContent& content) const override {
    const MacContext context(EVP_MAC_CTX_dup(keyed_.get()));
    require(context != nullptr);
    for (const std::string_view part :
         {content.id, std::string_view("."), content.timestamp, std::string_view("."), content.body}) {
      require(EVP_MAC_update(context.get(), bytesOf(part), part.size()) == 1);
    }
    std::array<std::uint8_t, kMacBytes> mac{};
    std::size_t size = 0;
    require(EVP_MAC_final(context.get(), mac.data(), &size, mac.size()) == 1 && size == mac.size());
    return encodeBase64(mac);
  }

  [[nodiscard]] bool verify(const SignedContent& /*content*/, std::string_view /*signature*/) const override {
    return false;
  }

private:
  // Never finalised: each computation continues with a copy.
  MacContext keyed_;
};

std::string joined(const SignedContent& content) {
  std::string text;
  text.reserve(content.id.size() + content.timestamp.size() + content.body.size() + 2);
  return text.append(content.id).append(".").append(content.timestamp).append(".").append(content.body);
}

class Ed25519Key final : public SigningKey {
public:
  Ed25519Key(Key key, bool isPrivate) : key_(std::move(key)), isPrivate_(isPrivate) {}

  [[nodiscard]] std::string_view version() const noexcept override { return "v1a"; }
  [[nodiscard]] std::size_t signatureLength() const noexcept override { return lettersOf(kSignatureBytes); }
  [[nodiscard]] bool isShared() const noexcept override { return false; }
  [[nodiscard]] bool canSign() const noexcept override { return isPrivate_; }
  // A private key belongs to this agent, and a signature that it made itself proves nothing about a peer.
  [[nodiscard]] bool canVerify() const noexcept override { return !isPrivate_; }

  [[nodiscard]] std::string sign(const SignedContent& content) const override {
    const std::string text = joined(content);
    const DigestContext context(EVP_MD_CTX_new());
    std::array<std::uint8_t, kSignatureBytes> signature{};
    std::size_t size = signature.size();
    require(context && EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_.get()) == 1 &&
            EVP_DigestSign(context.get(), signature.data(), &size, bytesOf(text), text.size()) == 1);
    return encodeBase64(signature);
  }

  [[nodiscard]] bool verify(const SignedContent& content, std::string_view signature) const override {
    const std::optional<std::vector<std::uint8_t>> bytes = decodeBase64(signature);
    if (!bytes || bytes->size() != kSignatureBytes) {
      return false;
    }
    const std::string text = joined(content);
    const DigestContext context(EVP_MD_CTX_new());
    require(context && EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key_.get()) == 1);
    return EVP_DigestVerify(context.get(), bytes->data(), bytes->size(), bytesOf(text), text.size()) == 1;
  }

private:
  const Key key_;
  const bool isPrivate_;
};

[[noreturn]] void refuse(const std::string& why) {
  throw Error(Errc::invalidOption, "a secret " + why);
}

std::shared_ptr<const SigningKey> makePublic(const KeyBytes& bytes) {
  if (bytes.size() != kSeedBytes) {
    refuse("that begins with whpk_ must hold 32 bytes, this one has " + std::to_string(bytes.size()));
  }
  Key key(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes.data(), kSeedBytes));
  require(key != nullptr);
  return std::make_shared<Ed25519Key>(std::move(key), false);
}

std::shared_ptr<const SigningKey> makePrivate(const KeyBytes& bytes) {
  if (bytes.size() != kSeedBytes && bytes.size() != 2 * kSeedBytes) {
    refuse("that begins with whsk_ must hold 32 or 64 bytes, this one has " + std::to_string(bytes.size()));
  }
  Key key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, bytes.data(), kSeedBytes));
  std::array<std::uint8_t, kSeedBytes> publicHalf{};
  std::size_t size = publicHalf.size();
  require(key && EVP_PKEY_get_raw_public_key(key.get(), publicHalf.data(), &size) == 1);
  if (bytes.size() == 2 * kSeedBytes && CRYPTO_memcmp(bytes.data() + kSeedBytes, publicHalf.data(), kSeedBytes) != 0) {
    refuse("that begins with whsk_ has halves that do not belong together");
  }
  return std::make_shared<Ed25519Key>(std::move(key), true);
}

std::shared_ptr<const SigningKey> makeShared(const KeyBytes& bytes) {
  if (bytes.size() < kSharedBytesMin || bytes.size() > kSharedBytesMax) {
    refuse("that begins with whsec_ must hold 24 to 64 bytes, this one has " + std::to_string(bytes.size()));
  }
  return std::make_shared<SharedKey>(bytes);
}

}  // namespace

std::shared_ptr<const SigningKey> parseSigningKey(const Secret& secret) {
  using Make = std::shared_ptr<const SigningKey> (*)(const KeyBytes&);
  constexpr std::pair<std::string_view, Make> kForms[] = {
      {"whsec_", makeShared}, {"whsk_", makePrivate}, {"whpk_", makePublic}};
  const std::string_view text = secret.reveal();
  for (const auto& [prefix, make] : kForms) {
    if (text.starts_with(prefix)) {
      std::optional<std::vector<std::uint8_t>> bytes = decodeBase64(text.substr(prefix.size()));
      if (!bytes) {
        refuse("must be base64 with its padding behind " + std::string(prefix) + ", without blanks");
      }
      return make(KeyBytes(*std::move(bytes)));
    }
  }
  refuse("must begin with whsec_ (shared), whsk_ (private) or whpk_ (public)");
}

}  // namespace ackbox::protocol
