#include "serve/http/tokens.hpp"

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include "ackbox/error.hpp"

namespace ackbox::serve {
namespace {

constexpr std::size_t kTokenBytesLeast = 24;
constexpr std::size_t kTokenBytesMost = 512;
constexpr std::size_t kFileBytesMax = std::size_t{64} * 1024;
constexpr mode_t kOthers = 0077;

[[noreturn]] void refuse(const std::filesystem::path& file, std::size_t line, const std::string& what) {
  throw Error(Errc::invalidOption, file.string() + ":" + std::to_string(line) + ": " + what);
}

Roles parseRoles(const std::string& text, const std::filesystem::path& file, std::size_t line) {
  Roles roles;
  std::istringstream names(text);
  for (std::string name; std::getline(names, name, ',');) {
    const std::optional<Role> role = parseRole(name);
    if (!role) {
      refuse(file, line, "a role is read, operate, send or receive; several are joined by commas");
    }
    roles.add(*role);
  }
  return roles;
}

}  // namespace

std::string_view toString(Role role) noexcept {
  switch (role) {
    case Role::read:
      return "read";
    case Role::operate:
      return "operate";
    case Role::send:
      return "send";
    case Role::receive:
      return "receive";
  }
  return {};
}

std::optional<Role> parseRole(std::string_view name) noexcept {
  for (const Role role : {Role::read, Role::operate, Role::send, Role::receive}) {
    if (toString(role) == name) {
      return role;
    }
  }
  return std::nullopt;
}

Tokens Tokens::load(const std::filesystem::path& file) {
  struct stat found {};
  std::ifstream in(file, std::ios::binary);
  if (!in || ::stat(file.c_str(), &found) != 0) {
    throw Error(Errc::secretsUnreadable, file.string() + ": cannot be read");
  }
  if ((found.st_mode & kOthers) != 0) {
    throw Error(Errc::invalidOption, file.string() + ": others can read the tokens; chmod 600 it");
  }
  if (static_cast<std::size_t>(found.st_size) > kFileBytesMax) {
    throw Error(Errc::invalidOption, file.string() + ": is larger than 64 KiB");
  }
  Tokens tokens;
  std::size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    std::istringstream words(line);
    std::string name;
    std::string roles;
    std::string token;
    std::string more;
    words >> name >> roles >> token;
    if (name.empty() || name.front() == '#') {
      continue;
    }
    if (token.empty() || words >> more) {
      refuse(file, number, "a line is NAME ROLE[,ROLE...] TOKEN");
    }
    if (token.size() < kTokenBytesLeast || token.size() > kTokenBytesMost) {
      refuse(file, number, "a token has 24 to 512 characters, such as of: openssl rand -base64 32");
    }
    tokens.entries_.push_back({digestOf(token), Caller{name, parseRoles(roles, file, number)}});
  }
  return tokens;
}

std::optional<Caller> Tokens::find(const Digest& digest) const {
  const Entry* found = nullptr;
  for (const Entry& entry : entries_) {
    if (CRYPTO_memcmp(entry.digest.data(), digest.data(), digest.size()) == 0) {
      found = &entry;
    }
  }
  return found == nullptr ? std::nullopt : std::optional(found->caller);
}

Tokens::Digest Tokens::digestOf(std::string_view token) {
  Digest digest{};
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), digest.data());
  return digest;
}

}  // namespace ackbox::serve
