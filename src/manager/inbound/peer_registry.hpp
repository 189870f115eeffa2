#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/inbound_options.hpp"
#include "ackbox/inbound_request.hpp"
#include "protocol/secret_cache.hpp"
#include "protocol/wire.hpp"

namespace ackbox::manager {

/// The peers that may send to this agent: determines the sender of a request before a byte of its body is decoded, and
/// then whether that peer is allowed to make the request.
///
/// Thread-safety: all members may be called from any thread.
class PeerRegistry {
public:
  /// `self` is this agent's URI. Throws `Error` with `invalidOption`.
  PeerRegistry(const InboundOptions& options, std::string_view self, std::shared_ptr<Clock> clock);
  ~PeerRegistry();

  struct Peer;

  /// A known peer, or an anonymous sender if that is allowed.
  struct Sender {
    /// Null: anonymous.
    const Peer* peer = nullptr;
    /// The keys that sign answers. Null: answers are not signed.
    std::shared_ptr<const protocol::KeyRing> keys;
    /// The peer is known by the connection of the request: parts that no signature covers are from this peer, too.
    bool byConnection = false;
  };

  /// Nothing if the request does not prove a required identity: `refusal` has the reason.
  [[nodiscard]] std::optional<Sender> authenticate(const InboundRequest& request, InboundRefusal& refusal) const;

  /// Whether a request with these headers could be authenticated with a suitable body. The result is the same for known
  /// and unknown names.
  [[nodiscard]] bool mayProve(const InboundRequest& head) const;

  /// Sets the source of frames in a form without one to their sender: the peer's first URI. A peer that is known by the
  /// connection may choose another of its URIs in `outbox-agent`; in a signed request this header could be changed, and
  /// the frame would take effect twice. For an anonymous sender, the name that it claims, or `urn:ackbox:anonymous`.
  static void attribute(const Sender& sender, const InboundRequest& request, protocol::DecodedRequest& decoded);

  /// A proven sender's first agent URI; for any other sender the name that it claims, if that is plain text.
  [[nodiscard]] static std::string nameOf(const Sender& sender, const InboundRequest& request);

  /// See `InboundPeer::mailboxes`. Valid as long as this object.
  [[nodiscard]] static std::span<const std::string> mailboxesOf(const Sender& sender);

  /// Whether a peer may send the frames of a request.
  enum class Verdict : std::uint8_t {
    allowed,
    /// An anonymous sender claims to be a peer that has keys.
    unauthenticated,
    /// A peer claims another peer's name, or a right that it does not have.
    forbidden,
  };
  /// Also refuses single frames in sessions that the peer may not use, and adds their number to `refusedFrames`.
  [[nodiscard]] Verdict authorise(const Sender& sender, protocol::DecodedRequest& request,
                                  std::size_t& refusedFrames) const;

private:
  using Peers = std::vector<std::unique_ptr<const Peer>>;

  [[nodiscard]] InboundRefusal refusalOf(const InboundRequest& request, bool isKnown,
                                         protocol::SignatureVerdict verdict) const;
  [[nodiscard]] const Peer* byCertificate(const InboundRequest& request) const;
  [[nodiscard]] const Peer* byMailbox(const InboundRequest& request) const;
  [[nodiscard]] std::vector<const Peer*> candidates(const InboundRequest& request) const;

  const std::shared_ptr<Clock> clock_;
  const bool allowAnonymous_;
  const protocol::KeyRing decoy_;
  Peers peers_;
  std::map<std::string, const Peer*, std::less<>> byAgent_;
};

/// The text of the refusal for the operator: the cause, and the remedy.
[[nodiscard]] std::string sentenceOf(const InboundRefusal& refusal);

}  // namespace ackbox::manager
