#include "store/sqlite/peers/liveness.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <string>

#include "ackbox/error.hpp"
#include "ackbox/options.hpp"
#include "base/home_process.hpp"

namespace ackbox::store::sqlite {
namespace {

struct flock byteLock(std::int64_t owner) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = owner;
  lock.l_len = 1;
  return lock;
}

bool isHeld(int descriptor, std::int64_t owner) {
  struct flock lock = byteLock(owner);
  // A live owner must never lose its claims, so it counts as alive if the kernel cannot say.
  return descriptor < 0 || fcntl(descriptor, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

class KernelLiveness final : public Liveness {
public:
  KernelLiveness(const std::filesystem::path& sidecar, const std::filesystem::path& database)
      : sidecar_(sidecar), database_(database) {}
  ~KernelLiveness() override {
    unshared_.release([](int descriptor) { close(descriptor); });
  }
  KernelLiveness(const KernelLiveness&) = delete;
  KernelLiveness& operator=(const KernelLiveness&) = delete;

  void hold(std::int64_t owner) override {
    open();
    struct flock lock = byteLock(owner);
    if (fcntl(descriptor_, F_OFD_SETLK, &lock) != 0) {
      fail(Errc::ioError, "cannot lock byte " + std::to_string(owner) + " of");
    }
  }

  [[nodiscard]] bool alive(std::int64_t owner) const override { return isHeld(descriptor_, owner); }

  bool showDoubt(bool isDoubtful) noexcept override {
    try {
      if (isDoubtful) {
        open();
      }
    } catch (const std::exception&) {
      return false;
    }
    return descriptor_ < 0 || showsDoubt() == isDoubtful || ftruncate(descriptor_, isDoubtful ? 1 : 0) == 0;
  }
  [[nodiscard]] bool showsDoubt() const noexcept override {
    struct stat own {};
    return descriptor_ >= 0 && fstat(descriptor_, &own) == 0 && own.st_size != 0;
  }

private:
  // Opens the sidecar at the first `hold` or doubt, so that a refused open leaves no file behind. It is never deleted:
  // another process may be about to lock the same name. A symbolic link is not followed: users that may write into the
  // folder could choose the file that is opened, and created, with this process's rights.
  void open() {
    if (descriptor_ >= 0) {
      return;
    }
    // A child process would share the open file description, and could keep this process's locks after its death.
    descriptor_ = unshared_.hold([this] {
      return ::open(sidecar_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, S_IRUSR | S_IWUSR);
    });
    if (descriptor_ < 0) {
      if (errno == ELOOP) {
        throw Error(Errc::cannotOpen, sidecar_.string() + " is a symbolic link, which is not followed: remove it");
      }
      fail(Errc::cannotOpen, "cannot open");
    }
    struct stat own {};
    if (fstat(descriptor_, &own) != 0 || !S_ISREG(own.st_mode)) {
      throw Error(Errc::cannotOpen, sidecar_.string() + " is no regular file: remove it");
    }
    likeDatabase(own);
  }

  // Users that may write the database must be able to lock this file, even if root has created it. Uses the database's
  // path: closing a descriptor of the database would drop SQLite's locks.
  void likeDatabase(const struct stat& own) const {
    struct stat database {};
    if (stat(database_.c_str(), &database) != 0) {
      return;
    }
    // Only root may change a file's owner; for other users it stays the same.
    if (own.st_uid != database.st_uid || own.st_gid != database.st_gid) {
      if (fchown(descriptor_, database.st_uid, database.st_gid) != 0 && own.st_gid != database.st_gid) {
        (void)!fchown(descriptor_, static_cast<uid_t>(-1), database.st_gid);
      }
    }
    constexpr mode_t kReadWrite = 0666;
    if ((own.st_mode & kReadWrite) != (database.st_mode & kReadWrite)) {
      (void)!fchmod(descriptor_, database.st_mode & kReadWrite);
    }
  }

  [[noreturn]] void fail(Errc errc, const std::string& what) const {
    const std::string cause = std::strerror(errno);
    throw Error(errc, what + " " + sidecar_.string() + ": " + cause);
  }

  const std::filesystem::path sidecar_;
  const std::filesystem::path database_;
  UnsharedDescriptor unshared_;
  int descriptor_ = -1;
};

}  // namespace

std::shared_ptr<Liveness> kernelLiveness(const std::filesystem::path& sidecar, const std::filesystem::path& database) {
  return std::make_shared<KernelLiveness>(sidecar, database);
}

std::filesystem::path ownersFile(sqlite3* connection, std::string_view prefix) {
  std::string path = std::string(sqlite3_db_filename(connection, "main")) + "-ackbox-owners";
  if (prefix != OutboxOptions().tablePrefix) {
    // Table names are case-insensitive.
    path += '-';
    for (const char character : prefix) {
      path += character >= 'A' && character <= 'Z' ? static_cast<char>(character - 'A' + 'a') : character;
    }
  }
  return path;
}

bool ownerLives(const std::filesystem::path& sidecar, std::int64_t owner) {
  // Closing it drops no lock: the store's locks belong to the store's own open file description.
  const int descriptor = ::open(sidecar.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  const bool lives = isHeld(descriptor, owner);
  if (descriptor >= 0) {
    close(descriptor);
  }
  return lives;
}

}  // namespace ackbox::store::sqlite
