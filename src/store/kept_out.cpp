#include "store/kept_out.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace ackbox::store {
namespace {

bool shareSession(const std::vector<const Frame*>& some, const std::vector<const Frame*>& others) {
  return std::ranges::any_of(some, [&](const Frame* one) {
    return !one->session.empty() && std::ranges::any_of(others, [&](const Frame* other) {
      return one->session == other->session && one->peer == other->peer;
    });
  });
}

}  // namespace

void KeptOut::add(Job& job) noexcept {
  job.next_ = nullptr;
  (first_ == nullptr ? first_ : last_->next_) = &job;
  last_ = &job;
}

bool KeptOut::isBefore(const Job& job) const noexcept {
  try {
    std::vector<const Frame*> frames;
    job.announce(frames);
    for (const Job* kept = frames.empty() ? nullptr : first_; kept != nullptr; kept = kept->next_) {
      std::vector<const Frame*> earlier;
      kept->announce(earlier);
      if (shareSession(frames, earlier)) {
        return true;
      }
    }
    return false;
  } catch (const std::exception&) {
    // Without memory, the order is kept.
    return !empty();
  }
}

Job* KeptOut::addFollowers(Job* group) noexcept {
  if (empty()) {
    return group;
  }
  KeptOut others;
  while (group != nullptr) {
    Job* const next = std::exchange(group->next_, nullptr);
    (isBefore(*group) ? *this : others).add(*group);
    group = next;
  }
  return others.first_;
}

Job* KeptOut::takeAll() noexcept {
  last_ = nullptr;
  return std::exchange(first_, nullptr);
}

}  // namespace ackbox::store
