#include "simulation/attendance.hpp"

#include <algorithm>

#include "base/pattern.hpp"
#include "simulation/application_types.hpp"
#include "simulation/common.hpp"
#include "store/application_lines.hpp"

namespace ackbox::simulation {
namespace {

// A process reads its knowledge again each second.
constexpr std::chrono::milliseconds kStale{1'001};

// Frames that wait for the same application have the same line: the type, or the mailbox.
std::string lineOf(const std::string& box) {
  return '@' + box;
}

}  // namespace

std::size_t Attendance::streams(const std::string& process, const std::string& line) const {
  return static_cast<std::size_t>(std::ranges::count_if(streams_, [&](const auto& stream) {
    return stream.second.process == process &&
           std::ranges::find(stream.second.lines, line) != stream.second.lines.end();
  }));
}

void Attendance::opened(const std::string& process, std::uint64_t consumer, const std::string& types, SteadyTime now,
                        const std::string& box) {
  Stream stream{process, {}};
  if (!box.empty()) {
    stream.lines.push_back(lineOf(box));
  } else {
    for (const std::string_view type : kApplicationTypes) {
      if (fitsPattern(types, type)) {
        stream.lines.emplace_back(type);
      }
    }
  }
  for (const std::string& line : stream.lines) {
    if (streams(process, line) == 0) {
      thereSince_[{process, line}] = now;
    }
  }
  streams_[consumer] = std::move(stream);
}

void Attendance::closed(std::uint64_t consumer) {
  const auto stream = streams_.extract(consumer);
  if (!stream) {
    return;
  }
  for (const std::string& line : stream.mapped().lines) {
    if (streams(stream.mapped().process, line) == 0) {
      thereSince_.erase({stream.mapped().process, line});
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

bool Attendance::mayBeAway(const std::string& process, const std::string& line, SteadyTime now) const {
  if (line == kPushed) {
    return refused_.contains(process);
  }
  const auto since = thereSince_.find(std::pair(process, line));
  return since == thereSince_.end() || now - since->second < kStale;
}

void Attendance::read(const Place& place, const std::vector<Application>* known, SteadyTime now) {
  // The store of a process that has died still completes its last requests.
  if (!simulation_.running(place.process)) {
    return;
  }
  for (const std::string_view type : kApplicationTypes) {
    const Application* const found = known == nullptr ? nullptr : store::applicationOf(*known, {}, type);
    readOne(place, std::string(type), found != nullptr && found->awaySince, now);
  }
  for (const auto& [box, keeper] : boxes_) {
    if (keeper == place.agent) {
      const Application* const found = known == nullptr ? nullptr : store::applicationOf(*known, Hub::uriOf(box), {});
      readOne(place, lineOf(box), found != nullptr && found->awaySince, now);
    }
  }
}

void Attendance::readOne(const Place& place, const std::string& line, bool isAway, SteadyTime now) {
  if (isAway && !mayBeAway(place.process, line, now)) {
    ledger_.violated(
        "P13", place.process + " says that the application for " + line + " is away, and it was there all the time");
  }
  // Only the agent's first process answers.
  if (place.process == place.agent) {
    Known& last = known_[{place.agent, line}];
    (isAway ? last.away : last.there) = simulation_.now();
  }
}

void Attendance::answered(const std::string& process, const std::string& peer, const std::string& messageId,
                          const std::string& type, std::chrono::nanoseconds sentAt, const FrameResult& result) {
  if (result.unattended) {
    stated_.insert({process, messageId});
  } else {
    stated_.erase({process, messageId});
  }
  const auto box = boxes_.find(peer);
  const auto found = known_.find(box == boxes_.end() ? std::pair(peer, type) : std::pair(box->second, lineOf(peer)));
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
