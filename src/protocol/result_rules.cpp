#include "protocol/result_rules.hpp"

#include "json/fault.hpp"
#include "protocol/limits.hpp"

namespace ackbox::protocol {

std::string_view resultProblem(std::string_view result) {
  if (result.empty()) {
    return {};
  }
  if (result.size() > kResultBytesMax) {
    return "is larger than 256 KiB";
  }
  // Checked for an ACK event, which adds the event's own levels around the result.
  switch (json::findFault(result, kAnswerDepthMax - kResultNesting - kDataNesting)) {
    case json::Fault::none:
      return {};
    case json::Fault::syntax:
      return "is not JSON (a text needs quotes)";
    case json::Fault::depth:
      return "is nested too deep";
    case json::Fault::encoding:
      return "is not UTF-8";
  }
  return {};
}

}  // namespace ackbox::protocol
