#pragma once

// The stage with a peer that refuses some messages, always, by their keys, or all while it is away.

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "unit/delivery/stage.hpp"

namespace ackbox::delivery {

using Keys = std::vector<MessageKey>;

/// Whether the messages of a test are in sessions: both, a subcase each.
inline bool isInSession() {
  bool inSession = false;
  SUBCASE("outside sessions") {}
  SUBCASE("in sessions") {
    inSession = true;
  }
  return inSession;
}

struct Refusing : Stage {
  explicit Refusing(std::uint32_t frames = 1, std::uint32_t requests = 1, std::uint32_t maxRetries = 3)
      : Refusing(withFrames(frames, maxRetries), requests) {}
  explicit Refusing(MachineOptions machineOptions, std::uint32_t requests = 1) : Stage(std::move(machineOptions)) {
    machine->peerAdded(kPeer, requests);
  }
  static MachineOptions withFrames(std::uint32_t frames, std::uint32_t maxRetries) {
    MachineOptions options;
    options.batchFrames = frames;
    options.retry.delays = {1s};
    options.retry.jitter = false;
    options.retry.maxRetries = maxRetries;
    return options;
  }
  MessageKey add(bool inSession) {
    const MessageKey key = inSession ? store(++sessionsMade) : storeUnordered();
    showRows();
    return key;
  }
  void addMany(int count, bool inSession, const std::function<bool(int)>& isBad) {
    for (int index = 0; index < count; ++index) {
      const MessageKey key = add(inSession);
      if (isBad(index)) {
        bad.insert(key);
      }
    }
  }
  static SendReport refusal(int status, RequestOutcome outcome) {
    SendReport made;
    made.outcome = outcome;
    made.status = status;
    made.error = "HTTP " + std::to_string(status);
    return made;
  }
  /// Answers the oldest send, as the peer does: what has a bad one in it is refused as a whole.
  void answerNext() {
    const Keys keys = keysOf(sends.front());
    ++asked[keys.front()];
    if (isAway || std::ranges::any_of(keys, [this](MessageKey key) { return bad.contains(key); })) {
      ++refusals;
      report(refusal(status, outcome));
    } else {
      ackAll();
    }
  }
  /// Until `isOver`, or for so long.
  void goOn(const std::function<bool()>& isOver, std::chrono::milliseconds longest = 1h) {
    const SteadyTime end = now.steady + longest;
    while (!isOver() && now.steady <= end) {
      if (!sends.empty()) {
        answerNext();
      } else if (!advanceToWake()) {
        return;
      }
    }
  }
  [[nodiscard]] bool isAcked(MessageKey key) const { return state(key) == MessageState::acked; }
  [[nodiscard]] bool areOthersAcked() const {
    return std::ranges::all_of(rows, [this](const auto& row) { return bad.contains(row.first) || isAcked(row.first); });
  }
  [[nodiscard]] std::uint32_t charges() const {
    std::uint32_t total = 0;
    for (const auto& [key, row] : rows) {
      total += row.retryCount;
    }
    return total;
  }
  [[nodiscard]] PeerView view() const { return *machine->peer(kPeer); }

  SessionKey sessionsMade = 0;
  std::set<MessageKey> bad;
  bool isAway = false;
  int status = 404;
  RequestOutcome outcome = RequestOutcome::peerRefused;
  std::map<MessageKey, int> asked;
  int refusals = 0;
};

}  // namespace ackbox::delivery
