#pragma once

#include <string>

#include "ackbox/clock.hpp"
#include "ackbox/inbox.hpp"
#include "ackbox/stats.hpp"

namespace ackbox::records {

/// The wording that the tool, the page and monitoring share. Without a full stop.

/// `2090 frames wait for an application; type invoice.paid has had none for 4 m (they wait for …)`. `frames` has some.
[[nodiscard]] std::string unattendedText(const UnattendedFrames& frames, WallTime now);

/// `peer bob has deferred 2090 messages, and has had no application for type invoice.paid for 4 m`. `peer` has some.
[[nodiscard]] std::string unattendedText(const PeerStats& peer, WallTime now);

/// `the stream of billing for types * has had 64 frames in hand for 12 m and has settled none of them`.
[[nodiscard]] std::string silentText(const SilentConsumer& consumer, WallTime now);

}  // namespace ackbox::records
