#include "manager/inbound/peer_registry.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <utility>

#include "ackbox/error.hpp"
#include "base/nested_error.hpp"
#include "base/pattern.hpp"
#include "protocol/limits.hpp"
#include "protocol/text_rules.hpp"

namespace ackbox::manager {
namespace {

// A request that names no agent is tried with every key, up to this number of keys; with more keys it must name one.
constexpr std::size_t kKeysTriedMax = 32;
// The bound on the bytes that this computes over, because each key needs the whole body: 4 keys over 1 MiB.
constexpr std::size_t kBytesTriedMax = std::size_t{4} * 1024 * 1024;
constexpr std::size_t kPeersMax = 10'000;

// The key for unknown names, so that they take as long as known names. Whether it matches is ignored, so the key need
// not be secret.
constexpr std::string_view kDecoySecret = "whsec_ZGVjb3kgZGVjb3kgZGVjb3kgZGVjb3kgZGVjb3k=";

constexpr std::string_view kAnonymousAgent = "urn:ackbox:anonymous";

std::string fieldOf(std::size_t index) {
  return "peers[" + std::to_string(index) + "].";
}

[[noreturn]] void refuse(std::size_t index, const std::string& field, const std::string& problem) {
  throw OptionError(fieldOf(index) + field, problem);
}

bool contains(const std::vector<std::string>& list, std::string_view wanted) {
  return std::ranges::find(list, wanted) != list.end();
}

}  // namespace

struct PeerRegistry::Peer {
  InboundPeer options;
  // Null: known only by its certificate or by a mailbox.
  std::shared_ptr<protocol::KeyCache> keys;
};

PeerRegistry::PeerRegistry(const InboundOptions& options, std::string_view self, std::shared_ptr<Clock> clock)
    : clock_(std::move(clock)),
      allowAnonymous_(options.allowAnonymous),
      decoy_(std::array{Secret(std::string(kDecoySecret))}) {
  if (options.peers.size() > kPeersMax) {
    throw OptionError("peers", "has " + std::to_string(options.peers.size()), "at most 10,000");
  }
  for (std::size_t index = 0; index < options.peers.size(); ++index) {
    auto peer = std::make_unique<Peer>(Peer{options.peers[index], nullptr});
    if (peer->options.agents.empty()) {
      refuse(index, "agents", "must have at least one");
    }
    if (!peer->options.maySend && !peer->options.mayAck) {
      refuse(index, "maySend", "this peer may do nothing; set `maySend`, `mayAck` or both");
    }
    for (const std::string& agent : peer->options.agents) {
      if (agent.empty() || !byAgent_.emplace(agent, peer.get()).second) {
        refuse(index, "agents", "'" + agent + "' is empty, or was given before");
      }
    }
    for (const std::string& pattern : peer->options.mailboxes) {
      if (const std::string_view problem = patternProblem(pattern); pattern.empty() || !problem.empty()) {
        refuse(index, "mailboxes", pattern.empty() ? "has an empty name" : std::string(problem));
      }
    }
    // The key signs in both directions: a request of this agent could be sent back to it, and pass as the peer's.
    if (peer->options.secrets && contains(peer->options.agents, self)) {
      refuse(index, "agents", "'" + std::string(self) + "' is this agent itself; give each agent a URI of its own");
    }
    if (peer->options.secrets) {
      try {
        peer->keys = std::make_shared<protocol::KeyCache>(
            peer->options.secrets, clock_, options.secretsGrace,
            [onSecretsLost = options.onSecretsLost, agent = peer->options.agents.front()](std::string_view what) {
              if (onSecretsLost) {
                onSecretsLost(agent, what);
              }
            });
      } catch (const Error& error) {
        throwNested(fieldOf(index), error);
      }
      if (peer->keys->current()->verifyingKeys() == 0) {
        refuse(index, "secrets", "none of them can verify a request; add whsec_ or whpk_");
      }
    } else if (!peer->options.byCertificate && !peer->options.byMailbox) {
      refuse(index, "secrets",
             "there is no way to know this peer; give it secrets, or `byCertificate`, or `byMailbox`");
    }
    peers_.push_back(std::move(peer));
  }
}

PeerRegistry::~PeerRegistry() = default;

const PeerRegistry::Peer* PeerRegistry::byCertificate(const InboundRequest& request) const {
  for (const std::string& agent : request.certificateAgents) {
    const auto found = byAgent_.find(agent);
    if (found != byAgent_.end() && found->second->options.byCertificate) {
      return found->second;
    }
  }
  return nullptr;
}

const PeerRegistry::Peer* PeerRegistry::byMailbox(const InboundRequest& request) const {
  const auto found = request.fetchedFrom.empty() ? byAgent_.end() : byAgent_.find(request.fetchedFrom);
  return found != byAgent_.end() && found->second->options.byMailbox ? found->second : nullptr;
}

// The claim is not signed and need not be: it only selects the keys, and the frames' source is checked against the
// owner of the key.
std::vector<const PeerRegistry::Peer*> PeerRegistry::candidates(const InboundRequest& request) const {
  std::vector<const Peer*> found;
  if (!request.claimedAgent.empty()) {
    const auto named = byAgent_.find(request.claimedAgent);
    if (named != byAgent_.end() && named->second->keys) {
      found.push_back(named->second);
    }
    return found;
  }
  std::size_t keys = 0;
  for (const auto& peer : peers_) {
    if (peer->keys) {
      keys += peer->keys->current()->verifyingKeys();
      found.push_back(peer.get());
    }
    if (keys > kKeysTriedMax || keys * request.body.size() > kBytesTriedMax) {
      return {};
    }
  }
  return found;
}

// Runs on the thread that read the request, even for a long body: an HMAC takes 0.5 ms for 1 MiB with the processor's
// SHA instructions and 2 ms without, for each key of the peer (one or two, 16 at most), which is less than reading the
// body takes. A connection has one request at a time, a peer without a valid signature is disconnected after ten
// answers, and all requests together stay within `requestBytesMax`. So there is no separate thread for long bodies.
std::optional<PeerRegistry::Sender> PeerRegistry::authenticate(const InboundRequest& request,
                                                               InboundRefusal& refusal) const {
  if (const Peer* const peer = byCertificate(request)) {
    return Sender{peer, peer->keys ? peer->keys->current() : nullptr, true};
  }
  // The answer stays in this process, and needs no signature.
  if (const Peer* const peer = byMailbox(request)) {
    return Sender{peer, nullptr, true};
  }
  if (allowAnonymous_ && (request.webhookSignature.empty() || peers_.empty())) {
    return Sender{};
  }
  // A message that was signed as an answer is not a request.
  if (request.webhookId.starts_with(protocol::kAnswerIdPrefix)) {
    refusal = refusalOf(request, true, protocol::SignatureVerdict::malformed);
    return std::nullopt;
  }
  const protocol::SignatureHeaders headers{request.webhookId, request.webhookTimestamp, request.webhookSignature};
  const WallTime now = clock_->wallNow();
  const std::vector<const Peer*> known = candidates(request);
  // Any problem other than a wrong key is the same for every key.
  protocol::SignatureVerdict verdict = protocol::SignatureVerdict::missing;
  for (const Peer* const peer : known) {
    std::shared_ptr<const protocol::KeyRing> keys = peer->keys->current();
    verdict = keys->verify(headers, request.body, now);
    if (verdict == protocol::SignatureVerdict::valid) {
      return Sender{peer, std::move(keys)};
    }
  }
  if (known.empty()) {
    verdict = decoy_.verify(headers, request.body, now);
  }
  refusal = refusalOf(request, !known.empty(), verdict);
  return std::nullopt;
}

InboundRefusal PeerRegistry::refusalOf(const InboundRequest& request, bool isKnown,
                                       protocol::SignatureVerdict verdict) const {
  InboundRefusal refusal;
  refusal.agent = nameOf({}, request);
  switch (verdict) {
    case protocol::SignatureVerdict::missing:
      refusal.reason = RefusalReason::notSigned;
      break;
    case protocol::SignatureVerdict::malformed:
      refusal.reason = RefusalReason::malformed;
      break;
    case protocol::SignatureVerdict::skewed:
      refusal.reason = RefusalReason::clockApart;
      if (const std::optional<std::uint64_t> seconds = protocol::parseCounter(request.webhookTimestamp)) {
        refusal.skew = std::chrono::seconds(static_cast<std::int64_t>(*seconds)) -
                       std::chrono::floor<std::chrono::seconds>(clock_->wallNow().time_since_epoch());
      }
      break;
    case protocol::SignatureVerdict::valid:
    case protocol::SignatureVerdict::mismatch:
      refusal.reason = isKnown ? RefusalReason::wrongKey : RefusalReason::unknownAgent;
      break;
  }
  return refusal;
}

bool PeerRegistry::mayProve(const InboundRequest& head) const {
  const bool isSigned = !head.webhookSignature.empty() && !head.webhookTimestamp.empty() && !head.webhookId.empty();
  return isSigned || allowAnonymous_ || byCertificate(head) != nullptr;
}

void PeerRegistry::attribute(const Sender& sender, const InboundRequest& request, protocol::DecodedRequest& decoded) {
  if (!decoded.isAgenium) {
    return;
  }
  const std::string& claimed = request.claimedAgent;
  std::string source;
  if (sender.peer != nullptr) {
    const std::vector<std::string>& agents = sender.peer->options.agents;
    source = sender.byConnection && contains(agents, claimed) ? claimed : agents.front();
  } else {
    const bool isName = !claimed.empty() && protocol::isPlainText(claimed, protocol::kAgentBytesMax);
    source = isName ? claimed : std::string(kAnonymousAgent);
  }
  for (protocol::DecodedFrame& member : decoded.frames) {
    member.frame.source = source;
  }
}

std::string PeerRegistry::nameOf(const Sender& sender, const InboundRequest& request) {
  if (sender.peer != nullptr) {
    return sender.peer->options.agents.front();
  }
  return protocol::isPlainText(request.claimedAgent, protocol::kAgentBytesMax) ? request.claimedAgent : std::string();
}

std::span<const std::string> PeerRegistry::mailboxesOf(const Sender& sender) {
  return sender.peer != nullptr ? std::span<const std::string>(sender.peer->options.mailboxes)
                                : std::span<const std::string>();
}

PeerRegistry::Verdict PeerRegistry::authorise(const Sender& sender, protocol::DecodedRequest& request,
                                              std::size_t& refusedFrames) const {
  for (protocol::DecodedFrame& member : request.frames) {
    const InboundFrame& frame = member.frame;
    if (sender.peer == nullptr) {
      if (byAgent_.contains(frame.source)) {
        return Verdict::unauthenticated;
      }
      continue;
    }
    const InboundPeer& rights = sender.peer->options;
    const bool isAck = frame.type == protocol::kAckEventType;
    // Also for a frame that is refused alone: if a request of this agent is sent back to it, the signed refusal could
    // pass as the answer to that request.
    const bool isOwn = contains(rights.agents, frame.source) || (member.refusal && frame.source.empty());
    if (!isOwn || (!member.refusal && !(isAck ? rights.mayAck : rights.maySend))) {
      return Verdict::forbidden;
    }
    // The list has an empty name for frames without a session.
    if (!member.refusal && !isAck && !rights.sessions.empty() && !contains(rights.sessions, frame.session)) {
      FrameResult refusal;
      refusal.outcome = Outcome::term;
      refusal.code = "session-not-allowed";
      refusal.detail =
          member.frame.session.empty()
              ? "this peer may send only in the sessions that InboundPeer::sessions lists, and this frame is "
                "outside any"
              : "this peer may not send in this session: InboundPeer::sessions of the receiver does not list it";
      member.refusal = std::move(refusal);
      ++refusedFrames;
    }
  }
  return Verdict::allowed;
}

std::string sentenceOf(const InboundRefusal& refusal) {
  const std::string who = refusal.agent.empty() ? "a sender that names no agent" : "'" + refusal.agent + "'";
  switch (refusal.reason) {
    case RefusalReason::notSigned:
      return "a request of " + who + " is not signed: give both sides the same secret";
    case RefusalReason::malformed:
      return "a request of " + who + " carries a signature that is not of the form of Standard Webhooks";
    case RefusalReason::clockApart:
      return "a request of " + who + " was signed by a clock that is " +
             std::to_string(std::abs(refusal.skew.count())) + " s " +
             (refusal.skew.count() > 0 ? "ahead of" : "behind") + " this one: set the one that is wrong";
    case RefusalReason::unknownAgent:
      return "a request of " + who + " cannot be verified: no peer of the inbox has this agent and secrets";
    case RefusalReason::wrongKey:
      return "a request of " + who + " was signed with none of the keys known for it: compare the secrets";
    case RefusalReason::notAllowed:
      return "a request of " + who +
             " asks for what its sender may not do: compare its source, type and session with InboundPeer";
  }
  return {};
}

}  // namespace ackbox::manager
