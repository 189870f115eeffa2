#include "protocol/body_rules.hpp"

#include "protocol/json_text.hpp"
#include "protocol/problem.hpp"
#include "protocol/wire.hpp"

namespace ackbox::protocol {

std::optional<InboundResponse> bodyProblem(std::string_view body, std::size_t bytesMax, std::size_t depthMax) {
  if (body.size() > bytesMax) {
    return bodyTooLarge(bytesMax);
  }
  switch (findFault(body, depthMax)) {
    case JsonFault::none:
      return std::nullopt;
    case JsonFault::syntax:
      return problem(400, "Not JSON", "the body is not JSON text by RFC 8259");
    case JsonFault::encoding:
      return problem(400, "Not JSON", "the body is not UTF-8");
    case JsonFault::depth:
      return limitProblem(400, "Nested too deep", "the body has too many levels", "maxdepth", depthMax);
  }
  return std::nullopt;
}

}  // namespace ackbox::protocol
