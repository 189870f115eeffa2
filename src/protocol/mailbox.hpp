#pragma once

// The texts between a mailbox's hub and the agent that fetches from it (docs/serve.md, "Pull"), and what the answer of
// the agent's handler to a fetched frame means for the hub. Pure.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/inbound_request.hpp"

namespace ackbox::protocol {

/// The limits of a hub for one request that settles, and for the result of each of its settlements.
inline constexpr std::size_t kSettlementsMost = 1'024;
inline constexpr std::size_t kSettledResultBytesMax = std::size_t{64} * 1024;

/// A frame as the stream gives it.
struct MailboxFrame {
  /// Names the frame in its settlement.
  std::string receipt = {};
  /// The CloudEvent as it came, and with an epoch of 0 if a frame of a session has none.
  std::string event = {};
  /// Attributes of the event; the sequences are 0 outside any session.
  std::string id = {};
  std::string source = {};
  std::string session = {};
  std::string origin = {};
  std::uint64_t sequence = 0;
  std::uint64_t previousSequence = 0;
};

/// Reads one line of the stream, which is not empty. Nothing if it is no frame.
[[nodiscard]] std::optional<MailboxFrame> readMailboxLine(std::string_view line);

/// Replaces the frame's previous sequence. `accepted` is below its sequence.
void follow(MailboxFrame& frame, std::uint64_t accepted);

/// The request in which a handler gets the frame.
[[nodiscard]] InboundRequest requestOf(const MailboxFrame& frame);

/// What becomes of a fetched frame.
enum class MailboxAction : std::uint8_t {
  /// The outcome is final, and is reported to the hub.
  settle,
  /// The frame is in the agent's own file, or could not be taken for now. It is handed in again, and nothing is
  /// reported to the hub, so that an ACK keeps meaning that the frame took effect.
  again,
  /// Earlier frames of the session never came here. The hub gives out one frame of a session at a time, in order, so
  /// they ended there without this agent: they were refused, given up or discarded. The frame is handed in again at
  /// once, behind the last one that was accepted, as a sender does that has given messages up.
  follow,
  /// The handler refused the request as a whole, without an outcome of the frame: this agent's configuration and the
  /// frame do not fit.
  refused,
};

/// What the handler's answer means.
struct MailboxVerdict {
  MailboxAction action = MailboxAction::again;
  /// The settlement without its receipt: members of a JSON object. Empty unless `action` is `settle`.
  std::string settlement = {};
  /// The pause that the handler asks for before the frame is handed in again.
  std::chrono::milliseconds pause{0};
  /// For `follow`: the session's last accepted sequence.
  std::uint64_t accepted = 0;
  /// The text of a refusal.
  std::string what = {};
};

/// `reject` comes of a `term` of the handler alone. What charges nothing between two agents (a deferral, a limit of the
/// receiver, a store that is not available) is handed in again, because a settlement that is no ACK charges a run.
[[nodiscard]] MailboxVerdict verdictOf(const MailboxFrame& frame, const InboundResponse& response);

/// The settlement that gives a refused frame back, to come again after `after`: a run is charged.
[[nodiscard]] std::string retrySettlement(std::string_view reason, std::chrono::milliseconds after);

/// The settlement of a frame that was not worked on: nothing is charged.
[[nodiscard]] std::string releaseSettlement();

/// One settlement with its receipt, as an object.
[[nodiscard]] std::string settlementOf(std::string_view receipt, std::string_view settlement);

/// The settlement, a result of `settlementOf`, with its code in the reason, for a hub that knows no codes. Nothing if
/// it has no code.
[[nodiscard]] std::optional<std::string> withoutCode(std::string_view settlement);

/// The body that settles; each text is a result of `settlementOf`.
[[nodiscard]] std::string settleBody(std::span<const std::string> settlements);

/// How many of the settlements were stored, in the hub's answer to `count` of them; the others were `gone`. Nothing if
/// the answer has another form.
[[nodiscard]] std::optional<std::size_t> readSettleAnswer(std::string_view body, std::size_t count);

/// The path and query of the stream, below the path of the hub's URL. An empty `agent` asks for the hub's own inbox.
[[nodiscard]] std::string mailboxTarget(std::string_view base, std::string_view agent, std::uint32_t window);

}  // namespace ackbox::protocol
