#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "serve/http/limits.hpp"

namespace ackbox::serve {

/// A permission of a caller. An operation requires one of its roles.
enum class Role : std::uint8_t {
  /// Look at figures, messages and peers, payloads included.
  read,
  /// Retry, discard, pause and resume.
  operate,
  /// Enqueue, and query the outcome of a message.
  send,
  /// Take inbound frames and settle them, also those of mailboxes.
  receive,
  /// The same for the frames of one mailbox alone.
  mailbox,
};

/// The role's name, as in the tokens file: `"read"`, …
[[nodiscard]] std::string_view toString(Role role) noexcept;
[[nodiscard]] std::optional<Role> parseRole(std::string_view name) noexcept;

/// A set of roles.
class Roles {
public:
  constexpr Roles() = default;
  constexpr Roles(std::initializer_list<Role> roles) {
    for (const Role role : roles) {
      add(role);
    }
  }

  constexpr void add(Role role) noexcept { bits_ |= bitOf(role); }
  [[nodiscard]] constexpr bool has(Role role) const noexcept { return (bits_ & bitOf(role)) != 0; }
  /// Whether the set contains one of `wanted`.
  [[nodiscard]] constexpr bool hasOneOf(Roles wanted) const noexcept { return (bits_ & wanted.bits_) != 0; }
  [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }
  friend constexpr bool operator==(Roles, Roles) = default;
  /// The names of the roles, joined by `between`.
  [[nodiscard]] std::string names(std::string_view between) const;

private:
  static constexpr std::uint32_t bitOf(Role role) noexcept { return 1U << static_cast<std::uint8_t>(role); }

  std::uint32_t bits_ = 0;
};

inline constexpr Roles kAllRoles{Role::read, Role::operate, Role::send, Role::receive, Role::mailbox};

/// The origin of a request, by the name beside its token in the tokens file.
struct Caller {
  std::string name = {};
  Roles roles = {};
  /// With the role `mailbox`: the agent.
  std::string mailbox = {};
  Limits limits = {};

  /// The agent whose mailbox alone the caller may empty; nothing if it may take frames of all.
  [[nodiscard]] std::optional<std::string> onlyMailbox() const {
    return roles.has(Role::receive) ? std::nullopt : std::optional(mailbox);
  }
};

}  // namespace ackbox::serve
