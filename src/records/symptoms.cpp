#include "records/symptoms.hpp"

#include <chrono>

#include "records/text.hpp"

namespace ackbox::records {
namespace {

// Ignores a clock that an NTP client has just set back.
constexpr std::chrono::minutes kClockTolerance{5};
constexpr std::uint64_t kLongLogBytes = 256ULL << 20;

void addTables(std::vector<Symptom>& symptoms, const Contents& contents, const std::string& file) {
  const FileInfo& info = contents.info;
  symptoms.push_back({"tables",
                      Weight::ok,
                      "version " + std::to_string(info.schemaVersion) + ", made by ackbox " + info.writtenBy +
                          ", opened " + countText(info.epoch, "time"),
                      {}});
  if (contents.stats.recounts != 0) {
    symptoms.push_back({"tables", Weight::note,
                        "the gauges were counted anew " + countText(contents.stats.recounts, "time"),
                        "no program may change rows by SQL; ackbox verify " + file + " checks them"});
  }
}

void addNotes(std::vector<Symptom>& symptoms, const std::vector<FileNote>& notes, const std::string& file) {
  for (const FileNote& note : notes) {
    const std::string times = note.times > 1 ? ", " + countText(note.times, "time") + " by now" : std::string();
    symptoms.push_back({"history", Weight::warning, instantText(note.at) + times + ": " + note.event + ": " + note.text,
                        "when it is dealt with: ackbox repair " + file + ", after which it is not shown any more"});
  }
}

/// What to do about a peer in this state, up to the command that asks it again; empty if nothing is to be done.
std::string_view adviceOn(PeerState state) {
  switch (state) {
    case PeerState::down:
      return "its messages wait, and are charged nothing: look at its address, its process and the network; it is "
             "asked again by itself, and at once by ";
    case PeerState::held:
      return "it refuses this agent as a whole, and its messages wait: correct the cause; it is asked again by itself, "
             "and at once by ";
    case PeerState::disabled:
      return "it is not asked again by itself: correct the cause, then ";
    case PeerState::paused:
      return "its messages wait until ";
    case PeerState::up:
      break;
  }
  return {};
}

void addPeers(std::vector<Symptom>& symptoms, const std::vector<PeerStatus>& peers, const std::string& file) {
  bool isAny = false;
  for (const PeerStatus& peer : peers) {
    const std::string_view advice = adviceOn(peer.state);
    if (!advice.empty()) {
      isAny = true;
      const std::string since = peer.since == WallTime{} ? std::string() : " since " + instantText(peer.since);
      symptoms.push_back({"peers", Weight::warning,
                          peer.name + " is " + std::string(toString(peer.state)) + since +
                              (peer.lastError.empty() ? std::string() : ": " + peer.lastError),
                          std::string(advice) + "ackbox resume " + file + " " + peer.name});
    }
  }
  if (!isAny) {
    symptoms.push_back(
        {"peers", Weight::ok, countText(peers.size(), "peer") + ", none down, held, disabled or paused", {}});
  }
}

void addSqlite(std::vector<Symptom>& symptoms, const FileInfo& info) {
  if (!info.logNotBatched.empty()) {
    symptoms.push_back({"sqlite", Weight::note, info.sqliteVersion + " writes the log by itself: " + info.logNotBatched,
                        "nothing has to be done: commits take longer (docs/batched_log.md)"});
  } else {
    symptoms.push_back(
        {"sqlite", Weight::ok, info.sqliteVersion + "; the log is written in batches, and their checks hold", {}});
  }
  if (info.hasCheckpointDefect) {
    symptoms.push_back({"sqlite", Weight::note,
                        info.sqliteVersion + " is older than 3.51.3: its automatic checkpoints may damage a file",
                        "ackbox makes none; other programs on this file say PRAGMA wal_autocheckpoint=0"});
  }
}

void addServer(std::vector<Symptom>& symptoms, const FileInfo& info) {
  const std::size_t remedy = info.notDurable.find("; ");
  if (info.notDurable.empty()) {
    symptoms.push_back({"server", Weight::ok, "PostgreSQL " + info.serverVersion, {}});
  } else {
    symptoms.push_back({"server", Weight::warning,
                        "PostgreSQL " + info.serverVersion + ": " + info.notDurable.substr(0, remedy),
                        remedy == std::string::npos ? std::string() : info.notDurable.substr(remedy + 2)});
  }
}

void addClock(std::vector<Symptom>& symptoms, const FileInfo& info, WallTime now) {
  if (info.newestAt && *info.newestAt > now + kClockTolerance) {
    symptoms.push_back(
        {"clock", Weight::problem, "the file knows an instant that comes " + agoText(now, *info.newestAt),
         "set the clock (chronyc tracking, timedatectl): signatures are refused at 5 minutes' difference"});
  } else {
    symptoms.push_back({"clock", Weight::ok, instantText(now), {}});
  }
}

}  // namespace

std::string_view nameOf(Weight weight) noexcept {
  switch (weight) {
    case Weight::ok:
      return "ok";
    case Weight::note:
      return "note";
    case Weight::warning:
      return "warning";
    case Weight::problem:
      break;
  }
  return "problem";
}

std::vector<Symptom> symptomsOf(const Contents& contents, const std::string& file) {
  std::vector<Symptom> symptoms;
  addTables(symptoms, contents, file);
  addNotes(symptoms, contents.info.notes, file);
  addPeers(symptoms, contents.peers, file);
  if (contents.info.serverVersion.empty()) {
    addSqlite(symptoms, contents.info);
  } else {
    addServer(symptoms, contents.info);
  }
  addClock(symptoms, contents.info, contents.now);
  return symptoms;
}

Symptom logSymptom(std::uint64_t bytes) {
  if (bytes > kLongLogBytes) {
    return {"log", Weight::warning, bytesText(bytes),
            "end the reader that keeps it from being folded in, such as a long SELECT of another program"};
  }
  return {"log", Weight::ok, bytes == 0 ? "empty" : bytesText(bytes), {}};
}

}  // namespace ackbox::records
