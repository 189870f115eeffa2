#pragma once

#include <string>

namespace ackbox::serve {

class Service;

/// The answer of `GET /v1/stats`, with the list of `GET /v1/peers` as `peers`. Reads the file.
[[nodiscard]] std::string readFigures(Service& service);

}  // namespace ackbox::serve
