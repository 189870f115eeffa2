#include "store/kept_out.hpp"

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "ackbox/frame.hpp"
#include "ackbox/publication.hpp"

namespace ackbox::store {

void KeptOut::add(Job& job) noexcept {
  job.next_ = nullptr;
  (first_ == nullptr ? first_ : last_->next_) = &job;
  last_ = &job;
  try {
    std::vector<const Frame*> frames;
    job.announce(frames);
    for (const Frame* const frame : frames) {
      if (!frame->session.empty()) {
        sessions_.emplace(frame->session, frame->peer);
      }
    }
  } catch (const std::exception&) {
    knowsSessions_ = false;
  }
}

bool KeptOut::isBefore(const Frame& frame) const {
  if (frame.session.empty()) {
    return false;
  }
  if (frame.peer == kAllSubscribers) {
    const auto found = sessions_.lower_bound({frame.session, {}});
    return found != sessions_.end() && found->first == frame.session;
  }
  return sessions_.contains({frame.session, frame.peer}) || sessions_.contains({frame.session, kAllSubscribers});
}

bool KeptOut::isBefore(const Job& job) const noexcept {
  if (empty() || !knowsSessions_) {
    return !empty();
  }
  try {
    std::vector<const Frame*> frames;
    job.announce(frames);
    return std::ranges::any_of(frames, [this](const Frame* frame) { return isBefore(*frame); });
  } catch (const std::exception&) {
    return true;
  }
}

Job* KeptOut::addFollowers(Job* group) noexcept {
  if (empty()) {
    return group;
  }
  Job* first = nullptr;
  Job* last = nullptr;
  while (group != nullptr) {
    Job* const next = std::exchange(group->next_, nullptr);
    if (isBefore(*group)) {
      add(*group);
    } else {
      (first == nullptr ? first : last->next_) = group;
      last = group;
    }
    group = next;
  }
  return first;
}

Job* KeptOut::takeAll() noexcept {
  last_ = nullptr;
  sessions_.clear();
  knowsSessions_ = true;
  return std::exchange(first_, nullptr);
}

}  // namespace ackbox::store
