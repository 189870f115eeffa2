#include "transport/option_rows.hpp"

#include "protocol/secret_cache.hpp"
#include "transport/stream.hpp"

namespace ackbox::transport {

std::span<const Option<InboundServerOptions>> serverOptionRows() {
  using O = InboundServerOptions;
  using Slot = OptionSlot;
  using enum OptionUnit;
  static constexpr Option<O> kRows[] = {
      {"connectionsMax", [](O& o) -> Slot { return &o.connectionsMax; }, count, 1, kOptionMost, "connections at once"},
      {"headerBytesMax", [](O& o) -> Slot { return &o.headerBytesMax; }, bytes, kHeaderBytesLeast, kHeaderBytesMost,
       "bytes of a request's headers"},
      {"requestBytesMax", [](O& o) -> Slot { return &o.requestBytesMax; }, bytes, 1, kOptionMost,
       "bytes of requests that are read or handled, of all connections"},
      {"handshakeTimeout", [](O& o) -> Slot { return &o.handshakeTimeout; }, duration, 1, kDurationMost,
       "the TLS handshake of a connection"},
      {"requestTimeout", [](O& o) -> Slot { return &o.requestTimeout; }, duration, 1, kDurationMost,
       "from the first byte of a request to its last"},
      {"writeTimeout", [](O& o) -> Slot { return &o.writeTimeout; }, duration, 1, kDurationMost,
       "from one piece of an answer that the peer takes to the next"},
      {"idleTimeout", [](O& o) -> Slot { return &o.idleTimeout; }, duration, 1, kDurationMost,
       "between requests on one connection"},
      {"connectionAge", [](O& o) -> Slot { return &o.connectionAge; }, duration, 1, kDurationMost,
       "the age at which a connection is closed behind an answer"},
  };
  return kRows;
}

std::span<const Option<HttpSenderOptions>> senderOptionRows() {
  using O = HttpSenderOptions;
  using Slot = OptionSlot;
  using enum OptionUnit;
  static constexpr Option<O> kRows[] = {
      {"resolveTimeout", [](O& o) -> Slot { return &o.resolveTimeout; }, duration, 1, kDurationMost,
       "the resolution of a name"},
      {"connectTimeout", [](O& o) -> Slot { return &o.connectTimeout; }, duration, 1, kDurationMost,
       "connecting to one address"},
      {"handshakeTimeout", [](O& o) -> Slot { return &o.handshakeTimeout; }, duration, 1, kDurationMost,
       "the TLS handshake of a connection"},
      {"idleTimeout", [](O& o) -> Slot { return &o.idleTimeout; }, duration, 1, kDurationMost,
       "how long an idle connection is kept"},
      {"connectionAge", [](O& o) -> Slot { return &o.connectionAge; }, duration, 1, kDurationMost,
       "the age at which another connection is made"},
      {"connectionsMax", [](O& o) -> Slot { return &o.connectionsMax; }, count, 1, 65'536,
       "connections to all peers together"},
      {"responseBytesMax", [](O& o) -> Slot { return &o.responseBytesMax; }, bytes, 1, 64ULL << 20U,
       "bytes of an answer's body"},
      {"headerBytesMax", [](O& o) -> Slot { return &o.headerBytesMax; }, bytes, kHeaderBytesLeast, kHeaderBytesMost,
       "bytes of an answer's headers"},
      {"secretsGrace", [](O& o) -> Slot { return &o.secretsGrace; }, duration, 0,
       std::uint64_t{protocol::kSecretsGraceMax.count()},
       "how long secrets go on whose source cannot be read any more"},
  };
  return kRows;
}

std::span<const Option<MailboxFetcherOptions>> mailboxOptionRows() {
  using O = MailboxFetcherOptions;
  using Slot = OptionSlot;
  using enum OptionUnit;
  static constexpr Option<O> kRows[] = {
      {"window", [](O& o) -> Slot { return &o.window; }, count, 1, 1'024, "frames in hand at once"},
      {"connectTimeout", [](O& o) -> Slot { return &o.connectTimeout; }, duration, 1, kDurationMost,
       "connecting to one address of the hub"},
      {"silenceTimeout", [](O& o) -> Slot { return &o.silenceTimeout; }, duration, 1, kDurationMost,
       "how long the stream may be silent"},
      {"settleTimeout", [](O& o) -> Slot { return &o.settleTimeout; }, duration, 1, kDurationMost,
       "one request that reports outcomes"},
      {"reconnectLeast", [](O& o) -> Slot { return &o.reconnectLeast; }, duration, 1, kDurationMost,
       "the first pause before a lost stream is opened again"},
      {"reconnectMost", [](O& o) -> Slot { return &o.reconnectMost; }, duration, 1, kDurationMost,
       "the longest pause before a lost stream is opened again"},
      {"secretsGrace", [](O& o) -> Slot { return &o.secretsGrace; }, duration, 0,
       std::uint64_t{protocol::kSecretsGraceMax.count()},
       "how long a token goes on whose source cannot be read any more"},
  };
  return kRows;
}

}  // namespace ackbox::transport
