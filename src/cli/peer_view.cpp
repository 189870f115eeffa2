#include "cli/peer_view.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "records/field.hpp"
#include "records/text.hpp"

namespace ackbox::cli {
namespace {

std::string agoOrNone(WallTime now, const std::optional<WallTime>& instant) {
  return instant ? records::agoText(now, *instant) : "-";
}

std::string whyText(const BlockedSession& session) {
  return records::shortened(session.lastError.empty() ? session.reason : session.reason + ": " + session.lastError,
                            records::kWhyWidth);
}

}  // namespace

Table peerTable(const std::vector<records::PeerFigures>& peers, bool isOpen, WallTime now) {
  Table table({{"PEER", Align::left},
               {"STATE", Align::left},
               {"SINCE", Align::left},
               {"PENDING", Align::right},
               {"SENDING", Align::right},
               {"SENT", Align::right},
               {"FAILED", Align::right},
               {"SIZE", Align::right},
               {"ACKED", Align::right},
               {"RETRIES", Align::right},
               {"RESETS", Align::right},
               {"PROBE", Align::left},
               {"LAST ERROR", Align::left}});
  for (const records::PeerFigures& peer : peers) {
    const PeerStats& figures = peer.figures;
    const PeerState state = peer.circuit.state;
    const bool isProbed = isOpen && (state == PeerState::down || state == PeerState::held);
    table.add({figures.peer, std::string(toString(state)), agoOrNone(now, records::instantIfAny(peer.circuit.since)),
               std::to_string(figures.pending), std::to_string(figures.sending), std::to_string(figures.sent),
               std::to_string(figures.failed), records::bytesText(figures.pendingBytes), std::to_string(figures.acked),
               std::to_string(figures.totalRetries), std::to_string(figures.resets),
               isProbed ? records::agoText(now, std::max(now, peer.circuit.nextProbeAt)) : "-",
               records::shortened(figures.lastError, records::kWhyWidth)});
  }
  return table;
}

std::vector<std::string> longCauses(const std::vector<records::PeerFigures>& peers) {
  std::vector<std::string> causes;
  for (const records::PeerFigures& peer : peers) {
    if (records::widthOf(peer.figures.lastError) > records::kWhyWidth) {
      causes.push_back(peer.figures.peer + ": " + peer.figures.lastError);
    }
  }
  return causes;
}

Table blockedTable(const std::vector<BlockedSession>& sessions, WallTime now) {
  Table table({{"PEER", Align::left},
               {"SESSION", Align::left},
               {"SINCE", Align::left},
               {"WAITING", Align::right},
               {"DEAD LETTER", Align::left},
               {"SEQ", Align::right},
               {"WHY", Align::left}});
  for (const BlockedSession& session : sessions) {
    table.add({session.peer, session.session, agoOrNone(now, records::instantIfAny(session.since)),
               std::to_string(session.waiting), session.messageId, std::to_string(session.sequence), whyText(session)});
  }
  return table;
}

}  // namespace ackbox::cli
