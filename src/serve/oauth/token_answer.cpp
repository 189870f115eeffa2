#include "serve/oauth/token_answer.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "ackbox/error.hpp"
#include "base/hex.hpp"
#include "json/checked.hpp"
#include "protocol/base64.hpp"
#include "protocol/http_date.hpp"

namespace ackbox::serve {
namespace {

using transport::HttpAnswer;
using transport::HttpEnd;

constexpr std::chrono::seconds kTokenTimeout{10};
constexpr std::size_t kTokenAnswerBytesMax = std::size_t{64} * 1024;
// Less than the 8 KiB that the headers of a peer may have.
constexpr std::size_t kTokenBytesMax = std::size_t{7} * 1024;
constexpr std::chrono::seconds kTokenRetryMost{300};

/// The codes of RFC 6749, 5.2, each with its remedy.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kCodes = {{
    {"invalid_request", "check scope and audience"},
    {"invalid_client", "correct client_id or client_secret_file"},
    {"invalid_grant", "the server must permit client_credentials to this client"},
    {"unauthorized_client", "the server must permit client_credentials to this client"},
    {"unsupported_grant_type", "token_url must be of a server that has client_credentials"},
    {"invalid_scope", "correct scope"},
}};

void addFormField(std::string& body, std::string_view name, const std::string& value) {
  if (!value.empty()) {
    body.append(body.empty() ? "" : "&").append(name).append("=").append(percentEncoded(value));
  }
}

bool isToken(std::string_view text) {
  return !text.empty() && text.size() <= kTokenBytesMax &&
         std::ranges::all_of(text, [](char letter) { return letter > ' ' && letter <= '~'; });
}

bool isBearer(std::string_view text) {
  return std::ranges::equal(text, std::string_view("bearer"),
                            [](char one, char other) { return (one | 0x20) == other; });
}

/// Some servers write the number as a string.
std::optional<std::chrono::seconds> lifetimeIn(json::Members& members) {
  const std::optional<std::string_view> value = members.find("expires_in");
  if (!value) {
    return std::nullopt;
  }
  const std::string_view digits =
      json::kindOf(*value) == json::Kind::string ? members.decode(*value).value_or("") : *value;
  std::uint32_t seconds = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
  // Also the whole part of a fraction.
  const bool isNumber = error == std::errc() && (end == digits.data() + digits.size() || *end == '.');
  return isNumber ? std::optional(std::chrono::seconds(seconds)) : std::nullopt;
}

TokenAnswer noToken(std::string problem, bool isRefusal = false) {
  TokenAnswer made;
  made.problem = "no token: the token server " + std::move(problem);
  made.isRefusal = isRefusal;
  return made;
}

TokenAnswer tokenRefused(const HttpAnswer& answer) {
  const std::string status = "answers " + std::to_string(answer.status);
  json::CheckedMembers object = json::readObject(answer.body);
  const std::optional<std::string_view> code =
      object.problem.empty() ? object.members.text("error") : std::optional<std::string_view>();
  const auto* const known = std::ranges::find_if(kCodes, [&](const auto& one) { return code && one.first == *code; });
  if (known != kCodes.end()) {
    return noToken(status + " " + std::string(known->first) + ": " + std::string(known->second), true);
  }
  const bool isOutage = answer.status >= 500 || answer.status == 408 || answer.status == 429;
  return noToken(status + (isOutage ? ": it is asked again" : ": check token_url, client_id and client_secret_file"),
                 !isOutage);
}

TokenAnswer tokenGranted(const HttpAnswer& answer) {
  json::CheckedMembers object = json::readObject(answer.body);
  if (!object.problem.empty()) {
    return noToken("answers 200 and no JSON object: check token_url", true);
  }
  const std::string_view token = object.members.text("access_token").value_or("");
  if (!isToken(token)) {
    return noToken("answers 200 without a usable access_token: check token_url", true);
  }
  if (const auto type = object.members.text("token_type"); type && !isBearer(*type)) {
    return noToken("gives a token that is no bearer token: another kind cannot be used", true);
  }
  TokenAnswer made;
  made.header = Secret("Authorization: Bearer " + std::string(token));
  made.lifetime = lifetimeIn(object.members);
  return made;
}

}  // namespace

transport::HttpPost tokenRequest(const OauthRule& rule) {
  const std::vector<Secret> secrets = rule.clientSecret.load();
  if (secrets.size() != 1) {
    throw Error(Errc::secretsUnreadable,
                "client_secret_file needs one secret, and has " + std::to_string(secrets.size()));
  }
  const std::string pair = percentEncoded(rule.clientId) + ":" + percentEncoded(secrets.front().reveal());
  transport::HttpPost post;
  addFormField(post.body, "grant_type", "client_credentials");
  addFormField(post.body, "scope", rule.scope);
  addFormField(post.body, "audience", rule.audience);
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(pair.data());
  post.headers = {{"Content-Type", "application/x-www-form-urlencoded"},
                  {"Accept", "application/json"},
                  {"Authorization", "Basic " + protocol::encodeBase64(std::span(bytes, pair.size()))}};
  post.timeout = kTokenTimeout;
  return post;
}

TokenAnswer readTokenAnswer(const HttpAnswer& answer) {
  if (answer.end != HttpEnd::answered) {
    return noToken("cannot be reached: " + answer.error);
  }
  if (answer.body.size() > kTokenAnswerBytesMax) {
    return noToken("answers with more than 64 KiB: check token_url", true);
  }
  TokenAnswer read = answer.status == 200 ? tokenGranted(answer) : tokenRefused(answer);
  read.retryAfter = protocol::parseRetryAfter(answer.retryAfter, std::nullopt, kTokenRetryMost);
  return read;
}

}  // namespace ackbox::serve
