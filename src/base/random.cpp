#include "ackbox/random.hpp"
#include "base/mutex.hpp"

#include <sys/random.h>

#include <array>
#include <bit>
#include <cerrno>
#include <system_error>

namespace ackbox {
namespace {

class SystemRandom final : public Random {
public:
  [[nodiscard]] std::uint64_t next() override {
    const MutexLock lock(mutex_);
    if (used_ == buffer_.size()) {
      refill();
    }
    return buffer_[used_++];
  }

private:
  // getrandom gives up to 256 bytes in one piece, whatever signals arrive.
  void refill() ACKBOX_REQUIRES(mutex_) {
    while (getrandom(buffer_.data(), sizeof(buffer_), 0) != static_cast<ssize_t>(sizeof(buffer_))) {
      if (errno != EINTR) {
        throw std::system_error(errno, std::generic_category(), "getrandom");
      }
    }
    used_ = 0;
  }

  Mutex mutex_;
  std::array<std::uint64_t, 32> buffer_ ACKBOX_GUARDED_BY(mutex_) = {};
  std::size_t used_ ACKBOX_GUARDED_BY(mutex_) = buffer_.size();
};

class SeededRandom final : public Random {
public:
  explicit SeededRandom(std::uint64_t seed) {
    for (std::uint64_t& word : state_) {
      seed += 0x9e3779b97f4a7c15U;
      std::uint64_t mixed = seed;
      mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
      mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
      word = mixed ^ (mixed >> 31U);
    }
  }

  [[nodiscard]] std::uint64_t next() override {
    const MutexLock lock(mutex_);
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17U;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

private:
  Mutex mutex_;
  std::array<std::uint64_t, 4> state_ ACKBOX_GUARDED_BY(mutex_) = {};
};

}  // namespace

std::shared_ptr<Random> systemRandom() {
  static const std::shared_ptr<Random> random = std::make_shared<SystemRandom>();
  return random;
}

std::shared_ptr<Random> seededRandom(std::uint64_t seed) {
  return std::make_shared<SeededRandom>(seed);
}

}  // namespace ackbox
