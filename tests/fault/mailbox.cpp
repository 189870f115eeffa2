#include "mailbox.hpp"

#include <optional>
#include <stdexcept>
#include <utility>

#include "json/checked.hpp"
#include "protocol/inbound_port.hpp"
#include "protocol/mailbox.hpp"
#include "serve/inbox/event_json.hpp"

namespace ackbox::testing {
namespace {

constexpr std::size_t kWindow = 8;
// More frames of a session than may have ended at the hub alone.
constexpr int kTriesMax = 100;

std::optional<protocol::MailboxVerdict> verdictOf(protocol::MailboxFrame& frame, InboundHandler& handler,
                                                  const std::function<void()>& turn) {
  for (int tries = 0; tries < kTriesMax; ++tries) {
    const auto answer = std::make_shared<std::optional<InboundResponse>>();
    protocol::InboundPort::of(handler).handle(
        protocol::requestOf(frame), [answer](InboundResponse response) { *answer = std::move(response); },
        protocol::HandlerThread::caller, protocol::RequestForm::cloudEvents);
    turn();
    if (!*answer) {
      return std::nullopt;
    }
    protocol::MailboxVerdict verdict = protocol::verdictOf(frame, **answer);
    if (verdict.action != protocol::MailboxAction::follow) {
      return verdict;
    }
    protocol::follow(frame, verdict.accepted);
  }
  throw std::runtime_error(frame.id + " never follows what its agent has accepted");
}

/// As a hub reads it.
HandlerResult resultOf(const std::string& settlement) {
  json::CheckedMembers members = json::readObject(settlement);
  const std::string_view outcome = members.members.text("outcome").value_or("");
  if (outcome == "ack") {
    return HandlerResult::ack();
  }
  const std::string reason(members.members.text("reason").value_or(""));
  return outcome == "reject" ? HandlerResult::reject(reason) : HandlerResult::notNow(reason);
}

}  // namespace

DeferredMailboxes Mailbox::hub() {
  DeferredMailboxes made;
  made.agents = {agent_};
  made.demand = std::make_shared<DeferredDemand>();
  made.demand->want({.id = 1, .count = kWindow, .mailbox = agent_});
  return made;
}

void Mailbox::fetch(InboundHandler& handler, bool isLost, const std::function<void()>& turn) {
  turn();
  for (DeferredFrame& frame : std::exchange(inHand_, {})) {
    handIn(std::move(frame), handler, isLost, turn);
  }
  turn();
}

void Mailbox::handIn(DeferredFrame frame, InboundHandler& handler, bool isLost, const std::function<void()>& turn) {
  std::optional<protocol::MailboxFrame> fetched =
      protocol::readMailboxLine(R"({"receipt":"r","run":)" + std::to_string(frame.startCount()) + R"(,"event":)" +
                                serve::eventJson(frame.frame()) + "}");
  if (!fetched) {
    throw std::runtime_error(frame.frame().id + " is given out as no frame");
  }
  const std::optional<protocol::MailboxVerdict> verdict = verdictOf(*fetched, handler, turn);
  if (isLost || !verdict) {
    frame.giveBack("the line was lost");
  } else if (verdict->action == protocol::MailboxAction::settle) {
    frame.finish(resultOf(protocol::settlementOf(fetched->receipt, verdict->settlement)));
  } else if (verdict->action == protocol::MailboxAction::refused) {
    throw std::runtime_error(fetched->id + " is refused: " + verdict->what);
  } else if (frame.progress()) {
    inHand_.push_back(std::move(frame));
  }
}

void Mailbox::end() {
  for (const DeferredFrame& frame : inHand_) {
    DeferredFrame(frame).giveBack("the hub stops");
  }
  inHand_.clear();
}

}  // namespace ackbox::testing
