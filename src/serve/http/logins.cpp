#include "serve/http/logins.hpp"

#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <utility>

#include "ackbox/error.hpp"

namespace ackbox::serve {
namespace {

constexpr std::size_t kLoginsMost = 1'000;
constexpr std::chrono::hours kLoginTime{12};
constexpr std::size_t kCookieBytes = 32;
constexpr std::string_view kCookieName = "ackbox";

std::string randomValue() {
  std::array<unsigned char, kCookieBytes> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
    throw Error(Errc::ioError, "the machine has no randomness");
  }
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string value;
  for (const unsigned char byte : bytes) {
    value += {kHex[byte >> 4U], kHex[byte & 15U]};
  }
  return value;
}

/// The value of our cookie; empty: there is none.
std::string_view valueIn(std::string_view cookies) {
  while (!cookies.empty()) {
    std::string_view one = cookies.substr(0, cookies.find(';'));
    cookies.remove_prefix(std::min(one.size() + 1, cookies.size()));
    one.remove_prefix(std::min(one.find_first_not_of(' '), one.size()));
    if (one.starts_with(kCookieName) && one.substr(kCookieName.size()).starts_with('=')) {
      return one.substr(kCookieName.size() + 1);
    }
  }
  return {};
}

}  // namespace

Logins::Logins(std::shared_ptr<Clock> clock, bool isSecure) : clock_(std::move(clock)), isSecure_(isSecure) {}

std::string Logins::begin(const Tokens::Digest& token) {
  const std::string value = randomValue();
  const SteadyTime now = clock_->steadyNow();
  const MutexLock lock(mutex_);
  std::erase_if(logins_, [&](const auto& login) { return login.second.endsAt <= now; });
  if (logins_.size() >= kLoginsMost) {
    logins_.erase(std::ranges::min_element(
        logins_, [](const auto& left, const auto& right) { return left.second.endsAt < right.second.endsAt; }));
  }
  logins_[Tokens::digestOf(value)] = {token, now + kLoginTime};
  return cookie(value, kLoginTime);
}

std::optional<Tokens::Digest> Logins::find(std::string_view cookies) const {
  const std::string_view value = valueIn(cookies);
  if (value.empty()) {
    return std::nullopt;
  }
  const Tokens::Digest digest = Tokens::digestOf(value);
  const MutexLock lock(mutex_);
  const auto found = logins_.find(digest);
  return found == logins_.end() || found->second.endsAt <= clock_->steadyNow() ? std::nullopt
                                                                               : std::optional(found->second.token);
}

std::string Logins::end(std::string_view cookies) {
  const Tokens::Digest digest = Tokens::digestOf(valueIn(cookies));
  const MutexLock lock(mutex_);
  logins_.erase(digest);
  return cookie({}, std::chrono::seconds(0));
}

// Without a path: it is that of the login's folder, which is right behind a prefix, too.
std::string Logins::cookie(std::string_view value, std::chrono::seconds age) const {
  return std::string(kCookieName) + "=" + std::string(value) + "; Max-Age=" + std::to_string(age.count()) +
         "; HttpOnly; SameSite=Strict" + (isSecure_ ? "; Secure" : "");
}

}  // namespace ackbox::serve
