#pragma once

#include <string>

#include "postgres/connection.hpp"

namespace ackbox::store::postgres {

/// Why a power cut at the server may lose what is acknowledged, with the remedy; empty: nothing is known against it.
[[nodiscard]] inline std::string whyNotDurable(ackbox::postgres::Connection& connection) {
  const bool isDurable =
      connection.run("SELECT current_setting('fsync')='on' AND current_setting('full_page_writes')='on'")
          .front()
          .integer(0) != 0;
  return isDurable ? std::string()
                   : "the server's fsync or full_page_writes is off: a power cut may lose what is acknowledged; turn "
                     "both on";
}

}  // namespace ackbox::store::postgres
