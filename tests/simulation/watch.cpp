#include "simulation/watch.hpp"

#include <algorithm>
#include <utility>

#include "simulation/common.hpp"

namespace ackbox::simulation {
namespace {

// Names contain no control characters.
std::string laneOf(const std::string& agent, const std::string& peer, const std::string& session) {
  return agent + '\n' + peer + '\n' + session;
}

}  // namespace

class Watch::WatchedSender final : public Sender {
public:
  WatchedSender(Watch& watch, Place place, const Clock& clock, std::shared_ptr<Sender> sender)
      : watch_(watch), place_(std::move(place)), clock_(clock), sender_(std::move(sender)) {}

  void start(const boost::asio::any_io_executor& executor) override { sender_->start(executor); }
  [[nodiscard]] std::uint32_t initialCredit() const override { return sender_->initialCredit(); }
  void asyncSend(SendRequest request, SendHandler handler) override {
    std::vector<std::string> lanes;
    watch_.left(place_, clock_, request, lanes);
    watch_.reach_.left(place_, request);
    std::vector<std::string> ids;
    std::vector<std::string> types;
    std::string lane = place_.process + '\n' + request.peer;
    for (const OutboundFrame& frame : request.frames) {
      ids.push_back(frame.messageId);
      types.push_back(frame.type);
    }
    const std::string peer = request.peer;
    sender_->asyncSend(std::move(request), [this, peer, lanes = std::move(lanes), ids = std::move(ids),
                                            types = std::move(types), sentAt = watch_.simulation_.now(),
                                            lane = std::move(lane), told = std::move(handler)](SendReport report) {
      watch_.ended(place_.process, lanes);
      watch_.reach_.ended(place_, peer, ids, report);
      watch_.answered(lane, ids, report);
      for (std::size_t index = 0; index < report.results.size() && index < ids.size(); ++index) {
        watch_.answeredOne(ids[index], report.results[index]);
        watch_.hub_.answered(peer, ids[index], sentAt, report.results[index]);
        watch_.attendance_.answered(place_.process, peer, ids[index], types[index], sentAt, report.results[index]);
      }
      told(std::move(report));
    });
  }
  void stop() override { sender_->stop(); }

private:
  Watch& watch_;
  const Place place_;
  const Clock& clock_;
  const std::shared_ptr<Sender> sender_;
};

std::shared_ptr<Sender> Watch::wrap(const Place& place, const Clock& clock, std::shared_ptr<Sender> sender) {
  return std::make_shared<WatchedSender>(*this, place, clock, std::move(sender));
}

void Watch::died(const std::string& process) {
  reach_.died(process);
  std::erase_if(lanes_, [&](const auto& entry) { return entry.second.process == process; });
}

void Watch::claimsLost(const std::string& process) {
  lostAt_[process] = simulation_.now();
  for (auto& [lane, underWay] : lanes_) {
    underWay.isAnybodys = underWay.isAnybodys || underWay.process == process;
  }
}

void Watch::halted(const std::string& agent, const std::string& peer, const std::string& session, std::uint64_t after) {
  holds_[laneOf(agent, peer, session)] = {simulation_.now(), after};
}

void Watch::released(const std::string& agent, const std::string& peer, const std::string& session) {
  holds_.erase(laneOf(agent, peer, session));
}

void Watch::releasedAll(const std::string& agent) {
  std::erase_if(holds_, [&](const auto& entry) { return entry.first.starts_with(agent + '\n'); });
}

void Watch::left(const Place& place, const Clock& clock, const SendRequest& request, std::vector<std::string>& lanes) {
  const auto lost = lostAt_.find(place.process);
  const UnderWay own{place.process, lost != lostAt_.end() && lost->second == simulation_.now()};
  std::uint64_t before = 0;
  for (const OutboundFrame& frame : request.frames) {
    std::string lane = laneOf(place.agent, request.peer, frame.session.empty() ? '#' + frame.messageId : frame.session);
    if (lanes.empty() || lanes.back() != lane) {
      const auto [other, isFree] = lanes_.try_emplace(lane, own);
      UnderWay& underWay = other->second;
      if (!isFree && underWay.isAnybodys && underWay.process != place.process) {
        underWay = own;
      } else if (!isFree) {
        ledger_.violated("P7", frame.messageId + " was sent by " + place.process + " while " + underWay.process +
                                   " had its session in flight");
      }
      lanes.push_back(std::move(lane));
    } else if (frame.sequence <= before) {
      ledger_.violated("P4", frame.messageId + " was sent behind a later one");
    }
    before = frame.sequence;
    judgeFrame(place.agent, clock, request.peer, frame);
  }
}

void Watch::judgeFrame(const std::string& agent, const Clock& clock, const std::string& peer,
                       const OutboundFrame& frame) {
  const WallTime wall = clock.wallNow();
  const Entry* const entry = ledger_.find(frame.messageId);
  // What its peer has deferred is asked for; the peer does not work on it any more.
  if (frame.expiresAt && *frame.expiresAt <= wall && (entry == nullptr || !entry->deferred)) {
    ledger_.violated("P3", frame.messageId + " was sent after it had expired");
  }
  if (const auto halt = holds_.find(laneOf(agent, peer, frame.session));
      halt != holds_.end() && simulation_.now() > halt->second.since && frame.sequence > halt->second.after) {
    ledger_.violated("P4", frame.messageId + " of " + agent + ", session " + frame.session +
                               ", was sent although its session is halted");
  }
  if (entry != nullptr && steadyCalendars_ && entry->notBefore && entry->redrives == 0 && wall < *entry->notBefore) {
    ledger_.violated("P4", frame.messageId + " was sent before its time");
  }
}

void Watch::ended(const std::string& process, const std::vector<std::string>& lanes) {
  for (const std::string& lane : lanes) {
    if (const auto known = lanes_.find(lane); known != lanes_.end() && known->second.process == process) {
      lanes_.erase(known);
    }
  }
}

void Watch::answeredOne(const std::string& id, const FrameResult& result) {
  if (Entry* const entry = ledger_.find(id)) {
    entry->deferrals += result.outcome == Outcome::defer && !result.duplicate ? 1U : 0U;
    entry->deferred = entry->deferred || result.outcome == Outcome::defer;
    if (result.outcome == Outcome::ack || result.outcome == Outcome::defer) {
      entry->answeredAt = simulation_.now();
    }
  }
}

void Watch::answered(const std::string& peer, const std::vector<std::string>& ids, const SendReport& report) {
  ++answers_;
  if (report.outcome == RequestOutcome::answered) {
    const bool isTaken = std::any_of(report.results.begin(), report.results.end(), [](const FrameResult& result) {
      return result.outcome == Outcome::ack || result.outcome == Outcome::defer;
    });
    takenAt_[peer] = isTaken ? answers_ : takenAt_[peer];
    return;
  }
  if (report.outcome != RequestOutcome::peerRefused && report.outcome != RequestOutcome::peerUnavailable) {
    return;
  }
  const bool isUnclear = report.isUnclear && !report.retryAfter;
  for (const std::string& id : ids) {
    std::uint64_t& refusedAt = refusedAt_[{peer, id}];
    const bool isItsOwn =
        (report.outcome == RequestOutcome::peerRefused || isUnclear) && ids.size() == 1 && refusedAt != 0;
    refusedForItself_[id] += isItsOwn && refusedAt < takenAt_[peer] ? 1U : 0U;
    refusedAt = answers_;
  }
}

std::uint32_t Watch::refusedForItself(const std::string& messageId) const {
  const auto known = refusedForItself_.find(messageId);
  return known == refusedForItself_.end() ? 0 : known->second;
}

}  // namespace ackbox::simulation
