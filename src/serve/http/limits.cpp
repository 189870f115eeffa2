#include "serve/http/limits.hpp"

#include <algorithm>

#include "base/pattern.hpp"
#include "serve/http/request.hpp"

namespace ackbox::serve {
namespace {

void add(std::string& text, std::string_view key, const std::vector<std::string>& values) {
  for (const std::string& value : values) {
    text.append(text.empty() ? "" : ", ").append(key).append("=").append(value);
  }
}

[[noreturn]] void refuse(const Request& request, const std::string& detail) {
  if (request.onBeyondLimits) {
    request.onBeyondLimits();
  }
  throw BeyondLimits(detail + " " + limitsSentence(request.caller.name, request.caller.limits));
}

}  // namespace

bool Limits::hasPeer(std::string_view peer) const noexcept {
  return peers.empty() || std::ranges::find(peers, peer) != peers.end();
}

bool Limits::hasType(std::string_view type) const noexcept {
  return types.empty() ||
         std::ranges::any_of(types, [&](const std::string& pattern) { return fitsPattern(pattern, type); });
}

std::string Limits::text() const {
  std::string made;
  add(made, "peer", peers);
  add(made, "type", types);
  return made;
}

std::string limitsSentence(std::string_view caller, const Limits& limits) {
  return "The token of '" + std::string(caller) + "' is limited to " + limits.text() + ".";
}

void requirePeer(const Request& request, std::string_view peer) {
  if (!request.caller.limits.hasPeer(peer)) {
    refuse(request, "This is for the peer '" + std::string(peer) + "'.");
  }
}

void requireType(const Request& request, std::string_view type) {
  if (!request.caller.limits.hasType(type)) {
    refuse(request, "This has the type '" + std::string(type) + "'.");
  }
}

void limitPeer(const Request& request, std::optional<std::string>& peer) {
  const std::vector<std::string>& peers = request.caller.limits.peers;
  if (!peer && peers.size() == 1) {
    peer = peers.front();
  }
  if (!peer && !peers.empty()) {
    refuse(request, "Name one peer.");
  }
  if (peer) {
    requirePeer(request, *peer);
  }
}

}  // namespace ackbox::serve
