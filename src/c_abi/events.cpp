#include "c_abi/events.hpp"

#include <string_view>
#include <utility>

#include "json/line.hpp"

namespace ackbox::c_abi {
namespace {

// As include/ackbox.h says. An event has at most 256 KiB of result.
constexpr std::size_t kEventsMost = 10'000;
constexpr std::size_t kBytesMost = std::size_t{16} * 1024 * 1024;

// The library's own messages, which report the end of what others sent.
constexpr std::string_view kAckEventSession = "ackbox.ack.v1";

json::Line lineOf(std::string_view kind, const MessageEvent& event) {
  json::Line line;
  line.add("event", kind)
      .add("message_id", event.messageId)
      .add("peer", event.peer)
      .add("session", event.session)
      .add("sequence", event.sequence);
  return line;
}

}  // namespace

void Events::add(const AckedEvent& event) {
  if (event.session == kAckEventSession) {
    return;
  }
  json::Line line = lineOf("acked", event);
  line.add("duplicate", event.duplicate).raw("result", event.result.empty() ? "null" : json::oneLine(event.result));
  push(line.text());
}

void Events::add(const FailedEvent& event) {
  if (event.session == kAckEventSession) {
    return;
  }
  push(lineOf("failed", event).add("reason", event.reason).add("error", event.error).text());
}

void Events::push(std::string json) {
  const MutexLock lock(mutex_);
  bytes_ += json.size();
  events_.push_back(std::move(json));
  while (events_.size() > kEventsMost || bytes_ > kBytesMost) {
    bytes_ -= events_.front().size();
    events_.pop_front();
    ++missed_;
  }
  readiness_->set(Readiness::Source::events, true);
}

std::optional<std::string> Events::next() {
  const MutexLock lock(mutex_);
  if (events_.empty()) {
    return std::nullopt;
  }
  std::string json = std::move(events_.front());
  events_.pop_front();
  bytes_ -= json.size();
  if (missed_ != 0) {
    json.back() = ',';
    json += "\"missed\":" + std::to_string(std::exchange(missed_, 0)) + "}";
  }
  readiness_->set(Readiness::Source::events, !events_.empty());
  return json;
}

}  // namespace ackbox::c_abi
