#pragma once

#include <exception>
#include <functional>
#include <string>
#include <utility>

namespace ackbox {

/// Receives the text of an exception.
using OnException = std::function<void(const std::string& what)>;

/// The text of an exception.
inline std::string whatOf(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

/// Calls `work`, and reports its exception, which goes no further: it ends neither the thread nor the work after it.
template <typename Work>
void reportingThrown(const OnException& onException, Work&& work) noexcept {
  try {
    try {
      std::forward<Work>(work)();
    } catch (...) {
      onException(whatOf(std::current_exception()));
    }
  } catch (...) {
    // There is not enough memory for a report.
    return;
  }
}

}  // namespace ackbox
