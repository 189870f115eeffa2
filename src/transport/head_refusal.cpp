#include "transport/head_refusal.hpp"

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/verb.hpp>
#include <string_view>

#include "transport/refusal.hpp"

namespace ackbox::transport {
namespace {

constexpr const char* kOnceOnly[] = {"webhook-id",   "webhook-timestamp", "webhook-signature",
                                     "outbox-agent", "outbox-version",    "content-type"};

bool isNumber(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char letter) { return letter >= '0' && letter <= '9'; });
}

/// A part that the parser, or a proxy before it, might read as another request, or as several; null: no such part.
const char* findAmbiguity(const MessageParser<true>& request) {
  const std::size_t hosts = request.count("host");
  const std::size_t lengths = request.count("content-length");
  const std::size_t codings = request.count("transfer-encoding");
  if (hosts > 1 || (hosts == 0 && request.version() == 11)) {
    return "There must be one Host header.";
  }
  if (lengths > 1 || (lengths == 1 && !isNumber(request["content-length"]))) {
    return "There must be one Content-Length, and one number in it.";
  }
  const bool isChunked = codings == 1 && boost::beast::iequals(request["transfer-encoding"], "chunked");
  if (codings > 0 && (!isChunked || request.version() < 11)) {
    return "The only transfer coding that is understood is chunked, alone, in HTTP/1.1.";
  }
  if (std::ranges::any_of(kOnceOnly, [&](const char* name) { return request.count(name) > 1; })) {
    return "A header that identifies the request occurs twice.";
  }
  return nullptr;
}
}  // namespace

std::optional<InboundResponse> refusalOf(const MessageParser<true>& head, const HttpSessionOptions& options) {
  const std::string_view target = head.target();
  const bool isCompatible = !options.compatibilityPath.empty() && target == options.compatibilityPath;
  if (!options.sink.admit && !isCompatible && target != options.path) {
    return notFound();
  }
  if (!options.sink.admit && head.method() != boost::beast::http::verb::post) {
    return methodNotAllowed();
  }
  if (const char* const ambiguity = findAmbiguity(head); ambiguity != nullptr) {
    return badRequest(ambiguity);
  }
  if (const std::string_view coding = head["content-encoding"];
      !coding.empty() && !boost::beast::iequals(coding, "identity")) {
    return codedContent();
  }
  if (const std::string_view expected = head["expect"];
      !expected.empty() && !boost::beast::iequals(expected, "100-continue")) {
    return expectationFailed();
  }
  return std::nullopt;
}

}  // namespace ackbox::transport
