// `GET /v1/inbox`, and `POST /v1/inbox:retry` and `:discard`, which change the frames of a list or a filter in the
// background and can be previewed.

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/inbox.hpp"
#include "json/line.hpp"
#include "protocol/limits.hpp"
#include "records/inbox_frame.hpp"
#include "serve/api/bulk_request.hpp"
#include "serve/api/operations.hpp"
#include "serve/api/page.hpp"
#include "serve/api/service.hpp"
#include "serve/http/answer.hpp"

namespace ackbox::serve {
namespace {

constexpr std::size_t kFramesMost = 1'000;

/// Source and id.
using FrameName = std::pair<std::string, std::string>;

/// The frames to change: those in `frames`, or those that match `filter`.
struct InboxChoice {
  std::set<FrameName> frames = {};
  InboxFilter filter = {};
  // The reason that the sender gets, for a discard.
  std::string reason = "discarded";
  // The request's text, for the audit.
  std::string text = {};
};

std::set<FrameName> framesOf(const nlohmann::json& value) {
  if (!value.is_array() || value.empty() || value.size() > kFramesMost) {
    throw InvalidRequest("frames must be an array of 1 to 1000 objects with source and message_id");
  }
  std::set<FrameName> frames;
  for (const nlohmann::json& one : value) {
    if (!one.is_object() || one.size() != 2 || !one.contains("source") || !one.contains("message_id")) {
      throw InvalidRequest("each of frames must have source and message_id, and nothing else");
    }
    frames.emplace(filledMember("source", one.at("source")), filledMember("message_id", one.at("message_id")));
  }
  return frames;
}

std::string reasonOf(const nlohmann::json& value) {
  std::string reason = textMember("reason", value);
  if (reason.empty() || reason.size() > protocol::kCodeBytesMax) {
    throw InvalidRequest("reason must have 1 to 128 bytes");
  }
  return reason;
}

InboxChoice readInboxChoice(const std::string& body, bool hasReason) {
  InboxChoice choice;
  choice.text = readChoice(body, "frames", [&](const std::string& name, const nlohmann::json& value) {
    if (name == "frames") {
      choice.frames = framesOf(value);
    } else if (name == "source") {
      choice.filter.source = filledMember(name, value);
    } else if (name == "session") {
      choice.filter.session = textMember(name, value);
    } else if (name == "mailbox") {
      choice.filter.mailbox = filledMember(name, value);
    } else if (name == "state") {
      choice.filter.state = inboxStateOf(textMember(name, value));
      if (choice.filter.state == InboxState::ended) {
        throw InvalidRequest("frames that have ended cannot be changed");
      }
    } else if (name == "reason" && hasReason) {
      choice.reason = reasonOf(value);
      return Member::accompanies;
    } else {
      return Member::unknown;
    }
    return Member::chooses;
  });
  return choice;
}

/// The number of frames that would be changed, and the first of them. Frames that run are not changed.
Response previewFrames(const OutboxReader& reader, const FrameWaits& waits, const InboxChoice& choice) {
  std::uint64_t count = 0;
  std::vector<InboxInfo> sample;
  const auto add = [&](InboxInfo frame) {
    waits.complete(frame);
    if (frame.state != InboxState::running && frame.state != InboxState::ended && count++ < kPreviewSample) {
      sample.push_back(std::move(frame));
    }
  };
  for (const auto& [source, id] : choice.frames) {
    if (const std::optional<InboxInfo> frame = reader.findInbox(source, id)) {
      add(*frame);
    }
  }
  std::int64_t after = 0;
  std::size_t looked = 0;
  if (choice.frames.empty()) {
    do {
      const InboxPage page = reader.inbox(choice.filter, kPreviewPage, after);
      for (const InboxInfo& frame : page.frames) {
        add(frame);
      }
      after = page.next;
      looked += kPreviewPage;
    } while (after != 0 && looked < kPreviewLooksMost);
  }
  return previewAnswer(count, after == 0, records::listOf(sample));
}

void retryFrames(OutboxOperator& changes, const InboxChoice& choice, BulkOutcome& outcome) {
  if (choice.frames.empty()) {
    changeBySlices(outcome, [&] { return changes.retryInbox(choice.filter); });
  }
  for (const auto& [source, id] : choice.frames) {
    outcome.changed += changes.retryInbox(source, id).done() ? 1U : 0U;
  }
}

void discardFrames(OutboxOperator& changes, const InboxChoice& choice, BulkOutcome& outcome) {
  if (choice.frames.empty()) {
    changeBySlices(outcome, [&] { return changes.discardInbox(choice.filter, choice.reason); });
  }
  for (const auto& [source, id] : choice.frames) {
    outcome.changed += changes.discardInbox(source, id, choice.reason).done() ? 1U : 0U;
  }
}

template <typename Change>
void changeInbox(Service& service, Request&& request, Respond&& respond, std::string_view name, bool hasReason,
                 Change change) {
  const BulkWish wish = takeBulkWish(request.query);
  const auto choice = std::make_shared<const InboxChoice>(readInboxChoice(request.body, hasReason));
  answerBulk(
      service, std::move(request), std::move(respond), wish,
      {.name = name,
       .choice = choice->text,
       .preview = [&service, choice,
                   waits = service.frameWaits()] { return previewFrames(service.reader(), waits, *choice); },
       .change = [&service, choice, change](BulkOutcome& outcome) { change(service.changes(), *choice, outcome); }});
}

}  // namespace

void listInbox(Service& service, Request&& request, Respond&& respond) {
  InboxFilter filter;
  if (const std::optional<std::string> state = request.query.text("state")) {
    filter.state = inboxStateOf(*state);
  }
  filter.source = request.query.text("source");
  filter.session = request.query.text("session");
  filter.mailbox = request.query.text("mailbox");
  filter.text = request.query.text("text");
  const PageWish wish = takePage(request.query);
  request.query.finish();
  service.workers().answer(
      request.sharer(),
      [&service, filter = std::move(filter), wish, waits = service.frameWaits()] {
        InboxPage page = service.reader().inbox(filter, wish.limit, wish.after);
        std::string items;
        for (InboxInfo& frame : page.frames) {
          waits.complete(frame);
          json::Line line = records::lineOf(frame);
          if (const std::string_view holder = waits.holderOf(frame); !holder.empty()) {
            line.add("in_hand_of", holder);
          }
          items += (items.empty() ? "" : ",") + line.text();
        }
        return pageAnswer("frames", "[" + items + "]", page.next);
      },
      std::move(respond));
}

void retryInbox(Service& service, Request&& request, Respond&& respond) {
  changeInbox(service, std::move(request), std::move(respond), "inbox:retry", false, retryFrames);
}

void discardInbox(Service& service, Request&& request, Respond&& respond) {
  changeInbox(service, std::move(request), std::move(respond), "inbox:discard", true, discardFrames);
}

}  // namespace ackbox::serve
