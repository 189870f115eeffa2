// Goal: signed messages verify, in both versions and through a rotation of keys; nothing else does, and a request never
// passes for an answer. Method: golden signatures from another implementation, a table of tampered messages, malformed
// keys. Compatibility-sensitive: proto/vectors/signatures.json.

#include "protocol/signature.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ackbox/error.hpp"
#include "protocol/base64.hpp"

namespace signature_test {

using namespace ackbox;
using namespace ackbox::protocol;

namespace {

const nlohmann::json& vectors() {
  static const nlohmann::json all =
      nlohmann::json::parse(std::ifstream(std::string(ACKBOX_VECTORS_DIRECTORY) + "/signatures.json"));
  return all;
}

std::string golden(const char* name) {
  return vectors().at(name).get<std::string>();
}

KeyRing ringOf(const std::vector<std::string>& texts) {
  std::vector<Secret> secrets;
  secrets.reserve(texts.size());
  for (const std::string& text : texts) {
    secrets.emplace_back(text);
  }
  return KeyRing(secrets);
}

std::string sharedKey(char fill, std::size_t size = 32) {
  return "whsec_" + encodeBase64(std::vector<std::uint8_t>(size, static_cast<std::uint8_t>(fill)));
}

WallTime at(std::int64_t seconds, int milliseconds = 0) {
  return WallTime(std::chrono::seconds(seconds) + std::chrono::milliseconds(milliseconds));
}

constexpr std::int64_t kThen = 1'674'087'231;

/// A signed message, and the reader's knowledge.
struct Message {
  SignatureHeaders headers;
  std::string body;
  WallTime now = at(kThen);
};

Message goldenMessage(const char* which, const char* version) {
  const nlohmann::json& vector = vectors().at(which);
  Message message;
  message.headers = {vector.at("id"), vector.at("timestamp"), vector.at(version)};
  message.body = vector.at("body");
  return message;
}

SignatureVerdict verify(const KeyRing& ring, const Message& message) {
  return ring.verify(message.headers, message.body, message.now);
}

std::string refusalOf(const std::string& secret) {
  try {
    ringOf({secret});
  } catch (const Error& error) {
    CHECK((error.code() == Errc::invalidOption));
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("Golden: both versions of a signature, of a request and of an answer, made and verified") {
  for (const char* which : {"request", "answer"}) {
    CAPTURE(which);
    const Message shared = goldenMessage(which, "v1");
    const KeyRing secret = ringOf({golden("whsec")});
    CHECK(secret.sign(shared.headers.id, shared.body, at(kThen, 999)).signature == shared.headers.signature);
    CHECK(verify(secret, shared) == SignatureVerdict::valid);

    const Message asymmetric = goldenMessage(which, "v1a");
    const KeyRing signer = ringOf({golden("whsk")});
    CHECK(signer.sign(shared.headers.id, shared.body, at(kThen)).signature == asymmetric.headers.signature);
    CHECK(verify(ringOf({golden("whpk")}), asymmetric) == SignatureVerdict::valid);
    // A private key of one's own proves nothing about a peer.
    CHECK(verify(signer, asymmetric) == SignatureVerdict::mismatch);
  }
}

TEST_CASE("P11: a message that is tampered with in any way does not verify") {
  struct Tampering {
    const char* what;
    void (*apply)(Message&);
    SignatureVerdict expected = SignatureVerdict::mismatch;
  };
  using Verdict = SignatureVerdict;
  const Tampering tamperings[] = {
      {"a byte of the body", [](Message& m) { m.body[9] = 'x'; }},
      {"the body's last byte", [](Message& m) { m.body.back() = ']'; }},
      {"a byte more", [](Message& m) { m.body += ' '; }},
      {"a byte less", [](Message& m) { m.body.pop_back(); }},
      {"no body", [](Message& m) { m.body.clear(); }},
      {"a zero byte behind the body", [](Message& m) { m.body.push_back('\0'); }},
      {"an id of another case", [](Message& m) { m.headers.id[0] = 'M'; }},
      {"a longer id", [](Message& m) { m.headers.id += "W"; }},
      {"the id of an answer", [](Message& m) { m.headers.id.insert(0, kAnswerIdPrefix); }},
      {"no id", [](Message& m) { m.headers.id.clear(); }, Verdict::missing},
      {"a second earlier", [](Message& m) { m.headers.timestamp = "1674087230"; }},
      {"a second later", [](Message& m) { m.headers.timestamp = "1674087232"; }},
      {"the border moved from the id to the timestamp",
       [](Message& m) { m.headers.id = "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W.1674087231"; }},
      {"no timestamp", [](Message& m) { m.headers.timestamp.clear(); }, Verdict::missing},
      {"milliseconds", [](Message& m) { m.headers.timestamp += "000"; }, Verdict::malformed},
      {"a fraction", [](Message& m) { m.headers.timestamp += ".0"; }, Verdict::malformed},
      {"a sign", [](Message& m) { m.headers.timestamp.insert(0, "+"); }, Verdict::malformed},
      {"a leading zero", [](Message& m) { m.headers.timestamp.insert(0, "0"); }, Verdict::malformed},
      {"a blank", [](Message& m) { m.headers.timestamp += " "; }, Verdict::malformed},
      {"hexadecimal", [](Message& m) { m.headers.timestamp = "0x63c8a03f"; }, Verdict::malformed},
      {"a number beyond 64 bits", [](Message& m) { m.headers.timestamp = "99999999999999999999999"; },
       Verdict::malformed},
      {"a time before all", [](Message& m) { m.headers.timestamp = "0"; }, Verdict::skewed},
      {"no signature", [](Message& m) { m.headers.signature.clear(); }, Verdict::missing},
      {"a blank for a signature", [](Message& m) { m.headers.signature = " "; }},
      {"the version alone", [](Message& m) { m.headers.signature = "v1,"; }},
      {"no version", [](Message& m) { m.headers.signature.erase(0, 3); }},
      {"another version", [](Message& m) { m.headers.signature[1] = '2'; }},
      {"the version of another algorithm", [](Message& m) { m.headers.signature.insert(2, "a"); }},
      {"a version in capitals", [](Message& m) { m.headers.signature[0] = 'V'; }},
      {"the signature's first digit", [](Message& m) { m.headers.signature[3] = 'A'; }},
      {"the signature's last digit", [](Message& m) { m.headers.signature[m.headers.signature.size() - 3] ^= 1; }},
      {"stray bits in the last digit", [](Message& m) { m.headers.signature[m.headers.signature.size() - 2] = 'h'; }},
      {"no padding", [](Message& m) { m.headers.signature.pop_back(); }},
      {"a signature cut in half", [](Message& m) { m.headers.signature.resize(24); }},
      {"the signature twice in one", [](Message& m) { m.headers.signature += m.headers.signature.substr(3); }},
      {"the alphabet for URLs",
       [](Message& m) {
         for (char& letter : m.headers.signature) {
           letter = letter == '+' ? '-' : letter == '/' ? '_' : letter;
         }
       }},
      {"a comma between signatures", [](Message& m) { m.headers.signature = "v1,AAAA," + m.headers.signature; }},
      {"a line break for a blank", [](Message& m) { m.headers.signature.insert(0, "v1,AAAA\n"); }},
      {"more signatures than anyone needs",
       [](Message& m) {
         for (int count = 0; count < 16; ++count) {
           m.headers.signature.insert(0, "v1,AAAA ");
         }
       },
       Verdict::malformed},
  };
  for (const char* version : {"v1", "v1a"}) {
    const KeyRing ring = ringOf({golden(std::string(version) == "v1" ? "whsec" : "whpk")});
    for (const Tampering& tampering : tamperings) {
      CAPTURE(version);
      CAPTURE(tampering.what);
      Message message = goldenMessage("request", version);
      REQUIRE(verify(ring, message) == SignatureVerdict::valid);
      tampering.apply(message);
      CHECK(verify(ring, message) == tampering.expected);
    }
  }
  CHECK(std::size(tamperings) >= 25);
}

TEST_CASE("P11: every other bit of a signature, and every other key, is refused") {
  for (const char* version : {"v1", "v1a"}) {
    const KeyRing ring = ringOf({golden("whsec"), golden("whpk")});
    const Message whole = goldenMessage("request", version);
    for (std::size_t bit = 0; bit < whole.headers.signature.size() * 8; ++bit) {
      Message flipped = whole;
      char& letter = flipped.headers.signature[bit / 8];
      letter = static_cast<char>(letter ^ (1 << (bit % 8)));
      CHECK(verify(ring, flipped) != SignatureVerdict::valid);
    }
  }
  CHECK(verify(ringOf({sharedKey('x')}), goldenMessage("request", "v1")) == SignatureVerdict::mismatch);
  CHECK(verify(ringOf({}), goldenMessage("request", "v1")) == SignatureVerdict::mismatch);
}

TEST_CASE("the tolerance is five minutes in both directions, to the second") {
  const KeyRing ring = ringOf({golden("whsec")});
  Message message = goldenMessage("request", "v1");
  struct Moment {
    WallTime now;
    SignatureVerdict expected;
  };
  for (const Moment& moment :
       {Moment{at(kThen + 300, 999), SignatureVerdict::valid}, Moment{at(kThen + 301), SignatureVerdict::skewed},
        Moment{at(kThen - 300), SignatureVerdict::valid}, Moment{at(kThen - 301, 999), SignatureVerdict::skewed}}) {
    CAPTURE(moment.now.time_since_epoch().count());
    message.now = moment.now;
    CHECK(verify(ring, message) == moment.expected);
  }
}

TEST_CASE("through a rotation both sides sign with all keys and verify with any") {
  const std::string before = sharedKey('a');
  const std::string after = sharedKey('b');
  const auto signedBy = [](const KeyRing& ring) { return Message{ring.sign("id", "{}", at(kThen)), "{}", at(kThen)}; };
  const KeyRing both = ringOf({after, before, golden("whsk")});
  const Message message = signedBy(both);
  CHECK(std::count(message.headers.signature.begin(), message.headers.signature.end(), ',') == 3);
  for (const std::string& key : {before, after, golden("whpk")}) {
    CHECK(verify(ringOf({key}), message) == SignatureVerdict::valid);
    CHECK(verify(ringOf({sharedKey('c'), key}), message) == SignatureVerdict::valid);
  }
  CHECK(verify(both, signedBy(ringOf({before}))) == SignatureVerdict::valid);
  CHECK(verify(both, signedBy(ringOf({after}))) == SignatureVerdict::valid);
  CHECK(verify(ringOf({after}), signedBy(ringOf({before}))) == SignatureVerdict::mismatch);
}

TEST_CASE("a key that is none is refused with its reason, and not one letter of it is shown") {
  const std::string tail = "SecretLetters";
  CHECK(refusalOf("") != "");
  for (const std::string& text :
       {tail, "whsec_" + tail, "whsec_" + tail + "====", "whsec_ " + tail, "whsec_" + encodeBase64({}),
        sharedKey('S', 23), sharedKey('S', 65), "whpk_" + encodeBase64(std::vector<std::uint8_t>(31, 'S')),
        "whsk_" + encodeBase64(std::vector<std::uint8_t>(33, 'S')),
        "whsk_" + encodeBase64(std::vector<std::uint8_t>(64, 'S'))}) {
    const std::string refusal = refusalOf(text);
    CAPTURE(refusal);
    CHECK(refusal.find("secrets[0]") != std::string::npos);
    CHECK(refusal.find(tail) == std::string::npos);
    CHECK(refusal.find("U1NT") == std::string::npos);
  }
  for (const std::string& text : {std::string(), tail}) {
    CHECK(refusalOf(text).find("must begin with whsec_ (shared), whsk_ (private) or whpk_ (public)") !=
          std::string::npos);
  }
  CHECK(refusalOf(sharedKey('S', 24)).empty());
  CHECK(refusalOf(sharedKey('S', 64)).empty());
  CHECK_THROWS_AS(ringOf(std::vector<std::string>(17, sharedKey('S'))), Error);
}

TEST_CASE("base64 is read in one spelling only") {
  const auto bytes = [](std::string_view text) { return std::vector<std::uint8_t>(text.begin(), text.end()); };
  for (const auto& [text, encoded] : std::vector<std::pair<std::string, std::string>>{
           {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"\xff\xfe\xfd", "//79"}}) {
    CHECK(encodeBase64(bytes(text)) == encoded);
    CHECK((decodeBase64(encoded) == bytes(text)));
  }
  for (const char* text :
       {"Zg", "Zg=", "Zg===", "=", "====", "Zh==", "Zm9=", "Zm9v\n", "Zm 9", "Zm-_", "Z=g=", "Zg=g"}) {
    CAPTURE(text);
    CHECK_FALSE(decodeBase64(text));
  }
}

namespace {

/// A key that counts its computations over the body.
class CountingKey final : public SigningKey {
public:
  CountingKey(std::shared_ptr<const SigningKey> key, std::size_t& computations)
      : key_(std::move(key)), computations_(computations) {}

  [[nodiscard]] std::string_view version() const noexcept override { return key_->version(); }
  [[nodiscard]] bool canSign() const noexcept override { return key_->canSign(); }
  [[nodiscard]] bool canVerify() const noexcept override { return key_->canVerify(); }
  [[nodiscard]] std::size_t signatureLength() const noexcept override { return key_->signatureLength(); }
  [[nodiscard]] bool isShared() const noexcept override { return key_->isShared(); }
  [[nodiscard]] std::string sign(const SignedContent& content) const override {
    ++computations_;
    return key_->sign(content);
  }
  [[nodiscard]] bool verify(const SignedContent& content, std::string_view signature) const override {
    ++computations_;
    return key_->verify(content, signature);
  }

private:
  const std::shared_ptr<const SigningKey> key_;
  std::size_t& computations_;
};

std::string listOf(std::size_t count, const std::string& signature) {
  std::string list;
  for (std::size_t index = 0; index < count; ++index) {
    list += (index == 0 ? "" : " ") + signature;
  }
  return list;
}

}  // namespace

TEST_CASE("hostile: as many signatures as are read, all wrong: the body is gone over once for each shared key") {
  std::size_t computations = 0;
  KeyRing::Keys keys;
  for (char fill = 'a'; fill < 'a' + 16; ++fill) {
    keys.push_back(std::make_shared<CountingKey>(parseSigningKey(Secret(sharedKey(fill))), computations));
  }
  const KeyRing ring(keys);
  Message message = goldenMessage("request", "v1");
  struct Attack {
    const char* what;
    std::string list;
    SignatureVerdict expected;
    std::size_t computations;
  };
  const std::string wrong = "v1," + std::string(43, 'A') + "=";
  for (const Attack& attack : {
           Attack{"sixteen that look right", listOf(16, wrong), SignatureVerdict::mismatch, 16},
           Attack{"one too many", listOf(17, wrong), SignatureVerdict::malformed, 0},
           Attack{"sixteen too short", listOf(16, wrong.substr(0, 46)), SignatureVerdict::mismatch, 0},
           Attack{"sixteen too long", listOf(16, wrong + "="), SignatureVerdict::mismatch, 0},
           Attack{"of another version", listOf(4, "v1a," + std::string(88, 'A')), SignatureVerdict::mismatch, 0},
       }) {
    CAPTURE(attack.what);
    computations = 0;
    message.headers.signature = attack.list;
    CHECK(verify(ring, message) == attack.expected);
    CHECK(computations == attack.computations);
  }
  // The right signature is found at any position, by its own key.
  const SignatureHeaders right = ringOf({sharedKey('p')}).sign(message.headers.id, message.body, at(kThen));
  computations = 0;
  message.headers.signature = listOf(15, wrong) + " " + right.signature;
  CHECK(verify(ring, message) == SignatureVerdict::valid);
  CHECK(computations == 16);
}

TEST_CASE("hostile: signatures that cost a computation each: above 4 malformed, and never more than 16 computations") {
  std::size_t computations = 0;
  const auto ringWith = [&](std::size_t count) {
    KeyRing::Keys keys;
    for (std::size_t index = 0; index < count; ++index) {
      keys.push_back(std::make_shared<CountingKey>(parseSigningKey(Secret(golden("whpk"))), computations));
    }
    return KeyRing(keys);
  };
  Message message = goldenMessage("request", "v1a");
  const std::string right = message.headers.signature;
  const std::string wrong = "v1a," + std::string(86, 'A') + "==";
  message.headers.signature = listOf(4, wrong);
  CHECK(verify(ringWith(16), message) == SignatureVerdict::mismatch);
  CHECK(computations == 16);
  computations = 0;
  message.headers.signature = listOf(5, wrong);
  CHECK(verify(ringWith(1), message) == SignatureVerdict::malformed);
  CHECK(computations == 0);
  message.headers.signature = listOf(3, wrong) + " " + right;
  CHECK(verify(ringWith(4), message) == SignatureVerdict::valid);
  CHECK(computations == 4);
}

}  // namespace signature_test
