#pragma once

#include <functional>
#include <string>

namespace ackbox::bench {

/// Posts a body and returns that of the answer. Throws `std::runtime_error` when that is not a 200.
using Post = std::function<std::string(std::string body)>;

/// What a baseline's messages go over: one kept loopback connection, by Beast's blocking calls. `port` is that of a
/// process that serves; throws `std::runtime_error` when there is none.
[[nodiscard]] Post connectLoopback(const std::string& port);

/// The other side: prints its port, serves one connection, and returns with its end. `answer` makes the answer's body
/// of the request's.
void serveLoopback(const std::function<std::string(const std::string& body)>& answer);

}  // namespace ackbox::bench
