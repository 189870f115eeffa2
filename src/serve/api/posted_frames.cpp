#include "serve/api/posted_frames.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

#include "json/checked.hpp"
#include "records/frame_line.hpp"
#include "serve/api/cloud_event.hpp"

namespace ackbox::serve {
namespace {

constexpr std::size_t kBatchFramesMax = 10'000;
constexpr std::size_t kKeyBytesMax = 256;

/// The media type without parameters, in lower case.
std::string essence(std::string_view contentType) {
  std::string type(contentType.substr(0, contentType.find(';')));
  type.erase(type.find_last_not_of(" \t") + 1);
  std::ranges::transform(type, type.begin(),
                         [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return type;
}

/// The key in an `Idempotency-Key` header, which some clients quote, as the draft of its standard specifies.
std::string idempotencyKey(std::string_view header) {
  if (header.size() >= 2 && header.front() == '"' && header.back() == '"') {
    header = header.substr(1, header.size() - 2);
  }
  if (header.empty() || header.size() > kKeyBytesMax || header.find('"') != std::string_view::npos) {
    throw InvalidRequest("Idempotency-Key must have 1 to 256 bytes, with quotes around them or without any");
  }
  return std::string(header);
}

PostedFrame readOne(std::string_view json, const Frame& defaults, bool isEvent) {
  if (isEvent) {
    return readCloudEvent(json, defaults);
  }
  records::FrameLine line = records::parseFrameLine(json, defaults);
  return {std::move(line.frame), std::move(line.problem)};
}

}  // namespace

PostedFrames readPostedFrames(Request& request) {
  const std::string type = essence(request.contentType);
  const bool isEvent = type == "application/cloudevents+json";
  const bool isEventBatch = type == "application/cloudevents-batch+json";
  if (!isEvent && !isEventBatch && type != "application/json") {
    throw InvalidRequest(
        "Content-Type must be application/json, application/cloudevents+json or application/cloudevents-batch+json");
  }
  Frame defaults;
  defaults.peer = request.query.text("peer").value_or(defaults.peer);
  defaults.session = request.query.text("session").value_or(defaults.session);
  defaults.type = request.query.text("type").value_or(std::string());
  request.query.finish();

  PostedFrames posted;
  const std::string_view body = json::withoutMark(request.body);
  const std::size_t first = body.find_first_not_of(" \t\r\n");
  posted.isBatch = isEventBatch || (!isEvent && first != std::string_view::npos && body[first] == '[');
  if (posted.isBatch) {
    const json::CheckedElements elements = json::readArray(body, kBatchFramesMax);
    if (!elements.problem.empty()) {
      throw InvalidRequest(elements.problem);
    }
    if (!request.idempotencyKey.empty()) {
      throw InvalidRequest("Idempotency-Key is for a single message; give each of an array its idempotency_key");
    }
    posted.frames.reserve(elements.values.size());
    for (const std::string_view element : elements.values) {
      posted.frames.push_back(readOne(element, defaults, isEventBatch));
    }
    return posted;
  }
  posted.frames.push_back(readOne(body, defaults, isEvent));
  if (!request.idempotencyKey.empty()) {
    posted.frames.front().frame.idempotencyKey = idempotencyKey(request.idempotencyKey);
  }
  return posted;
}

}  // namespace ackbox::serve
