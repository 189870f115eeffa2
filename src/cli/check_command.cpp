// `check`: whether an outbox is healthy, for a monitoring system.

#include <algorithm>
#include <chrono>

#include "ackbox/error.hpp"
#include "cli/commands.hpp"
#include "cli/live_rows.hpp"
#include "cli/monitoring.hpp"
#include "cli/open.hpp"
#include "location/location.hpp"
#include "records/text.hpp"
#include "records/unattended.hpp"

namespace ackbox::cli {
namespace {

// A note about the file's past is a warning for this long, or until the note is dropped.
constexpr std::chrono::days kNoteWarns{7};

/// One figure, and its problem if it has one.
struct Figure {
  const char* name;
  const char* jsonName;
  std::uint64_t value = 0;
  Threshold threshold;
  /// The unit in the performance data; empty for a count.
  const char* unit;
  /// The figure is wrong below the threshold, not above it.
  bool isFloor = false;
  /// The problem, for people. Empty if another figure reports it.
  std::string text;
};

/// The figures of an outbox, and its health according to them.
class Checkup {
public:
  Checkup(const World& world, const Arguments& arguments) : arguments_(arguments) {
    const OutboxReader reader = openToRead(world, arguments);
    stats_ = reader.getStats();
    for (const PeerStatus& peer : reader.peers()) {
      if (peer.state == PeerState::down) {
        down_.push_back(describe(peer));
      }
      if (peer.state == PeerState::held || peer.state == PeerState::disabled) {
        stopped_.push_back(describe(peer));
      }
    }
    readUnattended(reader, world.clock->wallNow());
    readSilent(reader, world.clock->wallNow());
    const InboxPage inbox = reader.inbox({}, 1);
    if (!inbox.frames.empty()) {
      oldestFrame_ =
          std::max(std::chrono::milliseconds(0), std::chrono::duration_cast<std::chrono::milliseconds>(
                                                     world.clock->wallNow() - inbox.frames.front().acceptedAt));
    }
    processes_ = reader.processIds().size();
    disk_ = diskOf(world, arguments.file).freeBytes;
    damage_ = rowDamage(reader);
    const FileInfo info = reader.fileInfo();
    if (!info.notDurable.empty()) {
      notes_.push_back(info.notDurable);
    }
    for (const FileNote& note : info.notes) {
      if (world.clock->wallNow() - note.at < kNoteWarns) {
        notes_.push_back(note.event + " at " + records::instantText(note.at) +
                         " (ackbox doctor has more; ackbox repair ends it)");
      }
    }
    makeFigures();
  }

  [[nodiscard]] Health health() const {
    Health worst = !damage_.empty() ? Health::critical : notes_.empty() ? Health::ok : Health::warning;
    for (const Figure& figure : figures_) {
      worst = std::max(worst, healthOf(figure));
    }
    return worst;
  }

  /// The problems, the worst first; empty if the outbox is healthy.
  [[nodiscard]] std::vector<std::string> problems() const {
    std::vector<std::string> texts;
    if (!damage_.empty()) {
      texts.push_back("stored messages cannot be read (" + damage_ + "); " + damageAdvice(arguments_.file));
    }
    for (const Health health : {Health::critical, Health::warning}) {
      for (const Figure& figure : figures_) {
        if (healthOf(figure) == health && !figure.text.empty()) {
          texts.push_back(figure.text);
        }
      }
    }
    texts.insert(texts.end(), notes_.begin(), notes_.end());
    return texts;
  }

  [[nodiscard]] std::string summary() const {
    return std::to_string(undelivered()) + " undelivered" +
           (oldest() == std::chrono::milliseconds(0) ? std::string() : ", oldest " + records::durationText(oldest())) +
           ", " + records::countText(stats_.failed, "dead letter") + ", " +
           (stats_.inbox == 0 ? std::string() : records::countText(stats_.inbox, "deferred frame") + " waiting, ") +
           (unattended_.empty() ? std::string() : unattended_ + ", ") + records::countText(peersAway(), "peer") +
           " away, " + std::to_string(processes_) + (processes_ == 1 ? " process" : " processes");
  }

  /// `label=value[unit];warning;critical;minimum`, the format of the Monitoring Plugins.
  [[nodiscard]] std::string performance() const {
    std::string text;
    for (const Figure& figure : figures_) {
      const bool isTime = std::string_view(figure.unit) == "s";
      const auto number = [&](const std::optional<std::uint64_t>& value) {
        const std::string digits = value ? std::to_string(isTime ? *value / 1'000 : *value) : std::string();
        return digits.empty() || !figure.isFloor ? digits : digits + ":";
      };
      text += (text.empty() ? "" : " ") + std::string(figure.name) + "=" +
              std::to_string(isTime ? figure.value / 1'000 : figure.value) + figure.unit + ";" +
              number(figure.threshold.warning) + ";" + number(figure.threshold.critical) + ";0";
    }
    return text;
  }

  [[nodiscard]] json::Line json() const {
    json::Line line;
    line.add("state", nameOf(health())).add("exit_code", static_cast<int>(health()));
    line.raw("problems", json::list(problems()));
    for (const Figure& figure : figures_) {
      line.add(figure.jsonName, figure.value);
    }
    return line.add("processes", processes_);
  }

private:
  static std::string describe(const PeerStatus& peer) {
    constexpr std::size_t kCauseWidth = 80;
    return peer.name + " " + std::string(toString(peer.state)) +
           (peer.lastError.empty() ? std::string() : " (" + records::shortened(peer.lastError, kCauseWidth) + ")");
  }
  static std::string listed(const std::vector<std::string>& texts) {
    std::string list;
    for (const std::string& text : texts) {
      list += (list.empty() ? "" : ", ") + text;
    }
    return list;
  }
  static Health healthOf(const Figure& figure) {
    const auto isBeyond = [&](const std::optional<std::uint64_t>& border) {
      return border && (figure.isFloor ? figure.value < *border : figure.value >= *border);
    };
    return isBeyond(figure.threshold.critical)  ? Health::critical
           : isBeyond(figure.threshold.warning) ? Health::warning
                                                : Health::ok;
  }

  /// Reads what waits for an application, here and at peers. The wait is at most the age of the oldest of its kind.
  void readUnattended(const OutboxReader& reader, WallTime now) {
    const auto add = [&](const std::string& text, WallTime since, std::optional<WallTime> oldest) {
      unattended_ += (unattended_.empty() ? "" : ", ") + text;
      const WallTime waitsSince = std::max(since, oldest.value_or(since));
      unattendedFor_ =
          std::max(unattendedFor_, std::chrono::duration_cast<std::chrono::milliseconds>(now - waitsSince));
    };
    if (const UnattendedFrames frames = reader.unattendedFrames(); frames.since) {
      add(records::unattendedText(frames, now), *frames.since, frames.oldestAt);
    }
    for (const PeerStats& peer : reader.peerStats()) {
      if (peer.unattendedSince) {
        add(records::unattendedText(peer, now), *peer.unattendedSince, stats_.oldestPendingAt);
      }
    }
  }

  /// Reads the applications that have frames in hand and settle none.
  void readSilent(const OutboxReader& reader, WallTime now) {
    std::vector<std::string> texts;
    for (const Application& application : reader.applications()) {
      if (application.silent) {
        texts.push_back(records::silentText(*application.silent, now));
        silentFor_ = std::max(silentFor_,
                              std::chrono::duration_cast<std::chrono::milliseconds>(now - application.silent->since));
      }
    }
    silent_ = listed(texts);
  }

  [[nodiscard]] std::uint64_t undelivered() const { return stats_.pending + stats_.sending + stats_.sent; }
  [[nodiscard]] std::chrono::milliseconds oldest() const {
    return std::max(std::chrono::milliseconds(0), stats_.oldestPendingAge.value_or(std::chrono::milliseconds(0)));
  }

  [[nodiscard]] std::size_t peersAway() const { return down_.size() + stopped_.size(); }

  void makeFigures() {
    const Figure stopped{"peers_stopped",
                         "peers_stopped",
                         stopped_.size(),
                         arguments_.peersStopped,
                         "",
                         false,
                         "peers that wait for a person: " + listed(stopped_)};
    // Names each peer once.
    std::vector<std::string> away = down_;
    if (healthOf(stopped) == Health::ok) {
      away.insert(away.end(), stopped_.begin(), stopped_.end());
    }
    figures_ = {
        {"oldest_age", "oldest_age_ms", static_cast<std::uint64_t>(oldest().count()), arguments_.oldestAge, "s", false,
         "the oldest undelivered message waits for " + records::durationText(oldest())},
        {"pending", "pending", undelivered(), arguments_.pendingCount, "", false,
         records::countText(undelivered(), "message") + " undelivered"},
        {"pending_bytes", "pending_bytes", stats_.pendingBytes, arguments_.pendingBytes, "B", false,
         records::bytesText(stats_.pendingBytes) + " undelivered"},
        {"failed", "failed", stats_.failed, arguments_.deadLetters, "", false,
         records::countText(stats_.failed, "dead letter")},
        {"peers_away", "peers_away", peersAway(), arguments_.peersAway, "", false,
         away.empty() ? std::string() : "peers away: " + listed(away)},
        stopped,
        {"unserved", "unserved", processes_ == 0 ? undelivered() : 0, arguments_.unservedCount, "", false,
         "no process has the outbox open to deliver " + records::countText(undelivered(), "message")},
        {"inbox", "inbox", stats_.inbox, arguments_.inboxCount, "", false,
         records::countText(stats_.inbox, "deferred frame") + " waiting"},
        {"inbox_age", "inbox_age_ms", static_cast<std::uint64_t>(oldestFrame_.count()), arguments_.inboxAge, "s", false,
         "the oldest deferred frame waits for " + records::durationText(oldestFrame_)},
        {"unattended_age", "unattended_age_ms", static_cast<std::uint64_t>(unattendedFor_.count()),
         arguments_.unattendedAge, "s", false, unattended_},
        {"silent_age", "silent_age_ms", static_cast<std::uint64_t>(silentFor_.count()), arguments_.silentAge, "s",
         false, silent_},
        {"free_disk", "free_disk_bytes", disk_, arguments_.freeDisk, "B", true,
         records::bytesText(disk_) + " free on the disk"},
        {"log", "wal_bytes", stats_.walBytes, arguments_.logBytes, "B", false,
         "the log has " + records::bytesText(stats_.walBytes)},
    };
    if (location::isUrl(arguments_.file)) {
      // The disk is another host's.
      std::erase_if(figures_,
                    [](const Figure& figure) { return std::string_view(figure.unit) == "B" && figure.isFloor; });
    }
  }

  const Arguments& arguments_;
  Stats stats_;
  std::vector<std::string> down_;
  // Peers that are held or disabled.
  std::vector<std::string> stopped_;
  std::chrono::milliseconds oldestFrame_{};
  std::chrono::milliseconds unattendedFor_{};
  // Empty if nothing waits for an application.
  std::string unattended_;
  std::chrono::milliseconds silentFor_{};
  // Empty if each application that has frames settles some.
  std::string silent_;
  std::size_t processes_ = 0;
  std::uint64_t disk_ = 0;
  // Empty if no damage was found.
  std::string damage_;
  // Notes about the file's past, while they warn.
  std::vector<std::string> notes_;
  std::vector<Figure> figures_;
};

}  // namespace

int check(Console& console, const Arguments& arguments) {
  const Checkup checkup(console.world(), arguments);
  const Health health = checkup.health();
  if (console.json()) {
    console.line(checkup.json());
    return static_cast<int>(health);
  }
  std::string text;
  for (const std::string& problem : checkup.problems()) {
    text += (text.empty() ? "" : ", ") + problem;
  }
  console.say(monitoringLine(health, text.empty() ? checkup.summary() : text, checkup.performance()));
  return static_cast<int>(health);
}

}  // namespace ackbox::cli
