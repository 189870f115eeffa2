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
#include "base/pattern.hpp"
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
constexpr std::string_view kPeerIs = "peer=";
constexpr std::string_view kTypeIs = "type=";
constexpr std::string_view kRoleForm =
    "a role is read, operate, send, receive or mailbox=AGENT; several are joined by commas";

/// The text behind `key`; empty if `part` does not begin with it.
std::string_view valueOf(std::string_view part, std::string_view key) noexcept {
  return part.starts_with(key) ? part.substr(key.size()) : std::string_view();
}

/// Adds a role or a limit to the caller. Returns false if it is neither.
bool takePart(std::string_view part, Caller& caller) {
  if (const std::string_view agent = valueOf(part, kMailboxIs); !agent.empty() && caller.mailbox.empty()) {
    caller.mailbox = agent;
    caller.roles.add(Role::mailbox);
    return true;
  }
  if (const std::string_view peer = valueOf(part, kPeerIs); !peer.empty()) {
    caller.limits.peers.emplace_back(peer);
    return true;
  }
  if (const std::string_view type = valueOf(part, kTypeIs); !type.empty()) {
    caller.limits.types.emplace_back(type);
    return true;
  }
  const std::optional<Role> role = parseRole(part);
  if (role && *role != Role::mailbox) {
    caller.roles.add(*role);
    return true;
  }
  return false;
}

/// Fills the caller. Returns the problem; empty: the roles are sound.
std::string_view parseRoles(const std::string& text, Caller& caller) {
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    if (!takePart(part, caller)) {
      return kRoleForm;
    }
  }
  if (!caller.limits.isEmpty() && caller.roles.hasOneOf({Role::receive, Role::mailbox})) {
    return "peer= and type= do not limit what is received: give receive and mailbox= a token of their own";
  }
  if (!caller.limits.types.empty() && caller.roles != Roles{Role::send}) {
    return "type= limits the role send alone: give the other roles a token of their own";
  }
  if (!caller.limits.isEmpty() && caller.roles.empty()) {
    return kRoleForm;
  }
  const bool arePatterns = std::ranges::all_of(
      caller.limits.types, [](const std::string& pattern) { return patternProblem(pattern).empty(); });
  return arePatterns ? std::string_view() : "type= may have a * at its end only";
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
    const std::string_view roleProblem = parseRoles(roles, caller);
    std::string_view problem;
    if (hasControl(line)) {
      problem = "has a control character, such as NUL: write the line anew";
    } else if (token.empty() || words >> more) {
      problem = "a line is NAME ROLE[,ROLE...] TOKEN";
    } else if (token.size() < kTokenBytesLeast || token.size() > kTokenBytesMost) {
      problem = "a token has 24 to 512 characters, such as of: openssl rand -base64 32";
    } else if (!roleProblem.empty()) {
      problem = roleProblem;
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
