// `POST /v1/messages:resend`, which sends acknowledged messages once more: those of a list or a filter, in the
// background, under their ids or as new ones (`new_ids`); or stores what one peer was sent for another one (`to`). It
// can be previewed.

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/error.hpp"
#include "ackbox/message_page.hpp"
#include "json/line.hpp"
#include "records/message.hpp"
#include "records/resending.hpp"
#include "serve/api/bulk_request.hpp"
#include "serve/api/operations.hpp"
#include "serve/api/service.hpp"
#include "serve/http/answer.hpp"

namespace ackbox::serve {
namespace {

/// The messages to send: those with one of `ids`, or those that match `filter`.
struct ResendChoice {
  std::vector<std::string> ids = {};
  MessageFilter filter = {};
  // Another peer than the one that had the messages; empty: the same.
  std::string to = {};
  bool hasNewIds = false;
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

[[noreturn]] void refuseUnknown(const std::string& peer) {
  throw InvalidRequest("the outbox has no peer '" + peer + "'");
}

/// Of a choice that names peers: the file has them. Throws `InvalidRequest`. Called where SQLite may be waited for.
void requireKnown(const OutboxReader& reader, const ResendChoice& choice) {
  if (choice.to.empty() && !choice.filter.peer) {
    return;
  }
  const std::vector<PeerStatus> peers = reader.peers();
  const auto require = [&](const std::string& name, bool mayBeRemoved) {
    const auto found = std::ranges::find(peers, name, &PeerStatus::name);
    if (found == peers.end() || (found->isRemoved && !mayBeRemoved)) {
      refuseUnknown(name);
    }
  };
  if (choice.filter.peer) {
    require(*choice.filter.peer, true);
  }
  if (!choice.to.empty()) {
    require(choice.to, false);
  }
}

/// Throws `EnqueueRefused`.
[[noreturn]] void refuse(EnqueueStatus status, const std::string& detail) {
  throw EnqueueRefused(status, records::refusedResend(status, detail, "request"));
}

/// Those with one of the ids. Throws what ended it early.
void resendEach(OutboxOperator& changes, const ResendChoice& choice, const std::vector<std::string>& ids,
                std::uint64_t& changed) {
  for (const std::string& id : ids) {
    if (!choice.hasNewIds) {
      changed += changes.resend(id).done() ? 1U : 0U;
      continue;
    }
    const ResendReceipt receipt = changes.resendAsNew(id);
    changed += receipt.done() ? 1U : 0U;
    if (!receipt.refusal && !receipt.copy.accepted()) {
      refuse(receipt.copy.status, receipt.copy.detail);
    }
  }
}

ResendReport resendTo(OutboxOperator& changes, const ResendChoice& choice) {
  try {
    return changes.resendTo(choice.to, choice.filter);
  } catch (const Error& error) {
    if (error.code() != Errc::unknownPeer) {
      throw;
    }
    // It was removed since it was looked for. Nothing was stored.
    refuseUnknown(choice.to);
  }
}

void resendChosen(Service& service, const ResendChoice& choice, BulkOutcome& outcome) {
  requireKnown(service.reader(), choice);
  OutboxOperator& changes = service.changes();
  if (!choice.ids.empty()) {
    resendEach(changes, choice, within(choice.limits, service.reader(), choice.ids), outcome.changed);
  } else if (choice.to.empty() && !choice.hasNewIds) {
    changeBySlices(outcome, [&] { return changes.resend(choice.filter); });
  } else {
    ResendReport report;
    changeBySlices(outcome, [&] {
      report = choice.to.empty() ? changes.resendAsNew(choice.filter) : resendTo(changes, choice);
      return report.stored;
    });
    if (!report.refusal.empty()) {
      refuse(report.refusedAs, report.refusal);
    }
  }
}

std::string_view meaningOf(const ResendChoice& choice) {
  return !choice.to.empty() ? records::kResentToAnother
         : choice.hasNewIds ? records::kResentAsNew
                            : records::kResentUnderItsId;
}

ResendChoice readResendChoice(const Request& request) {
  ResendChoice choice;
  choice.filter.state = MessageState::acked;
  choice.text = readChoice(request.body, "ids", [&](const std::string& name, const nlohmann::json& value) {
    if (name == "to") {
      choice.to = filledMember(name, value);
      return Member::accompanies;
    }
    if (name == "new_ids") {
      choice.hasNewIds = flagMember(name, value);
      return Member::accompanies;
    }
    if (name == "ids") {
      choice.ids = idsMember(value);
    } else if (!takeCondition(choice.filter, name, value)) {
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
  requireKnown(reader, choice);
  MessagePreview chosen;
  chosen.add(reader, within(choice.limits, reader, choice.ids), MessageState::acked);
  const bool isComplete = !choice.ids.empty() || chosen.addAll(reader, choice.filter);
  return chosen.answer(isComplete, meaningOf(choice));
}

}  // namespace

void resendMessages(Service& service, Request&& request, Respond&& respond) {
  const BulkWish wish = takeBulkWish(request.query);
  const auto choice = std::make_shared<const ResendChoice>(readResendChoice(request));
  answerBulk(service, std::move(request), std::move(respond), wish,
             {.name = "messages:resend",
              .choice = choice->text,
              .preview = [&service, choice] { return previewOfResend(service.reader(), *choice); },
              .change = [&service, choice](BulkOutcome& outcome) { resendChosen(service, *choice, outcome); }});
}

}  // namespace ackbox::serve
