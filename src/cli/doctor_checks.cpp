#include "cli/doctor_checks.hpp"

#include <linux/magic.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <optional>

#include "ackbox/error.hpp"
#include "ackbox/outbox_reader.hpp"
#include "ackbox/tls.hpp"
#include "cli/file_steps.hpp"
#include "cli/file_users.hpp"
#include "cli/live_rows.hpp"
#include "cli/open.hpp"
#include "records/text.hpp"
#include "sqlite/file_names.hpp"

namespace ackbox::cli {
namespace {

namespace fs = std::filesystem;
using records::Symptom;
using records::Weight;

constexpr std::uint64_t kScarceDiskBytes = 200ULL << 20;

struct NetworkDisk {
  std::uint64_t kind;
  const char* name;
};
constexpr std::uint64_t kCifs = 0xff534d42;
constexpr std::array kNetworkDisks = std::to_array<NetworkDisk>({{NFS_SUPER_MAGIC, "NFS"},
                                                                 {SMB_SUPER_MAGIC, "SMB"},
                                                                 {SMB2_SUPER_MAGIC, "SMB"},
                                                                 {kCifs, "SMB"},
                                                                 {V9FS_MAGIC, "9p"},
                                                                 {CEPH_SUPER_MAGIC, "Ceph"},
                                                                 {AFS_SUPER_MAGIC, "AFS"}});

std::string modeText(mode_t mode) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "%04o", static_cast<unsigned>(mode & 07777U));
  return text.data();
}

/// Collects the findings about one file.
class Examination {
public:
  Examination(const World& world, const Arguments& arguments)
      : world_(world), arguments_(arguments), file_(arguments.file), text_(file_.string()) {}

  std::vector<Symptom> run() {
    lookAtFile();
    if (!isFile_) {
      return std::move(symptoms_);
    }
    lookAtDisk();
    lookAtPermissions();
    // Comes before `open`, because this process then has the file open itself.
    users_ = usersOf(file_, sidecarOf(file_, arguments_.prefix));
    open();
    lookAtLog();
    lookAtOwnersFile();
    if (reader_) {
      lookAtProcesses();
      lookAtMessages();
      for (Symptom& symptom : records::symptomsOf({info_, stats_, reader_->peers(), world_.clock->wallNow()}, text_)) {
        symptoms_.push_back(std::move(symptom));
      }
    }
    for (const fs::path& certificate : arguments_.certificates) {
      lookAtCertificate(certificate);
    }
    return std::move(symptoms_);
  }

private:
  void add(const char* about, Weight weight, std::string text, std::string advice = {}) {
    symptoms_.push_back({about, weight, std::move(text), std::move(advice)});
  }

  static std::optional<struct stat> statOf(const fs::path& path) {
    struct stat found {};
    return lstat(path.c_str(), &found) == 0 ? std::optional(found) : std::nullopt;
  }

  void lookAtFile() {
    const bool isLink = fs::is_symlink(fs::symlink_status(file_));
    struct stat found {};
    if (stat(file_.c_str(), &found) != 0) {
      return;
    }
    if (!S_ISREG(found.st_mode)) {
      add("file", Weight::problem, text_ + " is no regular file", "name the outbox's file");
      isFile_ = false;
    } else if (found.st_nlink > 1) {
      add("file", Weight::problem, text_ + " has " + std::to_string(found.st_nlink) + " names (hard links)",
          "delete the others: a process that opens it by another name does not see this one's log");
    } else if (!interruptedRestoreOf(file_).empty()) {
      add("file", Weight::warning,
          text_ + " leads to " + interruptedRestoreOf(file_).string() +
              ": a restore was interrupted, and the file from before is in use",
          "restore again: ackbox restore BACKUP " + text_);
    } else if (isLink) {
      add("file", Weight::ok, text_ + " leads to " + fs::weakly_canonical(file_).string());
    } else {
      add("file", Weight::ok, text_ + " is a regular file with one name");
    }
  }

  void lookAtDisk() {
    const Disk disk = diskOf(world_, file_);
    const std::string free = records::bytesText(disk.freeBytes) + " free";
    for (const NetworkDisk& network : kNetworkDisks) {
      if (disk.kind == network.kind) {
        add("disk", Weight::problem, std::string("the file is on a network file system (") + network.name + ")",
            "move it to a local disk: SQLite's log needs memory that all its processes share, and locks that hold");
        return;
      }
    }
    if (disk.kind == TMPFS_MAGIC || disk.kind == RAMFS_MAGIC) {
      add("disk", Weight::warning, "the file is in memory (tmpfs); " + free,
          "move it to a disk: a restart of the machine or the container loses what is pending");
    } else if (disk.freeBytes < kScarceDiskBytes) {
      add("disk", Weight::warning, free,
          "make room: with a full disk enqueues fail with diskFull, and delivery pauses; nothing is lost");
    } else {
      add("disk", Weight::ok, free);
    }
  }

  void lookAtPermissions() {
    struct stat found {};
    if (stat(file_.c_str(), &found) != 0) {
      return;
    }
    const std::string mode = "mode " + modeText(found.st_mode);
    const fs::path folder = fs::absolute(file_).parent_path();
    if ((found.st_mode & (S_IROTH | S_IWOTH)) != 0) {
      add("permissions", Weight::warning, mode + ": everybody on this machine may read it",
          "chmod o= " + text_ + ": the messages are private");
    } else {
      add("permissions", Weight::ok, mode);
    }
    if (access(file_.c_str(), W_OK) != 0) {
      add("permissions", Weight::note, "this user may read the file, and not change it",
          "run the commands that change it as the agent's user (uid " + std::to_string(found.st_uid) + ")");
    } else if (access(folder.c_str(), W_OK) != 0) {
      add("permissions", Weight::problem, folder.string() + " may not be written by this user",
          "let the agent's user write the folder: SQLite makes the log there");
    } else if (geteuid() == 0 && found.st_uid != 0) {
      add("permissions", Weight::note,
          "this is root, the file is another user's (uid " + std::to_string(found.st_uid) + ")",
          "run the commands that change it as that user, so that no file beside it becomes root's");
    }
  }

  void open() {
    try {
      reader_.emplace(openToRead(world_, arguments_));
      info_ = reader_->fileInfo();
      stats_ = reader_->getStats();
    } catch (const Error& error) {
      reader_.reset();
      add("tables", Weight::problem,
          error.code() == Errc::schemaMissing ? "no outbox with the prefix " + arguments_.prefix + " is in this file"
                                              : std::string(error.what()),
          adviceFor(error.code()));
    }
  }

  static std::string adviceFor(const std::error_code& code) {
    if (code == Errc::schemaMissing) {
      return "name the prefix of its tables (--prefix), or another file";
    }
    if (code == Errc::notADatabase) {
      return "name the outbox's file; if this is it, something wrote over it: restore a backup (ackbox restore)";
    }
    if (code == Errc::databaseCorrupt) {
      return "stop the agents, keep a copy of the file with its log, and restore a backup (ackbox restore); "
             "docs/restore.md";
    }
    if (code == Errc::schemaTooNew) {
      return "use the tool of that release, or a newer one";
    }
    if (code == Errc::schemaOutdated) {
      return "end what has the file open, and run ackbox migrate on it";
    }
    if (code == Errc::schemaTooOld) {
      return "export it with the build that made it, and enqueue that into a new file";
    }
    return code == Errc::databaseBusy ? "look again, with a longer --busy-timeout" : "see the message";
  }

  void lookAtLog() {
    const std::optional<struct stat> log = statOf(text_ + sqlite::kLogEnding);
    if (statOf(text_ + sqlite::kJournalEnding)) {
      add("log", Weight::note, text_ + "-journal is there: another program has not ended a transaction",
          "leave it; the next opening undoes that transaction");
    }
    const auto bytes = log ? static_cast<std::uint64_t>(log->st_size) : 0;
    Symptom symptom = records::logSymptom(bytes);
    if (symptom.weight == Weight::ok && bytes != 0 && !users_.any()) {
      symptom.weight = Weight::note;
      symptom.text += ", left by a process that was killed, or had no room to fold it in";
      symptom.advice = "never delete it: it holds commits; the next start folds it in";
    }
    symptoms_.push_back(std::move(symptom));
  }

  void lookAtOwnersFile() {
    const fs::path sidecar = info_.ownersFile.empty() ? sidecarOf(file_, arguments_.prefix) : info_.ownersFile;
    const std::string name = sidecar.string();
    const std::optional<struct stat> found = statOf(sidecar);
    struct stat file {};
    if (!found) {
      add("owners file", Weight::ok, "none; the next start makes it");
    } else if (!S_ISREG(found->st_mode)) {
      add("owners file", Weight::problem, name + " is no regular file", "stop the agents and delete it");
    } else if (stat(file_.c_str(), &file) == 0 && (found->st_uid != file.st_uid || found->st_gid != file.st_gid)) {
      add("owners file", Weight::problem,
          name + " belongs to another user than the file (uid " + std::to_string(found->st_uid) + ")",
          "chown --reference=" + text_ + " " + name);
    } else {
      add("owners file", Weight::ok, name + ": it holds kernel locks, and no data");
    }
  }

  void lookAtProcesses() {
    const std::vector<std::int64_t> owners = reader_->processIds();
    if (owners.empty() && stats_.pending != 0) {
      add("processes", Weight::warning,
          "no agent has the outbox open; " + records::countText(stats_.pending, "message") + " pending",
          "start the agent");
    } else {
      add("processes", Weight::ok,
          owners.empty() ? "no agent has the outbox open" : "agents: " + records::listed(owners));
    }
    if (users_.processes.size() > owners.size()) {
      add("processes", Weight::note, "it is open in " + users_.text(),
          "programs that are no agents and write it take the write lock from the agents");
    }
  }

  void lookAtMessages() {
    if (const std::string damage = rowDamage(*reader_); !damage.empty()) {
      add("messages", Weight::problem, "stored messages cannot be read, and some may not be delivered: " + damage,
          damageAdvice(file_));
    }
  }

  void lookAtCertificate(const fs::path& path) {
    const std::optional<WallTime> ends = certificateEnds(path);
    if (!ends) {
      add("certificate", Weight::problem, path.string() + ": no certificate in PEM can be read",
          "name a file with a certificate in PEM that this user may read");
      return;
    }
    const WallTime now = world_.clock->wallNow();
    const std::string text = path.string() + " ends " + records::instantText(*ends);
    if (*ends <= now) {
      add("certificate", Weight::problem, path.string() + " ended " + records::agoText(now, *ends),
          "put a new one in its place, with its key");
    } else if (*ends - now < kCertificateNotice) {
      add("certificate", Weight::warning, text + ", " + records::agoText(now, *ends), "renew it");
    } else {
      add("certificate", Weight::ok, text);
    }
  }

  const World& world_;
  const Arguments& arguments_;
  const fs::path& file_;
  const std::string text_;
  bool isFile_ = true;
  FileUsers users_;
  std::optional<OutboxReader> reader_;
  FileInfo info_;
  Stats stats_;
  std::vector<Symptom> symptoms_;
};

}  // namespace

std::vector<records::Symptom> examine(const World& world, const Arguments& arguments) {
  return Examination(world, arguments).run();
}

}  // namespace ackbox::cli
