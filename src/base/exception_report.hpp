#pragma once

#include <exception>
#include <functional>
#include <string>
#include <utility>

namespace ackbox {

/// Is given what an exception says.
using OnException = std::function<void(const std::string& what)>;

/// Calls `work`. What it throws is reported and goes no further: it ends neither the thread nor what comes after it.
template <typename Work>
void reportingThrown(const OnException& onException, Work&& work) noexcept {
  try {
    try {
      std::forward<Work>(work)();
    } catch (const std::exception& error) {
      onException(error.what());
    } catch (...) {
      onException("an exception that is no std::exception");
    }
  } catch (...) {
    // There is not even the memory to report it.
    return;
  }
}

}  // namespace ackbox
