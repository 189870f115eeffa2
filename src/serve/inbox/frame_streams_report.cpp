// The reports of `FrameStreams` about applications: which are away, and which settle nothing.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "serve/inbox/common_pattern.hpp"
#include "serve/inbox/frame_streams.hpp"
#include "serve/report.hpp"

namespace ackbox::serve {
namespace {

// An application may take this long for a frame.
constexpr std::chrono::minutes kSilence{5};
constexpr std::size_t kUnattendedTypesMax = 64;
constexpr const char* kNoApplication = "a stream for its type to be opened";

}  // namespace

void FrameStreams::addApplications(std::vector<Application>& applications) const {
  const auto isOpen = [this](std::string_view types) {
    return std::ranges::any_of(streams_, [&](const auto& one) {
      return one.second.wish.mailbox.empty() && commonPattern(one.second.wish.types, types);
    });
  };
  for (std::string& type : demand_->unwantedTypes(kUnattendedTypesMax)) {
    if (!isOpen(type)) {
      const WallTime last = lastThereAt(type);
      applications.push_back({std::move(type), last, kNoApplication});
    }
  }
  const std::size_t first = applications.size();
  for (const std::string& types : frames_.types) {
    Application& application = applications.emplace_back();
    application.types = types;
    if (!isOpen(types)) {
      application.awaySince = lastThereAt(types);
      application.cause = kNoApplication;
    }
  }
  for (const auto& one : streams_) {
    const Stream& stream = one.second;
    if (!stream.wish.mailbox.empty()) {
      continue;
    }
    const auto own = std::find_if(
        applications.begin() + static_cast<std::ptrdiff_t>(first), applications.end(),
        [&](const Application& known) { return commonPattern(known.types, stream.wish.types).has_value(); });
    std::optional<SilentConsumer> silent = silentOf(stream);
    if (silent && own != applications.end() && (!own->silent || silent->since < own->silent->since)) {
      own->silent = std::move(silent);
    }
  }
  addMailboxes(applications);
}

void FrameStreams::addMailboxes(std::vector<Application>& applications) const {
  if (frames_.mailboxes.empty()) {
    return;
  }
  std::map<std::string, Application> known;
  known["*"] = {"*", forgottenAt_, kNotFetched, std::nullopt, "*"};
  for (const auto& [mailbox, at] : mailEndedAt_) {
    known[mailbox] = {"*", at, kNotFetched, std::nullopt, mailbox};
  }
  for (const auto& [number, stream] : streams_) {
    if (!stream.wish.mailbox.empty()) {
      Application& application = known[stream.wish.mailbox];
      const std::optional<SilentConsumer> other = application.silent;
      application = {"*", std::nullopt, {}, silentOf(stream), stream.wish.mailbox};
      if (other && (!application.silent || other->since < application.silent->since)) {
        application.silent = other;
      }
    }
  }
  for (auto& [mailbox, application] : known) {
    applications.push_back(std::move(application));
  }
}

WallTime FrameStreams::lastThereAt(std::string_view types) const {
  WallTime last = beganAt_;
  for (const auto& [ended, at] : endedAt_) {
    last = commonPattern(ended, types) ? std::max(last, at) : last;
  }
  return last;
}

std::string FrameStreams::nameOf(const Stream& stream) {
  return (stream.wish.sharer.empty() ? "a stream" : "the stream of " + stream.wish.sharer) +
         (stream.wish.mailbox.empty() ? " for types " + stream.wish.types : " for mailbox " + stream.wish.mailbox);
}

std::optional<SilentConsumer> FrameStreams::silentOf(const Stream& stream) {
  if (!stream.silentSince || stream.unsettled.empty()) {
    return std::nullopt;
  }
  return SilentConsumer{nameOf(stream), stream.unsettled.size(), *stream.silentSince};
}

void FrameStreams::noteProgress(Stream& stream) {
  stream.progressAt = clock_->steadyNow();
  stream.silentSince.reset();
}

void FrameStreams::noteSilent(SteadyTime now) {
  for (auto& [number, stream] : streams_) {
    if (stream.silentSince || stream.unsettled.empty() || now - stream.progressAt < kSilence) {
      continue;
    }
    const auto time = now - stream.progressAt;
    stream.silentSince = clock_->wallNow() - std::chrono::duration_cast<std::chrono::milliseconds>(time);
    if (!log_) {
      continue;
    }
    const std::string name = nameOf(stream);
    const std::string frames = std::to_string(stream.unsettled.size());
    const std::string seconds = std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time).count());
    const std::array<LogField, 3> fields = {LogField{"application", name}, LogField{"frames", frames},
                                            LogField{"silent_s", seconds}};
    report(log_, *clock_, LogLevel::warning, "application-silent",
           "an application has frames in hand and settles none of them; they run until it does, or its stream ends",
           fields);
  }
}

}  // namespace ackbox::serve
