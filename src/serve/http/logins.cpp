#include "serve/http/logins.hpp"

#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "ackbox/error.hpp"
#include "base/hex.hpp"

namespace ackbox::serve {
namespace {

constexpr std::size_t kLoginsMost = 1'000;
constexpr std::chrono::hours kLoginTime{12};
constexpr std::size_t kCookieBytes = 32;

std::string randomValue() {
  std::array<unsigned char, kCookieBytes> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
    throw Error(Errc::ioError, "the machine has no randomness");
  }
  return hexOf(bytes);
}

}  // namespace

Logins::Logins(const boost::asio::any_io_executor& executor, std::shared_ptr<Clock> clock, std::string cookieName,
               bool isSecure)
    : clock_(std::move(clock)),
      cookieName_(std::move(cookieName)),
      isSecure_(isSecure),
      alarm_(clock_->makeAlarm(executor)) {}

Logins::~Logins() = default;

void Logins::setEnded(std::function<void()> ended) {
  ended_ = std::move(ended);
}

std::string Logins::begin(const Tokens::Digest& token) {
  const std::string value = randomValue();
  bool isOneEnded = false;
  {
    const MutexLock lock(mutex_);
    isOneEnded = logins_.size() >= kLoginsMost;
    if (isOneEnded) {
      logins_.erase(std::ranges::min_element(
          logins_, [](const auto& left, const auto& right) { return left.second.endsAt < right.second.endsAt; }));
    }
    logins_[Tokens::digestOf(value)] = {token, clock_->steadyNow() + kLoginTime};
  }
  arm();
  if (isOneEnded && ended_) {
    ended_();
  }
  return cookie(value, kLoginTime);
}

std::vector<Logins::Key> Logins::keysOf(std::string_view cookies) const {
  std::vector<Key> keys;
  while (!cookies.empty()) {
    std::string_view one = cookies.substr(0, cookies.find(';'));
    cookies.remove_prefix(std::min(one.size() + 1, cookies.size()));
    one.remove_prefix(std::min(one.find_first_not_of(' '), one.size()));
    const std::size_t name = std::min(one.find('='), one.size());
    if (one.substr(0, name) == cookieName_ && name + 1 < one.size()) {
      keys.push_back(Tokens::digestOf(one.substr(name + 1)));
    }
  }
  return keys;
}

std::optional<Tokens::Digest> Logins::find(const Key& cookie) const {
  const MutexLock lock(mutex_);
  const auto found = logins_.find(cookie);
  return found == logins_.end() || found->second.endsAt <= clock_->steadyNow() ? std::nullopt
                                                                               : std::optional(found->second.token);
}

void Logins::keep(const Tokens& tokens) {
  const MutexLock lock(mutex_);
  std::erase_if(logins_, [&tokens](const auto& login) { return !tokens.find(login.second.token); });
}

std::string Logins::end(std::string_view cookies) {
  bool isOneEnded = false;
  {
    const MutexLock lock(mutex_);
    for (const Key& key : keysOf(cookies)) {
      isOneEnded = logins_.erase(key) > 0 || isOneEnded;
    }
  }
  if (isOneEnded && ended_) {
    ended_();
  }
  return cookie({}, std::chrono::seconds(0));
}

bool Logins::mayFail() {
  const MutexLock lock(mutex_);
  return failures_.mayFail(clock_->steadyNow());
}

void Logins::arm() {
  const MutexLock lock(mutex_);
  const auto first = std::ranges::min_element(
      logins_, [](const auto& left, const auto& right) { return left.second.endsAt < right.second.endsAt; });
  if (first != logins_.end()) {
    alarm_->set(first->second.endsAt, [this] { onEnd(); });
  }
}

void Logins::onEnd() {
  {
    const MutexLock lock(mutex_);
    std::erase_if(logins_, [now = clock_->steadyNow()](const auto& login) { return login.second.endsAt <= now; });
  }
  arm();
  if (ended_) {
    ended_();
  }
}

// Without a path, the cookie applies to the login's folder, which is also correct behind a path prefix.
std::string Logins::cookie(std::string_view value, std::chrono::seconds age) const {
  return cookieName_ + "=" + std::string(value) + "; Max-Age=" + std::to_string(age.count()) +
         "; HttpOnly; SameSite=Strict" + (isSecure_ ? "; Secure" : "");
}

}  // namespace ackbox::serve
