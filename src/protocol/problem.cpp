#include "protocol/problem.hpp"

#include <string>

#include "json/writer.hpp"
#include "protocol/limits.hpp"
#include "protocol/text_rules.hpp"
#include "protocol/wire.hpp"

namespace ackbox::protocol {
namespace {

/// A busy database is free again within a second, and a full disk may be. If it stays full, the sender's own probes
/// slow down.
constexpr std::uint32_t kRetrySeconds = 1;

InboundResponse makeProblem(int status, std::string_view title, std::string_view detail, std::string_view limitName,
                            std::uint64_t limit) {
  InboundResponse response;
  response.status = status;
  response.contentType = kMediaTypeProblem;
  json::ObjectWriter document(response.body);
  document.text("type", "about:blank");
  document.text("title", title);
  document.number("status", static_cast<std::uint64_t>(status));
  document.textIfAny("detail", truncated(detail, kDetailBytesMax));
  if (!limitName.empty()) {
    document.number(limitName, limit);
  }
  document.close();
  return response;
}

}  // namespace

void nameAuthor(std::string_view agent, InboundResponse& response) {
  if (response.contentType != kMediaTypeProblem || !response.body.ends_with('}')) {
    return;
  }
  std::string member;
  json::ObjectWriter document(member);
  document.text("agent", agent);
  document.close();
  response.body.back() = ',';
  response.body.append(member, 1);
}

InboundResponse problem(int status, std::string_view title, std::string_view detail) {
  return makeProblem(status, title, detail, {}, 0);
}

InboundResponse limitProblem(int status, std::string_view title, std::string_view detail, std::string_view limitName,
                             std::uint64_t limit) {
  return makeProblem(status, title, detail, limitName, limit);
}

InboundResponse bodyTooLarge(std::uint64_t bodyBytesMax) {
  return limitProblem(413, "Body too large", "send fewer or smaller frames", "maxbytes", bodyBytesMax);
}

InboundResponse unavailable(bool diskFull, std::string_view detail) {
  InboundResponse response =
      diskFull ? problem(507, "Insufficient storage", detail) : problem(503, "Temporarily unavailable", detail);
  response.retryAfterSeconds = kRetrySeconds;
  return response;
}

}  // namespace ackbox::protocol
