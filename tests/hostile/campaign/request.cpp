#include "hostile/campaign/request.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <ctime>
#include <stdexcept>
#include <vector>

namespace ackbox::campaign {
namespace {

std::string encoded(const unsigned char* bytes, std::size_t size) {
  std::string text(4 * ((size + 2) / 3) + 1, '\0');
  text.resize(static_cast<std::size_t>(
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), bytes, static_cast<int>(size))));
  return text;
}

// The bytes behind `whsec_`: every key of the campaign is of 32 bytes.
std::vector<unsigned char> decodedKey(std::string_view key) {
  key.remove_prefix(std::string_view("whsec_").size());
  std::vector<unsigned char> bytes(key.size());
  if (EVP_DecodeBlock(bytes.data(), reinterpret_cast<const unsigned char*>(key.data()), static_cast<int>(key.size())) <
      0) {
    throw std::runtime_error("a key of the campaign is no base64");
  }
  bytes.resize(32);
  return bytes;
}

}  // namespace

std::string freshNumber() {
  static std::atomic<std::uint64_t> given = 0;
  return std::to_string(++given);
}

std::string frameOf(std::string_view source, std::string_view type, std::string_view members) {
  std::string frame = R"({"specversion":"1.0","source":")";
  frame.append(source).append(R"(","type":")").append(type).append(R"(","id":"id-)").append(freshNumber());
  return frame.append(R"(","data":1)").append(members).append("}");
}

std::string requestOf(std::string_view agent, std::string_view key, std::string_view body, std::string_view contentType,
                      std::string_view headers) {
  std::string request = "POST /inbox HTTP/1.1\r\nHost: 127.0.0.1\r\noutbox-version: 1\r\n";
  request.append("Content-Type: ").append(contentType).append("\r\n");
  if (!agent.empty()) {
    request.append("outbox-agent: ").append(agent).append("\r\n");
  }
  if (!key.empty()) {
    const std::string id = "request-" + freshNumber();
    const std::string time = std::to_string(std::time(nullptr));
    std::string covered = id + "." + time + ".";
    covered.append(body);
    const std::vector<unsigned char> bytes = decodedKey(key);
    std::array<unsigned char, 32> mac{};
    HMAC(EVP_sha256(), bytes.data(), static_cast<int>(bytes.size()),
         reinterpret_cast<const unsigned char*>(covered.data()), covered.size(), mac.data(), nullptr);
    request.append("webhook-id: ").append(id).append("\r\nwebhook-timestamp: ").append(time);
    request.append("\r\nwebhook-signature: v1,").append(encoded(mac.data(), mac.size())).append("\r\n");
  }
  request.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n");
  return request.append(headers).append("\r\n").append(body);
}

}  // namespace ackbox::campaign
