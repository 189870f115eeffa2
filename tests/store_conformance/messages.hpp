#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "ackbox/frame.hpp"
#include "ackbox/options.hpp"
#include "store/store.hpp"

// The steps of a message, one transaction each, on any store.

namespace ackbox::testing {

inline Frame frameOf(std::string session, std::string data = "{}", std::string id = {}) {
  Frame frame;
  frame.session = std::move(session);
  frame.type = "test";
  frame.data = std::move(data);
  frame.id = std::move(id);
  return frame;
}

inline Frame frameTo(const std::string& peer, const std::string& session) {
  Frame frame = frameOf(session);
  frame.peer = peer;
  return frame;
}

inline Frame keyed(const std::string& key, const std::string& session = "s") {
  Frame frame = frameOf(session);
  frame.idempotencyKey = key;
  return frame;
}

inline Frame latest(const std::string& key, const std::string& data = "{}", const std::string& session = "s") {
  Frame frame = frameOf(session, data);
  frame.supersedeKey = key;
  return frame;
}

inline void setPeers(OutboxOptions& options, std::initializer_list<const char*> names) {
  options.peers.clear();
  for (const char* name : names) {
    options.peers.push_back({.name = name});
  }
}

/// Runs `work` in a transaction of its own.
template <typename Work>
auto inTransaction(store::Store& store, Work work) {
  store.begin(false);
  if constexpr (std::is_void_v<decltype(work())>) {
    work();
    store.commit();
  } else {
    auto result = work();
    store.commit();
    return result;
  }
}

inline EnqueueReceipt enqueueOne(store::Store& store, const Frame& frame) {
  return inTransaction(store, [&] { return store.outbox().enqueue(frame); });
}

inline store::ClaimReply claimOf(store::Store& store, const std::vector<delivery::SessionClaim>& claims) {
  return inTransaction(store, [&] { return store.claims().claim(claims); });
}

inline store::ClaimReply claimOf(store::Store& store, const delivery::SessionClaim& claim) {
  return inTransaction(store, [&] { return store.claims().claim({&claim, 1}); });
}

/// What a claim of this session's row gives.
inline store::ClaimReply claimOf(store::Store& store, const delivery::RowSeen& row) {
  return claimOf(store, delivery::SessionClaim{row.session, {row.key}});
}

/// Claims all of what is new, one claim per session, or unordered message.
inline store::ClaimReply claimNew(store::Store& store) {
  std::vector<delivery::SessionClaim> claims;
  for (const delivery::RowSeen& row : store.discovery().take(1'000).rows) {
    if (store.discovery().sessionName(row.session).empty()) {
      claims.push_back({delivery::unitOf(row.key), {row.key}});
      continue;
    }
    if (claims.empty() || claims.back().session != row.session) {
      claims.push_back({row.session, {}});
    }
    claims.back().keys.push_back(row.key);
  }
  return claimOf(store, claims);
}

/// A settlement of a claimed row.
inline delivery::Settlement settlementOf(const store::ClaimReply& reply, delivery::Transition transition,
                                         std::size_t session = 0, std::size_t row = 0) {
  delivery::Settlement settlement;
  settlement.key = reply.sessions.at(session).rows.at(row).key;
  settlement.session = reply.sessions.at(session).session;
  settlement.attempt = reply.sessions.at(session).rows.at(row).attempt;
  settlement.transition = transition;
  return settlement;
}

/// Claims and settles all of what is new so.
inline void settleAll(store::Store& store, delivery::Transition transition, const std::string& reason = "test") {
  const store::ClaimReply reply = claimNew(store);
  inTransaction(store, [&] {
    std::vector<delivery::SessionRelease> releases;
    for (std::size_t session = 0; session < reply.sessions.size(); ++session) {
      for (std::size_t row = 0; row < reply.sessions[session].rows.size(); ++row) {
        delivery::Settlement settlement = settlementOf(reply, transition, session, row);
        settlement.reason = reason;
        store.settles().settle({&settlement, 1});
      }
      releases.push_back({.session = reply.sessions[session].session, .dueAt = {}, .previousSequence = {}});
    }
    store.claims().endClaims(releases);
  });
}

inline std::optional<store::SettledMessage> settleOne(store::Store& store, const delivery::Settlement& settlement) {
  return inTransaction(store, [&] { return store.settles().settle({&settlement, 1}).front(); });
}

}  // namespace ackbox::testing
