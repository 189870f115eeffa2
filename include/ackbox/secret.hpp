#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ackbox {

/// A text that must not be shown. As a key: `whsec_…` (shared), `whsk_…` (private) or `whpk_…` (public), each followed
/// by base64. As a header: `Name: value`. Copies share one buffer, which is overwritten when the last copy is
/// destroyed. A `Secret` cannot be printed.
///
/// Thread-safety: as an `int`.
class Secret {
public:
  /// An empty secret.
  Secret() = default;
  /// Takes over the text, and overwrites what remains of it in the argument.
  explicit Secret(std::string text);

  /// The text, for code that computes with it. Lifetime: this object's.
  [[nodiscard]] std::string_view reveal() const noexcept;

private:
  std::shared_ptr<const std::string> text_;
};

std::ostream& operator<<(std::ostream&, const Secret&) = delete;

/// The source of the keys shared with one peer, or of the headers of requests to it. Requests are signed with all keys
/// that it returns, and verified with any of them. It is read again at the first request after a second, so that keys
/// can be rotated and revoked without a restart. The secrets in force after a change of the source:
///
/// - other secrets, fewer, or none: these, after a second at the latest. With none, no request is accepted as this
///   peer's.
/// - nothing readable (deleted, no permission, a malformed secret, an exception): the earlier ones, for `secretsGrace`
///   from when they were last read, and then none.
///
/// Therefore replace a file by renaming a new one over it: a file that is read while it is written may be empty.
///
/// Thread-safety: as an `int`; `load` may be called from any thread.
class SecretSource {
public:
  /// No source: nothing is signed.
  SecretSource() = default;

  /// Always these secrets.
  [[nodiscard]] static SecretSource fixed(std::vector<Secret> secrets);
  /// The lines of a text file of at most 64 KiB; blank lines and those that begin with `#` are skipped. Read again at
  /// each `load`.
  [[nodiscard]] static SecretSource file(std::filesystem::path path);
  /// The words of an environment variable, read once, in this call.
  /// Throws `Error` with `secretsUnreadable` if it is not set.
  [[nodiscard]] static SecretSource environment(const std::string& variable);
  /// The result of `function`, such as a vault's answer; called at each `load`, on any thread. It must be fast, and
  /// throw if it cannot get the secrets: an empty list takes all secrets away.
  [[nodiscard]] static SecretSource callback(std::function<std::vector<Secret>()> function);

  /// The header `Authorization: Bearer TOKEN`, for `PeerOptions::headers`; `token` gives one secret, the token. `load`
  /// throws `Error` with `invalidOption` if it gives none or several, or one with a blank in it.
  [[nodiscard]] static SecretSource bearer(SecretSource token);

  /// Whether there is a source.
  explicit operator bool() const noexcept { return static_cast<bool>(function_); }

  /// The current secrets.
  /// Throws `Error`: `secretsUnreadable` if a file cannot be read, with the cause in `what()`; `invalidOption` if it
  /// has more than 64 KiB; also what a callback throws.
  [[nodiscard]] std::vector<Secret> load() const;

private:
  std::function<std::vector<Secret>()> function_;
};

}  // namespace ackbox
