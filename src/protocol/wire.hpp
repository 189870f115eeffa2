#pragma once

// Frames and ACK documents to and from bytes, as `proto/README.md` describes them. Without I/O and clock.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ackbox/inbound_frame.hpp"
#include "ackbox/inbound_options.hpp"
#include "ackbox/inbound_request.hpp"
#include "ackbox/sender.hpp"

namespace ackbox::protocol {

inline constexpr std::string_view kMediaTypeFrame = "application/cloudevents+json";
inline constexpr std::string_view kMediaTypeBatch = "application/cloudevents-batch+json";
inline constexpr std::string_view kMediaTypeAck = "application/json";
/// The media type that receivers of Standard Webhooks expect, which is also that of the data.
inline constexpr std::string_view kMediaTypeJson = "application/json";
inline constexpr std::string_view kMediaTypeProblem = "application/problem+json";
inline constexpr std::string_view kVersion = "1";

/// Why a `Frame` may not be enqueued, as a sentence naming the field; nothing when it may.
[[nodiscard]] std::optional<std::string> frameProblem(const Frame& frame, std::size_t depthMax = 64);

/// A request ready to post.
struct EncodedRequest {
  std::string contentType;
  std::string body;
  /// See `webhookIdOf`.
  std::string webhookId;
  /// Headers in addition to those that every request has.
  std::vector<std::pair<std::string, std::string>> headers = {};
};

/// The `webhook-id` of a request: its only frame's id, or `delivery`.
[[nodiscard]] std::string_view webhookIdOf(const SendRequest& request, std::string_view delivery);

/// One frame becomes a CloudEvents JSON object, several a batch. The stored data bytes are spliced in unchanged.
[[nodiscard]] EncodedRequest encodeRequest(const SendRequest& request, std::string_view delivery);

/// Encodes the only frame in CloudEvents' binary mode: its attributes become headers, its data the body. The signature
/// then covers only the id and the data.
///
/// Source: CloudEvents HTTP Protocol Binding 1.0.2, section 3.1.
[[nodiscard]] EncodedRequest encodeBinaryRequest(const SendRequest& request, std::string_view delivery);

/// One member of an inbound request: a frame, or the reason for its refusal.
struct DecodedFrame {
  InboundFrame frame;
  /// Set when this member cannot be a frame: its `term` result (code `malformed`).
  std::optional<FrameResult> refusal;
};

/// An inbound request, decoded; or the problem response that refuses it as a whole.
struct DecodedRequest {
  std::vector<DecodedFrame> frames;
  bool batch = false;
  /// The request has one frame in AGENIUM's form, and is answered in that form.
  bool isAgenium = false;
  std::optional<InboundResponse> problem;
  /// Set if the request is refused because of its headers, which no signature covers. The refusal must not be signed:
  /// otherwise a captured request that is sent again with other headers would get a refusal that counts against the
  /// genuine one.
  bool isRefusedByHeaders = false;
};

/// Reads a request of CloudEvents. Checks media type, size, depth, syntax and count, in this order; makes no more
/// frames than are allowed, however many the input has. A bad frame in valid JSON is refused alone.
[[nodiscard]] DecodedRequest decodeRequest(const InboundRequest& request, const InboundOptions& limits);

/// The progress of a session at the receiver.
struct SessionProgress {
  std::string id;
  std::uint64_t accepted = 0;
  std::uint64_t settled = 0;
  /// The sender's store, if a request has sessions of several stores; otherwise empty.
  std::string origin = {};
  /// The id of the frame that was accepted with that number; empty: it is not known.
  std::string acceptedId = {};
};

/// The ACK document and its status: one result per frame, in order. `frameIds` are the ids as received. `storeEpoch`
/// counts how often the store was opened; 0: it is left out.
[[nodiscard]] InboundResponse encodeAck(const InboundRequest& request, bool batch, std::string_view storeId,
                                        std::span<const std::string_view> frameIds,
                                        std::span<const FrameResult> results, std::span<const SessionProgress> sessions,
                                        const InboundOptions& limits, std::uint64_t storeEpoch = 0);

/// The type of a frame that carries the outcomes of deferred frames.
inline constexpr std::string_view kAckEventType = "ackbox.ack.v1";

/// The data of an ACK event with one result. The handler's JSON is left out without `carriesResult`, or if it is too
/// deep. `sequence` is the message's number that was taken, as a redrive gives it a new one; 0: there is no number.
/// `time` identifies the enqueue of a message without numbers.
[[nodiscard]] std::string encodeAckEvent(std::string_view id, std::uint64_t sequence, const FrameResult& result,
                                         bool carriesResult, std::optional<WallTime> time = {});

struct NamedResult;
/// The results of an ACK event, 1 to 256; nothing if `data` is not an ACK event's. `data` must be valid JSON. A caller
/// includes protocol/ack_document.hpp.
[[nodiscard]] std::optional<std::vector<NamedResult>> readAckEvent(std::string_view data);

/// The refusal of a request with an unsupported `outbox-version` header; nothing if the header is absent, which means
/// 1, or supported. A version is a number, optionally with a dot and a minor number, which is ignored.
[[nodiscard]] std::optional<InboundResponse> versionProblem(std::string_view version);

/// The refusal of an unsigned request that a web page may have made a browser send; nothing otherwise. It is refused if
/// it comes from a browser, has no media type (which a page could omit without a preflight), or came to a loopback
/// address under another machine's name.
[[nodiscard]] std::optional<InboundResponse> anonymousProblem(const InboundRequest& request);

/// Whether `text` is a valid `traceparent` of W3C Trace Context, of version 00 or later.
[[nodiscard]] bool isTraceparent(std::string_view text) noexcept;

/// Adds `agent`, the author of the answer, to a problem document that will be signed; does not change any other answer.
/// A sender does not trust a refusal that names the sender itself: its own request was sent back to it, and refused
/// there with a key that both sides share.
void nameAuthor(std::string_view agent, InboundResponse& response);

/// An RFC 9457 problem document.
[[nodiscard]] InboundResponse problem(int status, std::string_view title, std::string_view detail);

/// The request-level answer when nothing could be stored: 503, or 507 for a full disk, with Retry-After.
[[nodiscard]] InboundResponse unavailable(bool diskFull, std::string_view detail);

/// Reads a peer's HTTP answer by the outcome table: a 2xx, 422 or 503 with an ACK document that has exactly one
/// well-formed result per sent frame, in order and by id, is `answered`; any other answer is judged by its status
/// alone. A 2xx without such a document settles nothing (a captive portal's page is `peerUnavailable`). `retryAfter` is
/// the header's value; without `now`, a date in it is ignored. The text of a refusal is in the report's error, see
/// `textOfAnswer`.
[[nodiscard]] SendReport readAnswer(const SendRequest& request, std::string_view delivery, int status,
                                    std::string_view contentType, std::string_view retryAfter, std::string_view body,
                                    std::optional<WallTime> now = {});

/// The same for an answer with a verified signature. It covers the body and not the status, so a refusal for good
/// counts only if its problem document repeats the status, and does not name the sender itself as its author.
[[nodiscard]] SendReport readSignedAnswer(const SendRequest& request, std::string_view delivery, int status,
                                          std::string_view contentType, std::string_view retryAfter,
                                          std::string_view body, std::optional<WallTime> now = {});

/// The same for an answer that lacks a required signature or has a wrong one: nothing in its body is trusted. Its
/// status alone can hold or pause the peer; it settles nothing, and a frame that it refuses alone is only charged an
/// attempt, because an attacker between the two agents can write that much.
[[nodiscard]] SendReport readUnverifiedAnswer(const SendRequest& request, int status, std::string_view retryAfter,
                                              std::string_view contentType = {}, std::string_view body = {},
                                              std::optional<WallTime> now = {});

/// Reads the answer of a receiver of Standard Webhooks to one frame. Only its status counts: any 2xx is an ACK, 413 and
/// 422 reject the frame, and 400 and every 5xx that is no outage are charged to it.
[[nodiscard]] SendReport readWebhookAnswer(int status, std::string_view retryAfter, std::string_view contentType = {},
                                           std::string_view body = {}, std::optional<WallTime> now = {});

}  // namespace ackbox::protocol
