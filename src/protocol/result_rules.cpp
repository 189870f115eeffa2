#include "protocol/result_rules.hpp"

#include "protocol/json_text.hpp"
#include "protocol/limits.hpp"

namespace ackbox::protocol {

std::string_view resultProblem(std::string_view result) {
  if (result.empty()) {
    return {};
  }
  if (result.size() > kResultBytesMax) {
    return "is larger than 256 KiB";
  }
  // In an ACK event, which is the longer way, the event's own levels are around it.
  switch (findFault(result, kAnswerDepthMax - kResultNesting - kDataNesting)) {
    case JsonFault::none:
      return {};
    case JsonFault::syntax:
      return "is not JSON (a text needs quotes)";
    case JsonFault::depth:
      return "is nested too deep";
    case JsonFault::encoding:
      return "is not UTF-8";
  }
  return {};
}

}  // namespace ackbox::protocol
