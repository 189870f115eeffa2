#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/inbound_options.hpp"
#include "ackbox/inbound_request.hpp"
#include "protocol/key_cache.hpp"
#include "protocol/wire.hpp"

namespace ackbox::manager {

/// The peers that may send to this agent: finds out which one sent a request before a byte of its body is decoded, and
/// then whether that peer may do what the request asks for.
///
/// Thread-safety: all members may be called from any thread.
class PeerRegistry {
public:
  /// `self` is this agent's URI. Throws `Error` with `invalidOption`.
  PeerRegistry(const InboundOptions& options, std::string_view self, std::shared_ptr<Clock> clock);
  ~PeerRegistry();

  struct Peer;

  /// A known peer, or an anonymous sender where that is allowed.
  struct Sender {
    /// Null: anonymous.
    const Peer* peer = nullptr;
    /// What answers are signed with. Null: they are not.
    std::shared_ptr<const protocol::KeyRing> keys;
    /// It is known by the connection, which all of the request came on: also what no signature covers is its own.
    bool byConnection = false;
  };

  /// Nothing when the request proves no identity that it needs: `refusal` says why.
  [[nodiscard]] std::optional<Sender> authenticate(const InboundRequest& request, InboundRefusal& refusal) const;

  /// Whether a request with these headers could be authenticated, whatever its body is. Says the same of names that are
  /// known and of those that are not.
  [[nodiscard]] bool mayProve(const InboundRequest& head) const;

  /// Gives frames in a form that names no source the name of their sender: the peer's first. A peer that is known by
  /// the connection may choose another of its own in `outbox-agent`; a header of a signed request could be changed, and
  /// the frame take effect again under the other name. For an anonymous one what it says, or `urn:ackbox:anonymous`.
  static void attribute(const Sender& sender, const InboundRequest& request, protocol::DecodedRequest& decoded);

  /// A proven sender's first agent URI; of any other what it claims, if that is plain text.
  [[nodiscard]] static std::string nameOf(const Sender& sender, const InboundRequest& request);

  /// What a peer may do with the frames of a request.
  enum class Verdict : std::uint8_t {
    allowed,
    /// An anonymous sender claims to be a peer that has keys.
    unauthenticated,
    /// A peer claims another's name, or a right that it has not.
    forbidden,
  };
  /// Also refuses single frames, in sessions that are not the peer's; adds their number to `refusedFrames`.
  [[nodiscard]] Verdict authorise(const Sender& sender, protocol::DecodedRequest& request,
                                  std::size_t& refusedFrames) const;

private:
  using Peers = std::vector<std::unique_ptr<const Peer>>;

  [[nodiscard]] InboundRefusal refusalOf(const InboundRequest& request, bool isKnown,
                                         protocol::SignatureVerdict verdict) const;
  [[nodiscard]] const Peer* byCertificate(const InboundRequest& request) const;
  [[nodiscard]] std::vector<const Peer*> candidates(const InboundRequest& request) const;

  const std::shared_ptr<Clock> clock_;
  const bool allowAnonymous_;
  const protocol::KeyRing decoy_;
  Peers peers_;
  std::map<std::string, const Peer*, std::less<>> byAgent_;
};

/// The refusal for the operator: what is wrong, and what to do.
[[nodiscard]] std::string sentenceOf(const InboundRefusal& refusal);

}  // namespace ackbox::manager
