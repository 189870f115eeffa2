#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "ackbox.h"

namespace ackbox::c_abi {

/// Sets the text of `ackbox_last_error` for this thread. Returns `status`.
int fail(int status, std::string_view cause) noexcept;
/// The same for the exception that is being handled.
int failWithException() noexcept;
[[nodiscard]] const char* lastError() noexcept;

/// Runs `action`, which returns a status. No exception leaves it.
template <typename Action>
int guarded(Action&& action) noexcept {
  try {
    return action();
  } catch (...) {
    return failWithException();
  }
}

/// A call that was refused, with a status that is no `Errc`.
class Refusal {
public:
  Refusal(ackbox_status status, std::string cause) : status_(status), cause_(std::move(cause)) {}
  [[nodiscard]] ackbox_status status() const noexcept { return status_; }
  [[nodiscard]] const std::string& cause() const noexcept { return cause_; }

private:
  ackbox_status status_;
  std::string cause_;
};

/// Throws `Refusal` with `ACKBOX_INVALID_ARGUMENT` if `pointer` is null.
void require(const void* pointer, const char* name);

/// Throws `Refusal` unless a structure of `size` bytes can be used, of which the first release knew `least`.
void checkSize(std::size_t size, std::size_t least, const char* name);

/// The caller's structure, as this release knows it. Throws `Refusal`: it is null, its size is wrong, or a byte that
/// this release does not know is not 0.
template <typename Structure>
[[nodiscard]] Structure read(const Structure* given, const char* name) {
  static_assert(std::is_trivially_copyable_v<Structure>);
  require(given, name);
  const std::size_t size = given->struct_size;
  checkSize(size, sizeof(Structure), name);
  const auto* const bytes = reinterpret_cast<const char*>(given);
  for (std::size_t place = sizeof(Structure); place < size; ++place) {
    if (bytes[place] != 0) {
      throw Refusal(ACKBOX_INVALID_ARGUMENT,
                    std::string(name) + " has members that this release does not know: use a newer libackbox");
    }
  }
  Structure known = {};
  std::memcpy(&known, bytes, sizeof(Structure));
  return known;
}

/// Fills the caller's structure. Its size was checked before; members that this release does not know become 0.
template <typename Structure>
void write(Structure values, Structure* to) {
  static_assert(std::is_trivially_copyable_v<Structure>);
  const std::size_t size = to->struct_size;
  values.struct_size = size;
  auto* const bytes = reinterpret_cast<char*>(to);
  std::memcpy(bytes, &values, sizeof(Structure));
  std::memset(bytes + sizeof(Structure), 0, size - sizeof(Structure));
}

/// Throws `Refusal` unless the caller's structure can be filled.
template <typename Structure>
void checkWritable(const Structure* to, const char* name) {
  require(to, name);
  checkSize(to->struct_size, sizeof(Structure), name);
}

/// Whether a flag is set. Throws `Refusal` if it is neither 0 nor 1.
[[nodiscard]] bool flag(std::uint32_t value, const char* name);

/// A copy for `ackbox_free`. Throws `std::bad_alloc`.
[[nodiscard]] char* copyOf(std::string_view text);

}  // namespace ackbox::c_abi
