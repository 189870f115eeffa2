#include "hostile/campaign/attacks.hpp"

#include <array>

namespace ackbox::campaign {

std::span<const Attack> attacks() {
  static constexpr std::array kAttacks = {
      Attack{"B1", "complete trailer fields of 66,000 bytes, headers of 60,000 to 80,000, from anybody", 128, true,
             false, sendOversizedFields},
      Attack{"B2", "a peer that answers with such trailers and headers", 128, true, false, answerOversizedFields},
      Attack{"B3", "1,100 idle connections", 128, true, false, holdIdleConnections},
      Attack{"B4", "uploads of 1 MiB with 16 signatures and no name, where peers have 32 keys, without a key", 256,
             true, false, uploadForgedSignatures},
      Attack{"B5", "slow readers on 1,100 connections, without a key", 256, true, false, readSlowly},
      Attack{"B6", "a peer with a key, ever new sessions, origins and ids", 256, true, false, inventSessions},
      Attack{"B7", "a peer with a key fills the deferred inbox", 256, true, false, fillDeferredInbox},
      Attack{"B8", "1,000 bodies of 1 MiB without a key, each but its last byte", 256, true, false, holdHalfBodies},
      Attack{"B9", "2,000 frames of 250,000 bytes pending to one peer", 256, true, false, pileUpLargeFrames},
      Attack{"B10", "300 frames of 250,000 bytes pending, and 32 MiB of address space left", 128, true, true,
             withholdMemory},
      Attack{"B11", "a peer behind a proxy that breaks 40 % of the requests", 128, true, false, loseConnections},
      Attack{"B12", "a database file with endless triggers and views", 256, false, false, plantHostileSchema},
      Attack{"B13", "start and stop from two threads", 128, true, false, startAndStop},
      Attack{"B14", "1,900 mute peers beside 100 live ones", 256, true, false, keepManyPeersMute},
  };
  return kAttacks;
}

}  // namespace ackbox::campaign
