#pragma once

#include <string>
#include <vector>

#include "ackbox/secret.hpp"

namespace ackbox {

/// A peer that may send to an `InboundHandler`: how it is recognised, and what it is allowed to do.
struct InboundPeer {
  /// The agent URIs that it may name as the `source` of its frames. At least one; no other peer may use them.
  std::vector<std::string> agents = {};
  /// The keys with which its requests are verified and its answers are signed. At least one must be able to verify:
  /// `whsec_` or `whpk_`. Default: none; the peer is then recognised by its certificate or by a mailbox alone.
  SecretSource secrets = {};
  /// Whether a client certificate that names one of `agents` as a URI, verified by mutual TLS, is sufficient proof
  /// without a signature. Default: no.
  bool byCertificate = false;
  /// Whether a mailbox's word is sufficient proof: frames that a `MailboxFetcher` of this process fetched, and that
  /// name one of `agents` as `source`, are believed without a signature. The hub could make up such frames, so list the
  /// peer this way only if the hub is trusted to verify its senders. Default: no.
  bool byMailbox = false;
  /// Whether it may send frames. Default: yes.
  bool maySend = true;
  /// Whether it may send ACK events, for messages addressed to it. Default: yes.
  bool mayAck = true;
  /// The agents whose mailboxes it keeps, each a URI, or a prefix followed by `*`: its ACK events are also for messages
  /// addressed to these. It is believed about them, so list those alone whose messages go to its inbox. Default: none;
  /// the outcome of such a message is then learned at `ackTimeout`.
  std::vector<std::string> mailboxes = {};
  /// The sessions that it may use. Empty (default): any. Frames of other sessions are refused one by one. So are frames
  /// outside sessions, unless an empty name is listed, which stands for them and for the session without a name.
  std::vector<std::string> sessions = {};
};

}  // namespace ackbox
