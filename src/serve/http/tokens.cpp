#include "serve/http/tokens.hpp"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <map>
#include <sstream>
#include <string>
#include <utility>

#include "ackbox/error.hpp"
#include "json/checked.hpp"
#include "serve/config/regular_file.hpp"

namespace ackbox::serve {
namespace {

constexpr std::size_t kTokenBytesLeast = 24;
constexpr std::size_t kTokenBytesMost = 512;
// Enough for the tokens of ten thousand mailboxes.
constexpr std::size_t kFileBytesMax = std::size_t{2} * 1024 * 1024;

/// Whether the line has a control character, such as a NUL after a token: clients cannot send it, nor people see it.
bool hasControl(std::string_view line) noexcept {
  return std::ranges::any_of(line, [](char letter) {
    const auto byte = static_cast<unsigned char>(letter);
    return (byte < 0x20 && letter != '\t' && letter != '\r') || byte == 0x7f;
  });
}

constexpr std::array kEachRole = {Role::read, Role::operate, Role::send, Role::receive, Role::mailbox};
constexpr std::string_view kMailboxIs = "mailbox=";

/// Returns false if one of the names is not a role.
bool parseRoles(const std::string& text, Caller& caller) {
  std::istringstream names(text);
  for (std::string name; std::getline(names, name, ',');) {
    if (name.starts_with(kMailboxIs) && name.size() > kMailboxIs.size() && caller.mailbox.empty()) {
      caller.mailbox = name.substr(kMailboxIs.size());
      caller.roles.add(Role::mailbox);
      continue;
    }
    const std::optional<Role> role = parseRole(name);
    if (!role || *role == Role::mailbox) {
      return false;
    }
    caller.roles.add(*role);
  }
  return true;
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
    case Role::mailbox:
      return "mailbox";
  }
  return {};
}

std::string Roles::names(std::string_view between) const {
  std::string made;
  for (const Role role : kEachRole) {
    if (has(role)) {
      made.append(made.empty() ? "" : between).append(toString(role));
    }
  }
  return made;
}

std::optional<Role> parseRole(std::string_view name) noexcept {
  for (const Role role : kEachRole) {
    if (toString(role) == name) {
      return role;
    }
  }
  return std::nullopt;
}

Tokens Tokens::read(const std::filesystem::path& file, std::vector<std::string>& problems) {
  Tokens tokens;
  const RegularFile read = readSecretFile(file, kFileBytesMax);
  if (!read.problem.empty()) {
    problems.push_back(read.problem);
    return tokens;
  }
  std::map<Digest, std::size_t> lines;
  std::istringstream in{std::string(json::withoutMark(read.text))};
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
    const Digest digest = digestOf(token);
    const auto [first, isNew] = lines.try_emplace(digest, number);
    Caller caller{.name = name};
    const bool isParsed = parseRoles(roles, caller);
    std::string_view problem;
    if (hasControl(line)) {
      problem = "has a control character, such as NUL: write the line anew";
    } else if (token.empty() || words >> more) {
      problem = "a line is NAME ROLE[,ROLE...] TOKEN";
    } else if (token.size() < kTokenBytesLeast || token.size() > kTokenBytesMost) {
      problem = "a token has 24 to 512 characters, such as of: openssl rand -base64 32";
    } else if (!isParsed) {
      problem = "a role is read, operate, send, receive or mailbox=AGENT; several are joined by commas";
    } else if (!isNew) {
      problem = "has the same token; give each caller its own";
    } else {
      tokens.entries_.push_back({digest, std::move(caller)});
      continue;
    }
    const bool isTwice = problem.starts_with("has the same");
    problems.push_back(file.string() + ":" + std::to_string(number) + ": " +
                       (isTwice ? "line " + std::to_string(first->second) + " " : std::string()) +
                       std::string(problem));
  }
  if (tokens.isEmpty() && problems.empty()) {
    problems.push_back(file.string() +
                       ": has no token, so that nobody would be let in; add a line NAME ROLE[,ROLE...] "
                       "TOKEN, or leave the field out");
  }
  return tokens;
}

Tokens Tokens::load(const std::filesystem::path& file) {
  std::vector<std::string> problems;
  Tokens tokens = read(file, problems);
  if (!problems.empty()) {
    throw Error(Errc::invalidOption, problems.front());
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
