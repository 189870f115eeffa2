#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ackbox {

/// The text of a key that must not be seen: `whsec_…` (shared), `whsk_…` (private) or `whpk_…` (public), each with
/// base64 behind it. Copies share one buffer, which is overwritten when the last of them goes. There is no way to print
/// it.
///
/// Thread-safety: as an `int`.
class Secret {
public:
  /// Nothing.
  Secret() = default;
  /// Takes over the text, and overwrites what is left of it in the argument.
  explicit Secret(std::string text);

  /// The text, for code that computes with it. Lifetime: this object's.
  [[nodiscard]] std::string_view reveal() const noexcept;

private:
  std::shared_ptr<const std::string> text_;
};

std::ostream& operator<<(std::ostream&, const Secret&) = delete;

/// Where the secrets shared with one peer come from. Requests are signed with all that it gives, and verified with any
/// of them. It is asked again with the first request after a second, so that keys are rotated and revoked without a
/// restart. What then counts, and how long after the change at the latest:
///
/// - other secrets, fewer, or none: these, after a second. With none, no request is
///   believed as this peer's.
/// - nothing that can be read (deleted, no permission, a malformed secret, an exception): those from before, for
///   `secretsGrace` from when they were last read, and then none.
///
/// So put a new file in the old one's place by a rename: one that is read while it is written may be empty.
///
/// Thread-safety: as an `int`; `load` may be called from any thread.
class SecretSource {
public:
  /// None: nothing is signed.
  SecretSource() = default;

  /// These, for good.
  [[nodiscard]] static SecretSource fixed(std::vector<Secret> secrets);
  /// The lines of a text file of at most 64 KiB; blank ones, and those that begin with `#`, are passed over. Read anew
  /// at each `load`.
  [[nodiscard]] static SecretSource file(std::filesystem::path path);
  /// The words of an environment variable. Read once, now.
  /// Throws `Error` with `secretsUnreadable` if it is not set.
  [[nodiscard]] static SecretSource environment(const std::string& variable);
  /// Whatever `function` gives, such as a vault's answer; called at each `load`, on any thread. It must be quick, and
  /// throw where it does not know: an empty list takes all secrets away.
  [[nodiscard]] static SecretSource callback(std::function<std::vector<Secret>()> function);

  /// Whether there is a source at all.
  explicit operator bool() const noexcept { return static_cast<bool>(function_); }

  /// The secrets as they are now.
  /// Throws `Error`: `secretsUnreadable` if a file cannot be read, with the cause in `what()`; `invalidOption` if it
  /// has more than 64 KiB; and whatever a callback throws.
  [[nodiscard]] std::vector<Secret> load() const;

private:
  std::function<std::vector<Secret>()> function_;
};

}  // namespace ackbox
