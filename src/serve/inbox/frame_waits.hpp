#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ackbox/inbox.hpp"
#include "base/pattern.hpp"

namespace ackbox::serve {

/// What the frames of the inbox wait for, as of one moment.
struct FrameWaits {
  /// An entry of `inbox.deliver` or `inbox.pull`.
  struct Entry {
    /// `push` or `pull`.
    std::string_view way = {};
    std::string types = {};
    /// A frame waits for an application that does not take it, or for a stream that nobody has opened.
    bool isAway = false;
    /// Of `push`, while its application takes none: what all of its frames wait for.
    std::string waitsFor = {};
  };
  /// What an open stream takes.
  struct Stream {
    std::string types = {};
    std::string sessions = {};
  };

  /// By source and id: those that an application did not take, and what each waits for, to be read behind "waits for".
  std::map<std::pair<std::string, std::string>, std::string> frames = {};
  /// In the order in which a type is looked for.
  std::vector<Entry> entries = {};
  std::vector<Stream> streams = {};

  /// Empty: it is worked on, or it waits for no application.
  [[nodiscard]] std::string_view of(const InboxInfo& frame) const {
    if (frame.state != InboxState::waiting) {
      return {};
    }
    if (const auto found = frames.find({frame.source, frame.messageId}); found != frames.end()) {
      return found->second;
    }
    const auto entry =
        std::ranges::find_if(entries, [&](const Entry& one) { return fitsPattern(one.types, frame.type); });
    if (entry == entries.end() || entry->way == "push") {
      return entry == entries.end() ? std::string_view() : entry->waitsFor;
    }
    const bool isWanted = std::ranges::any_of(streams, [&](const Stream& stream) {
      return fitsPattern(stream.types, frame.type) && fitsPattern(stream.sessions, frame.session);
    });
    return isWanted ? std::string_view() : "a stream for its type and session to be opened";
  }
};

}  // namespace ackbox::serve
