#pragma once

// Frames and ACK documents to and from bytes, as `proto/README.md` describes them. Pure: no I/O, no clock.

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
/// What receivers of Standard Webhooks expect, and that of the data.
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
  /// Beside those that every request has.
  std::vector<std::pair<std::string, std::string>> headers = {};
};

/// The `webhook-id` of a request: its only frame's id, or `delivery`.
[[nodiscard]] std::string_view webhookIdOf(const SendRequest& request, std::string_view delivery);

/// One frame becomes a CloudEvents JSON object, several a batch. The stored data bytes are spliced in unchanged.
[[nodiscard]] EncodedRequest encodeRequest(const SendRequest& request, std::string_view delivery);

/// The only frame in CloudEvents' binary mode: its attributes are headers, its data the body. Only the id and the data
/// are then under the signature.
///
/// Source: CloudEvents HTTP Protocol Binding 1.0.2, section 3.1.
[[nodiscard]] EncodedRequest encodeBinaryRequest(const SendRequest& request, std::string_view delivery);

/// One member of an inbound request: a frame, or why it is refused.
struct DecodedFrame {
  InboundFrame frame;
  /// Set when this member cannot be a frame: its `term` result (code `malformed`).
  std::optional<FrameResult> refusal;
};

/// An inbound request, decoded; or the problem response that refuses it as a whole.
struct DecodedRequest {
  std::vector<DecodedFrame> frames;
  bool batch = false;
  /// It has one frame, in AGENIUM's form, and is answered in that form.
  bool isAgenium = false;
  std::optional<InboundResponse> problem;
  /// Set when what is refused is refused for its headers, which no signature covers. The refusal must then not be
  /// signed: otherwise a captured request that is sent again under other headers would get a refusal that counts
  /// against the true one.
  bool isRefusedByHeaders = false;
};

/// Reads a request of CloudEvents. Checks media type, size, depth, syntax and count, in this order; however many frames
/// the input has, no more are built than are allowed. A bad frame in valid JSON is refused alone.
[[nodiscard]] DecodedRequest decodeRequest(const InboundRequest& request, const InboundOptions& limits);

/// What a session has reached at the receiver.
struct SessionProgress {
  std::string id;
  std::uint64_t accepted = 0;
  std::uint64_t settled = 0;
  /// The sender's store; only where a request has sessions of several stores, else empty.
  std::string origin = {};
  /// The id of the frame that was accepted with that number; empty: not known.
  std::string acceptedId = {};
};

/// The ACK document and its status: one result per frame, in order. `frameIds` are the ids as received. `storeEpoch`
/// says how often the store was opened; 0: that is left out.
[[nodiscard]] InboundResponse encodeAck(const InboundRequest& request, bool batch, std::string_view storeId,
                                        std::span<const std::string_view> frameIds,
                                        std::span<const FrameResult> results, std::span<const SessionProgress> sessions,
                                        const InboundOptions& limits, std::uint64_t storeEpoch = 0);

/// The type of a frame that carries outcomes of frames that were deferred.
inline constexpr std::string_view kAckEventType = "ackbox.ack.v1";

/// The data of an ACK event with one result. Without `carriesResult`, or when it is too deep, the handler's JSON is
/// left out. `sequence` is the one of the message's numbers that was taken, as a redrive gives it a new one; 0: none.
/// `time` says the same of a message without numbers.
[[nodiscard]] std::string encodeAckEvent(std::string_view id, std::uint64_t sequence, const FrameResult& result,
                                         bool carriesResult, std::optional<WallTime> time = {});

struct NamedResult;
/// The results of an ACK event, 1 to 256; nothing if `data` is not an ACK event's. `data` is valid JSON. Include
/// protocol/ack_document.hpp to use it.
[[nodiscard]] std::optional<std::vector<NamedResult>> readAckEvent(std::string_view data);

/// The refusal of a request whose `outbox-version` header is one that is not spoken here; nothing when it is absent,
/// which stands for 1, or ours. A version is a number, and perhaps a dot and a minor number, which is passed over.
[[nodiscard]] std::optional<InboundResponse> versionProblem(std::string_view version);

/// The refusal of an unsigned request that a web page may have made a browser send: it is a browser's, it has no media
/// type, which a page could leave out unasked, or it came to a loopback address under another machine's name; nothing
/// otherwise.
[[nodiscard]] std::optional<InboundResponse> anonymousProblem(const InboundRequest& request);

/// Whether `text` is a `traceparent` that W3C Trace Context allows, of version 00 or a later one.
[[nodiscard]] bool isTraceparent(std::string_view text) noexcept;

/// Adds `agent`, the author of the answer, to a problem document that will be signed; does nothing to any other answer.
/// A sender believes no refusal that names itself: its own request was sent back to it, and refused there with a key
/// that both sides share.
void nameAuthor(std::string_view agent, InboundResponse& response);

/// An RFC 9457 problem document.
[[nodiscard]] InboundResponse problem(int status, std::string_view title, std::string_view detail);

/// The request-level answer when nothing could be stored: 503, or 507 for a full disk, with Retry-After.
[[nodiscard]] InboundResponse unavailable(bool diskFull, std::string_view detail);

/// Reads a peer's HTTP answer by the outcome table: a 2xx, 422 or 503 with an ACK document that has exactly one
/// well-formed result per sent frame, in order and by id, is `answered`; anything else is judged by its status alone.
/// A 2xx without such a document settles nothing (a captive portal's page is `peerUnavailable`).
/// `retryAfter` is the header's value; without `now`, one that is a date counts as none. What a refusal says is in the
/// report's error, see `textOfAnswer`.
[[nodiscard]] SendReport readAnswer(const SendRequest& request, std::string_view delivery, int status,
                                    std::string_view contentType, std::string_view retryAfter, std::string_view body,
                                    std::optional<WallTime> now = {});

/// The same for an answer whose signature was verified. It covers the body and not the status, so a refusal for good
/// counts only if its problem document repeats the status, and does not name the sender itself as its author.
[[nodiscard]] SendReport readSignedAnswer(const SendRequest& request, std::string_view delivery, int status,
                                          std::string_view contentType, std::string_view retryAfter,
                                          std::string_view body, std::optional<WallTime> now = {});

/// The same for an answer that should have been signed and was not, or wrongly: nothing in its body is believed. By its
/// status alone it holds or pauses the peer; it settles nothing, and a frame that it refuses alone is only charged an
/// attempt, because anybody between the two agents can write that much.
[[nodiscard]] SendReport readUnverifiedAnswer(const SendRequest& request, int status, std::string_view retryAfter,
                                              std::string_view contentType = {}, std::string_view body = {},
                                              std::optional<WallTime> now = {});

/// The answer of a receiver of Standard Webhooks to one frame. Only its status counts: any 2xx is its ACK, a 413 or a
/// 422 gives it up, a 400, and a 5xx that names no outage, are charged to it.
[[nodiscard]] SendReport readWebhookAnswer(int status, std::string_view retryAfter, std::string_view contentType = {},
                                           std::string_view body = {}, std::optional<WallTime> now = {});

}  // namespace ackbox::protocol
