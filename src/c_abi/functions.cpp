// The functions of ackbox.h: arguments to values, exceptions to statuses, and nothing else.

#include <chrono>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "ackbox.h"
#include "ackbox/error.hpp"
#include "ackbox/frame.hpp"
#include "ackbox/publication.hpp"
#include "ackbox/receipt.hpp"
#include "ackbox/version.hpp"
#include "c_abi/agent.hpp"
#include "c_abi/call.hpp"
#include "json/line.hpp"
#include "records/subscription.hpp"

// NOLINTBEGIN(readability-identifier-naming): names of C.
struct ackbox_agent {
  explicit ackbox_agent(const ackbox_options& options) : agent(options) {}
  ackbox::c_abi::Agent agent;
};
// NOLINTEND(readability-identifier-naming)

namespace ackbox::c_abi {
namespace {

constexpr const char* kNames[] = {"ok",
                                  "database busy",
                                  "database read-only",
                                  "schema too new",
                                  "not a database",
                                  "database corrupt",
                                  "disk full",
                                  "I/O error",
                                  "cannot open",
                                  "schema missing",
                                  "invalid option",
                                  "already running",
                                  "stopped",
                                  "invalid transition",
                                  "unknown message",
                                  "no sender",
                                  "handler ended transaction",
                                  "not durable",
                                  "no transaction",
                                  "out of memory",
                                  "database error",
                                  "cannot listen",
                                  "would deadlock",
                                  "unknown peer",
                                  "database replaced",
                                  "out of descriptors",
                                  "secrets unreadable",
                                  "other process",
                                  "schema too old",
                                  "schema outdated",
                                  "pooled connection",
                                  "database moved",
                                  "outcome unknown"};
static_assert(std::size(kNames) == ACKBOX_OUTCOME_UNKNOWN + 1, "each status below 100 has a name");
constexpr const char* kRefusals[] = {"queue full", "frame too large", "invalid frame"};
constexpr const char* kOwn[] = {"invalid argument", "nothing", "late", "wrong state", "unexpected"};

template <std::size_t Count>
const char* nameIn(const char* const (&names)[Count], int status, int first) noexcept {
  return status >= first && status < first + static_cast<int>(Count) ? names[status - first] : nullptr;
}

/// Runs `action` with the agent behind the handle.
template <typename Action>
int with(ackbox_agent* handle, Action&& action) noexcept {
  return guarded([&] {
    require(handle, "agent");
    handle->agent.requireHome();
    return action(handle->agent);
  });
}

/// Whatever becomes of a call, its caller may free what is there.
void clear(char** text) noexcept {
  if (text != nullptr) {
    *text = nullptr;
  }
}

/// The same for an action that returns a text for the caller; nothing: `otherwise`, because of `cause`.
template <typename Action>
int giveText(ackbox_agent* handle, char** text, int otherwise, const char* cause, Action&& action) noexcept {
  clear(text);
  return with(handle, [&](Agent& agent) {
    require(text, "the place for the text");
    const std::optional<std::string> made = action(agent);
    if (!made) {
      return fail(otherwise, cause);
    }
    *text = copyOf(*made);
    return static_cast<int>(ACKBOX_OK);
  });
}

void set(std::string& to, const char* text) {
  if (text != nullptr) {
    to = text;
  }
}

std::optional<WallTime> instantOf(std::int64_t milliseconds) {
  return milliseconds == 0 ? std::nullopt : std::optional(WallTime(std::chrono::milliseconds(milliseconds)));
}

Frame frameOf(const ackbox_message& message) {
  require(message.type, "message.type");
  Frame frame;
  set(frame.peer, message.peer);
  set(frame.session, message.session);
  frame.type = message.type;
  if (message.data_size != 0) {
    require(message.data, "message.data");
    // Not read, as the size may be wrong.
    if (const std::size_t most = OutboxOptions().frameBytesMax; message.data_size > most) {
      throw Refusal(ACKBOX_FRAME_TOO_LARGE, "data has " + std::to_string(message.data_size) + " bytes; " +
                                                std::to_string(most) + " are allowed");
    }
    frame.data.assign(message.data, message.data_size);
  } else {
    set(frame.data, message.data);
  }
  set(frame.id, message.id);
  set(frame.idempotencyKey, message.idempotency_key);
  set(frame.supersedeKey, message.supersede_key);
  set(frame.correlationId, message.correlation_id);
  set(frame.traceparent, message.traceparent);
  frame.notBefore = instantOf(message.not_before_ms);
  frame.expiresAt = instantOf(message.expires_at_ms);
  if (flag(message.has_priority, "message.has_priority")) {
    if (message.priority > kPriorityMax) {
      throw Refusal(ACKBOX_INVALID_FRAME, "message.priority is more than 9");
    }
    frame.priority = static_cast<std::uint8_t>(message.priority);
  }
  return frame;
}

/// The status of an enqueue to `peer` that returned; null: the default.
int statusOf(const EnqueueReceipt& receipt, const char* peer) {
  if (receipt.accepted()) {
    return ACKBOX_OK;
  }
  if (receipt.status == EnqueueStatus::unknownPeer) {
    return fail(ACKBOX_UNKNOWN_PEER, "no peer has the name '" + std::string(peer == nullptr ? "default" : peer) +
                                         "': add it by ackbox_add_peer");
  }
  return fail(100 + static_cast<int>(receipt.status), receipt.detail);
}

/// The status of a publish that returned.
int statusOf(const PublishReceipt& receipt) {
  switch (receipt.status) {
    case PublishStatus::stored:
    case PublishStatus::duplicate:
      return ACKBOX_OK;
    case PublishStatus::noSubscriber:
      return fail(ACKBOX_NOTHING, receipt.detail);
    case PublishStatus::queueFull:
      return fail(ACKBOX_QUEUE_FULL, receipt.detail);
    case PublishStatus::frameTooLarge:
      return fail(ACKBOX_FRAME_TOO_LARGE, receipt.detail);
    case PublishStatus::invalidFrame:
      return fail(ACKBOX_INVALID_FRAME, receipt.detail);
  }
  return ACKBOX_UNEXPECTED;
}

/// An id is shorter than its place, which is zeroed.
void copyId(const std::string& id, char (&to)[ACKBOX_ID_SIZE]) noexcept {
  id.copy(to, sizeof to - 1);
}

ackbox_receipt receiptOf(const EnqueueReceipt& receipt) noexcept {
  ackbox_receipt made = {};
  made.sequence = receipt.sequence;
  made.duplicate = receipt.status == EnqueueStatus::duplicate ? 1 : 0;
  copyId(receipt.messageId, made.message_id);
  copyId(receipt.supersededId, made.superseded_id);
  return made;
}

ackbox_frame frameOf(const Claims::Claim& claim) {
  const InboundFrame& frame = claim.frame.frame();
  ackbox_frame made = {};
  made.claim = claim.number;
  made.id = frame.id.c_str();
  made.source = frame.source.c_str();
  made.type = frame.type.c_str();
  made.session = frame.session.c_str();
  made.origin = frame.origin.c_str();
  made.sequence = frame.sequence;
  made.previous_sequence = frame.previousSequence;
  made.data = frame.data.empty() ? "null" : frame.data.c_str();
  made.data_size = std::string_view(frame.data.empty() ? "null" : frame.data).size();
  made.data_content_type = frame.dataContentType.c_str();
  made.correlation_id = frame.correlationId.c_str();
  made.traceparent = frame.traceparent.c_str();
  made.time_ms = frame.time ? frame.time->time_since_epoch().count() : 0;
  made.run = claim.frame.startCount();
  made.retries = claim.frame.retryCount();
  made.resent_of = frame.resentOf.c_str();
  return made;
}

}  // namespace
}  // namespace ackbox::c_abi

namespace c_abi = ackbox::c_abi;

extern "C" {

const char* ackbox_version(void) {
  return ackbox::kVersion.data();
}

const char* ackbox_status_name(int status) {
  for (const char* const name :
       {c_abi::nameIn(c_abi::kNames, status, ACKBOX_OK), c_abi::nameIn(c_abi::kRefusals, status, ACKBOX_QUEUE_FULL),
        c_abi::nameIn(c_abi::kOwn, status, ACKBOX_INVALID_ARGUMENT)}) {
    if (name != nullptr) {
      return name;
    }
  }
  return "unknown";
}

const char* ackbox_last_error(void) {
  return c_abi::lastError();
}

void ackbox_free(void* text) {
  std::free(text);
}

int ackbox_new(const ackbox_options* options, ackbox_agent** agent) {
  return c_abi::guarded([&] {
    c_abi::require(agent, "the place for the agent");
    *agent = nullptr;
    *agent = new ackbox_agent(c_abi::read(options, "options"));
    return ACKBOX_OK;
  });
}

int ackbox_add_peer(ackbox_agent* agent, const ackbox_peer* peer) {
  return c_abi::with(agent, [&](c_abi::Agent& here) {
    here.addPeer(c_abi::read(peer, "peer"));
    return ACKBOX_OK;
  });
}

int ackbox_open(ackbox_agent* agent, const char* file) {
  return c_abi::with(agent, [&](c_abi::Agent& here) {
    c_abi::require(file, "file");
    here.open(file);
    return ACKBOX_OK;
  });
}

int ackbox_listen(ackbox_agent* agent, const ackbox_listen_options* options) {
  return c_abi::with(agent, [&](c_abi::Agent& here) {
    here.listen(c_abi::read(options, "options"));
    return ACKBOX_OK;
  });
}

int ackbox_url(ackbox_agent* agent, char** url) {
  return c_abi::giveText(agent, url, ACKBOX_WRONG_STATE, "",
                         [](c_abi::Agent& here) { return std::optional(here.url()); });
}

int ackbox_start(ackbox_agent* agent) {
  return c_abi::with(agent, [](c_abi::Agent& here) {
    here.start();
    return ACKBOX_OK;
  });
}

int ackbox_stop(ackbox_agent* agent) {
  return c_abi::with(agent, [](c_abi::Agent& here) {
    here.stop();
    return ACKBOX_OK;
  });
}

int ackbox_close(ackbox_agent* agent) {
  if (agent == nullptr) {
    return ACKBOX_OK;
  }
  return c_abi::with(agent, [&](c_abi::Agent&) {
    delete agent;
    return ACKBOX_OK;
  });
}

int ackbox_enqueue(ackbox_agent* agent, const ackbox_message* message, ackbox_receipt* receipt) {
  return c_abi::with(agent, [&](c_abi::Agent& here) {
    if (receipt != nullptr) {
      c_abi::checkWritable(receipt, "receipt");
      c_abi::write(ackbox_receipt{}, receipt);
    }
    const ackbox_message given = c_abi::read(message, "message");
    const ackbox::EnqueueReceipt made = here.enqueue(c_abi::frameOf(given));
    if (receipt != nullptr) {
      c_abi::write(c_abi::receiptOf(made), receipt);
    }
    return c_abi::statusOf(made, given.peer);
  });
}

int ackbox_publish(ackbox_agent* agent, const ackbox_message* message, char** json) {
  c_abi::clear(json);
  return c_abi::with(agent, [&](c_abi::Agent& here) {
    const ackbox_message given = c_abi::read(message, "message");
    if (given.peer != nullptr && given.peer != ackbox::kAllSubscribers) {
      return c_abi::fail(ACKBOX_INVALID_FRAME, "message.peer is neither NULL nor \"*\": a publish goes to all");
    }
    const ackbox::PublishReceipt made = here.publish(c_abi::frameOf(given));
    const int status = c_abi::statusOf(made);
    if (json != nullptr && status == ACKBOX_OK) {
      *json = c_abi::copyOf(ackbox::json::Line()
                                .add("status", toString(made.status))
                                .raw("messages", ackbox::records::listOf(made.messages))
                                .text());
    }
    return status;
  });
}

int ackbox_fd(ackbox_agent* agent, int* descriptor) {
  return c_abi::with(agent, [&](c_abi::Agent& here) {
    c_abi::require(descriptor, "the place for the descriptor");
    *descriptor = here.descriptor();
    return ACKBOX_OK;
  });
}

int ackbox_claim(ackbox_agent* agent, ackbox_frame* frame) {
  return c_abi::with(agent, [&](c_abi::Agent& here) {
    c_abi::checkWritable(frame, "frame");
    c_abi::write(ackbox_frame{}, frame);
    const auto claim = here.claim();
    if (!claim) {
      return c_abi::fail(ACKBOX_NOTHING, "no frame waits to be claimed");
    }
    c_abi::write(c_abi::frameOf(*claim), frame);
    return static_cast<int>(ACKBOX_OK);
  });
}

int ackbox_settle(ackbox_agent* agent, uint64_t claim, const ackbox_outcome* outcome) {
  return c_abi::with(agent, [&](c_abi::Agent& here) { return here.settle(claim, c_abi::read(outcome, "outcome")); });
}

int ackbox_next_event(ackbox_agent* agent, char** json) {
  return c_abi::giveText(agent, json, ACKBOX_NOTHING, "no event waits",
                         [](c_abi::Agent& here) { return here.nextEvent(); });
}

int ackbox_stats_json(ackbox_agent* agent, char** json) {
  return c_abi::giveText(agent, json, ACKBOX_UNEXPECTED, "",
                         [](c_abi::Agent& here) { return std::optional(here.statsJson()); });
}

int ackbox_explain_json(ackbox_agent* agent, const char* messageId, char** json) {
  return c_abi::giveText(agent, json, ACKBOX_UNKNOWN_MESSAGE, "no message has this id", [&](c_abi::Agent& here) {
    c_abi::require(messageId, "message_id");
    return here.explainJson(messageId);
  });
}

}  // extern "C"
