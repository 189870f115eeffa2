#pragma once

#include <string>
#include <vector>

#include "ackbox/secret.hpp"

namespace ackbox {

/// A peer that may send to an `InboundHandler`: how it is recognised, and what it may do.
struct InboundPeer {
  /// The agent URIs that it may name as the `source` of its frames. At least one; no other peer may use them.
  std::vector<std::string> agents = {};
  /// The keys that its requests are verified with, and its answers signed with. At least one must be able to verify:
  /// `whsec_` or `whpk_`. Default: none, then it is known by its certificate alone.
  SecretSource secrets = {};
  /// Whether a client certificate that names one of `agents` as a URI, verified by mutual TLS, is proof enough without
  /// a signature. Default: no.
  bool byCertificate = false;
  /// Whether it may send frames. Default: yes.
  bool maySend = true;
  /// Whether it may send ACK events, for messages addressed to it. Default: yes.
  bool mayAck = true;
  /// The sessions that it may use. Empty (default): any. Frames of others are refused one by one, and so are frames
  /// outside sessions, unless an empty name is listed: it stands for them and for the session without a name.
  std::vector<std::string> sessions = {};
};

}  // namespace ackbox
