#include "protocol/body_rules.hpp"

#include "json/fault.hpp"
#include "protocol/problem.hpp"
#include "protocol/wire.hpp"

namespace ackbox::protocol {

std::optional<InboundResponse> bodyProblem(std::string_view body, std::size_t bytesMax, std::size_t depthMax) {
  if (body.size() > bytesMax) {
    return bodyTooLarge(bytesMax);
  }
  switch (json::findFault(body, depthMax)) {
    case json::Fault::none:
      return std::nullopt;
    case json::Fault::syntax:
      return problem(400, "Not JSON", "the body is not JSON text by RFC 8259");
    case json::Fault::encoding:
      return problem(400, "Not JSON", "the body is not UTF-8");
    case json::Fault::depth:
      return limitProblem(400, "Nested too deep", "the body has too many levels", "maxdepth", depthMax);
  }
  return std::nullopt;
}

}  // namespace ackbox::protocol
