#pragma once

#include <string>

namespace ackbox::serve {

class Service;

/// What `GET /v1/stats` answers, and as `peers` the list of `GET /v1/peers`. Reads the file.
[[nodiscard]] std::string readFigures(Service& service);

}  // namespace ackbox::serve
