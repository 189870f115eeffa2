#pragma once

#include <exception>
#include <system_error>

namespace ackbox::store {

/// What an exception of a store, or of an application's statement on its connection, means as an error code: `Error`,
/// `SQLite::Exception`, `bad_alloc`, anything else.
[[nodiscard]] std::error_code errorOf(const std::exception_ptr& failure) noexcept;

}  // namespace ackbox::store
