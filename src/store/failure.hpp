#pragma once

#include <exception>
#include <string>
#include <system_error>

namespace ackbox::store {

/// The error code for an exception of a store, or of an application's statement on its connection: `Error`,
/// `SQLite::Exception`, `bad_alloc`, or any other.
[[nodiscard]] std::error_code errorOf(const std::exception_ptr& failure) noexcept;

/// What it says beside its code, such as a server's message; may be empty. Throws `bad_alloc`.
[[nodiscard]] std::string circumstancesOf(const std::exception_ptr& failure);

}  // namespace ackbox::store
