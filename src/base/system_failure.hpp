#pragma once

#include <boost/system/system_error.hpp>
#include <utility>

#include "ackbox/error.hpp"

namespace ackbox {

/// The code that an application gets for `error` of the system: `outOfDescriptors`, `outOfMemory`, or `otherwise`.
[[nodiscard]] inline Errc errcOf(const boost::system::error_code& error, Errc otherwise) noexcept {
  namespace errc = boost::system::errc;
  if (error == errc::too_many_files_open || error == errc::too_many_files_open_in_system) {
    return Errc::outOfDescriptors;
  }
  return error == errc::not_enough_memory || error == errc::no_buffer_space ? Errc::outOfMemory : otherwise;
}

/// Calls `make`, which opens sockets, timers or event queues. If the system has no descriptor left, throws `Error` in
/// place of Asio's own exception, which names no remedy.
template <typename Make>
decltype(auto) withDescriptors(Make&& make) {
  try {
    return std::forward<Make>(make)();
  } catch (const boost::system::system_error& failure) {
    throw Error(errcOf(failure.code(), Errc::ioError), failure.what());
  }
}

}  // namespace ackbox
