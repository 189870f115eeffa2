#pragma once

#include <array>

namespace ackbox::store::sqlite {

/// The statements that make the tables and their indexes; `#` is the table prefix.
extern const char* const kTablesSql;

/// The tables, except the one with the version.
inline constexpr std::array kTables = {
    "meta",          "owners",           "peers",           "sessions",         "session_states",  "claims",
    "outbox",        "idempotency_keys", "vacated_numbers", "inbound_sessions", "inbound_origins", "processed_messages",
    "inbox",         "inbox_results",    "inbound_senders", "counters",         "peer_counters",   "publications",
    "subscriptions",
};

}  // namespace ackbox::store::sqlite
