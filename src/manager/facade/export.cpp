#include "manager/facade/export.hpp"

#include <algorithm>
#include <utility>

#include "json/writer.hpp"

namespace ackbox {
namespace {

// Messages read at a time, because no snapshot is held while the sink works.
constexpr std::size_t kPageMessages = 200;

void instant(json::ObjectWriter& object, std::string_view name, WallTime time) {
  if (time != WallTime{}) {
    object.time(name, time);
  }
}

// In JSON a line break is white space between tokens, never part of a string.
std::string onOneLine(std::string data) {
  std::replace_if(
      data.begin(), data.end(), [](char character) { return character == '\n' || character == '\r'; }, ' ');
  return data;
}

std::string lineOf(store::StoredMessage&& message) {
  const MessageInfo& info = message.info;
  std::string line;
  json::ObjectWriter object(line);
  if (message.isDamaged) {
    // First, so that a reader sees it before the rest of the line.
    object.raw("damaged", "true");
  }
  object.text("id", info.messageId);
  object.text("peer", info.peer);
  object.text("session", info.session);
  object.text("type", info.type);
  object.counter("sequence", info.sequence);
  object.text("state", toString(info.state));
  object.number("retry_count", info.retryCount);
  instant(object, "enqueued_at", info.enqueuedAt);
  instant(object, info.state == MessageState::failed ? "failed_at" : "due_at", info.dueAt);
  if (message.expiresAt) {
    object.time("expires_at", *message.expiresAt);
  }
  if (message.notBefore) {
    object.time("not_before", *message.notBefore);
  }
  object.number("priority", message.priority);
  object.textIfAny("supersede_key", message.supersedeKey);
  object.textIfAny("traceparent", message.traceparent);
  object.textIfAny("correlation_id", message.correlationId);
  object.textIfAny("resent_of", message.resentOf);
  object.textIfAny("reason", info.reason);
  object.textIfAny("last_error", info.lastError);
  if (!message.data.empty()) {
    object.raw("data", onOneLine(std::move(message.data)));
  }
  object.close();
  line.push_back('\n');
  return line;
}

template <typename ReadPage>
std::uint64_t exportPages(const ReadPage& readPage, const std::function<void(std::string_view)>& sink) {
  std::uint64_t written = 0;
  store::StoredPage page;
  do {
    page = readPage(page.next);
    for (store::StoredMessage& message : page.messages) {
      sink(lineOf(std::move(message)));
      ++written;
    }
  } while (page.next != 0);
  return written;
}

}  // namespace

std::uint64_t manager::exportMessages(const store::Reader& reader, const MessageFilter& filter,
                                      const std::function<void(std::string_view)>& sink) {
  return exportPages([&](std::int64_t after) { return reader.storedMessages(filter, kPageMessages, after); }, sink);
}

std::uint64_t manager::exportDeadLetters(const store::Reader& reader, const DeadLetterFilter& filter,
                                         const std::function<void(std::string_view)>& sink) {
  return exportPages([&](std::int64_t after) { return reader.storedDeadLetters(filter, kPageMessages, after); }, sink);
}

}  // namespace ackbox
