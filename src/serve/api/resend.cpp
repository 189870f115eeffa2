// `POST /v1/messages:resend`, which sends acknowledged messages once more: those of a list or a filter, in the
// background; or stores what one peer was sent for another one (`to`). It can be previewed.

#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/message_page.hpp"
#include "records/message.hpp"
#include "serve/api/bulk_request.hpp"
#include "serve/api/operations.hpp"
#include "serve/api/service.hpp"

namespace ackbox::serve {
namespace {

// As many pages as read about 500,000 rows.
constexpr int kPreviewPagesMost = 50;

/// The messages to send: those with one of `ids`, or those that match `filter`.
struct ResendChoice {
  std::vector<std::string> ids = {};
  MessageFilter filter = {};
  // Another peer than the one that had the messages; empty: the same.
  std::string to = {};
  Limits limits = {};
  // The request's text, for the audit.
  std::string text = {};
};

/// Of a choice with `to`. Throws `InvalidRequest` and `BeyondLimits`.
void requireFit(const Request& request, const ResendChoice& choice) {
  if (!choice.filter.peer || *choice.filter.peer == choice.to) {
    throw InvalidRequest("with to, the filter must name another peer: its messages are stored for this one");
  }
  requirePeer(request, choice.to);
}

/// Throws what ended it early.
void resendTo(OutboxOperator& changes, const ResendChoice& choice, std::uint64_t& changed) {
  const ResendToReport report = changes.resendTo(choice.to, choice.filter);
  changed = report.stored;
  if (!report.refusal.empty()) {
    throw std::runtime_error(std::to_string(report.stored) + " messages were stored, then: " + report.refusal +
                             "; the same request goes on from there");
  }
}

ResendChoice readResendChoice(const Request& request) {
  ResendChoice choice;
  choice.filter.state = MessageState::acked;
  choice.text = readChoice(request.body, "ids", [&](const std::string& name, const nlohmann::json& value) {
    if (name == "ids") {
      choice.ids = idsMember(value);
    } else if (name == "peer") {
      choice.filter.peer = textMember(name, value);
    } else if (name == "session") {
      choice.filter.session = textMember(name, value);
    } else if (name == "type") {
      choice.filter.type = textMember(name, value);
    } else if (name == "since") {
      choice.filter.since = instantOf(name, textMember(name, value));
    } else if (name == "before") {
      choice.filter.before = instantOf(name, textMember(name, value));
    } else if (name == "to") {
      choice.to = textMember(name, value);
      return Member::accompanies;
    } else {
      return Member::unknown;
    }
    return Member::chooses;
  });
  choice.limits = request.caller.limits;
  if (!choice.to.empty()) {
    requireFit(request, choice);
    choice.filter.state.reset();
  }
  if (choice.ids.empty()) {
    limitPeer(request, choice.filter.peer);
  }
  return choice;
}

/// The number of messages that would be sent, and the first of them.
Response previewOfResend(const OutboxReader& reader, const ResendChoice& choice) {
  MessagePreview chosen;
  chosen.add(reader, within(choice.limits, reader, choice.ids), MessageState::acked);
  std::int64_t after = 0;
  if (choice.ids.empty()) {
    int pages = 0;
    do {
      const MessagePage page = reader.messages(choice.filter, kPreviewPage, after);
      chosen.add(page.messages);
      after = page.next;
    } while (after != 0 && ++pages < kPreviewPagesMost);
  }
  return chosen.answer(after == 0);
}

}  // namespace

void resendMessages(Service& service, Request&& request, Respond&& respond) {
  const BulkWish wish = takeBulkWish(request.query);
  const auto choice = std::make_shared<const ResendChoice>(readResendChoice(request));
  answerBulk(service, std::move(request), std::move(respond), wish,
             {.name = "messages:resend",
              .choice = choice->text,
              .preview = [&service, choice] { return previewOfResend(service.reader(), *choice); },
              .change =
                  [&service, choice](std::uint64_t& changed) {
                    if (!choice->to.empty()) {
                      resendTo(service.changes(), *choice, changed);
                      return;
                    }
                    if (choice->ids.empty()) {
                      changed = service.changes().resend(choice->filter);
                    }
                    for (const std::string& id : within(choice->limits, service.reader(), choice->ids)) {
                      changed += service.changes().resend(id).done() ? 1U : 0U;
                    }
                  }});
}

}  // namespace ackbox::serve
