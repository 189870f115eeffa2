#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ackbox/inbox.hpp"

namespace ackbox::serve {

/// What the frames in hand wait for, as of one moment.
struct FrameWaits {
  /// An entry of `inbox.deliver` or `inbox.pull`.
  struct Entry {
    /// `push` or `pull`.
    std::string_view way = {};
    std::string types = {};
    /// A frame waits for an application that does not take it, or for a stream that nobody has opened.
    bool isAway = false;
  };

  /// By source and id: those that no application works on, and what each waits for, to be read behind "waits for".
  std::map<std::pair<std::string, std::string>, std::string> frames = {};
  std::vector<Entry> entries = {};

  /// Empty: it is not in hand, or is worked on.
  [[nodiscard]] std::string_view of(const InboxInfo& frame) const {
    const auto found = frames.find({frame.source, frame.messageId});
    return frame.state != InboxState::running || found == frames.end() ? std::string_view() : found->second;
  }
};

}  // namespace ackbox::serve
