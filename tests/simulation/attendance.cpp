#include "simulation/attendance.hpp"

#include <algorithm>

#include "base/pattern.hpp"
#include "simulation/application_types.hpp"
#include "simulation/common.hpp"

namespace ackbox::simulation {
namespace {

// A process reads its knowledge again each second.
constexpr std::chrono::milliseconds kStale{1'001};

}  // namespace

std::size_t Attendance::streams(const std::string& process, std::string_view type) const {
  return static_cast<std::size_t>(std::ranges::count_if(streams_, [&](const auto& stream) {
    return stream.second.process == process && fitsPattern(stream.second.types, type);
  }));
}

void Attendance::opened(const std::string& process, std::uint64_t consumer, const std::string& types, SteadyTime now) {
  for (const std::string_view type : kApplicationTypes) {
    if (fitsPattern(types, type) && streams(process, type) == 0) {
      thereSince_[{process, std::string(type)}] = now;
    }
  }
  streams_[consumer] = {process, types};
}

void Attendance::closed(std::uint64_t consumer) {
  const auto stream = streams_.extract(consumer);
  if (!stream) {
    return;
  }
  for (const std::string_view type : kApplicationTypes) {
    if (streams(stream.mapped().process, type) == 0) {
      thereSince_.erase({stream.mapped().process, std::string(type)});
    }
  }
}

void Attendance::refused(const std::string& process) {
  refused_.insert(process);
}

void Attendance::died(const std::string& process) {
  std::erase_if(streams_, [&](const auto& stream) { return stream.second.process == process; });
  std::erase_if(thereSince_, [&](const auto& since) { return since.first.first == process; });
  refused_.erase(process);
}

bool Attendance::mayBeAway(const std::string& process, std::string_view type, SteadyTime now) const {
  if (type == kPushed) {
    return refused_.contains(process);
  }
  const auto since = thereSince_.find(std::pair(process, std::string(type)));
  return since == thereSince_.end() || now - since->second < kStale;
}

void Attendance::read(const Place& place, const std::vector<Application>* known, SteadyTime now) {
  // The store of a process that has died still completes its last requests.
  if (!simulation_.running(place.process)) {
    return;
  }
  for (const std::string_view type : kApplicationTypes) {
    bool isAway = false;
    if (known != nullptr) {
      const auto found =
          std::ranges::find_if(*known, [&](const Application& one) { return fitsPattern(one.types, type); });
      isAway = found != known->end() && found->awaySince;
    }
    if (isAway && !mayBeAway(place.process, type, now)) {
      ledger_.violated("P13", place.process + " says that the application for " + std::string(type) +
                                  " is away, and it was there all the time");
    }
    // Only the agent's first process answers.
    if (place.process == place.agent) {
      Known& last = known_[{place.agent, std::string(type)}];
      (isAway ? last.away : last.there) = simulation_.now();
    }
  }
}

void Attendance::answered(const std::string& process, const std::string& peer, const std::string& messageId,
                          const std::string& type, std::chrono::nanoseconds sentAt, const FrameResult& result) {
  if (result.unattended) {
    stated_.insert({process, messageId});
  } else {
    stated_.erase({process, messageId});
  }
  const auto found = known_.find({peer, type});
  const Known last = found == known_.end() ? Known{} : found->second;
  if (result.unattended && last.away < sentAt) {
    ledger_.violated("P13", messageId + " is answered as if no application were there, and its receiver knew of one");
  }
  if (!result.unattended && result.outcome == Outcome::defer && last.there < sentAt && last.away >= sentAt) {
    ledger_.violated("P13", messageId + " is deferred without a word of its application, which is away");
  }
  if (result.unattended) {
    reach_.saw(Situation::unattendedStated);
  }
}

void Attendance::stated(const std::string& process, const std::string& messageId) {
  if (!stated_.contains({process, messageId})) {
    ledger_.violated("P13", messageId + " is said to have no application at its peer, which has not said so");
  }
}

}  // namespace ackbox::simulation
