#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ackbox/clock.hpp"
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

  /// An application that has had frames in hand for long and has settled none of them.
  struct Silent {
    std::string name = {};
    std::size_t frames = 0;
    WallTime since{};
  };
  using Name = std::pair<std::string, std::string>;

  struct Wait {
    /// To be read behind "waits for".
    std::string what = {};
    /// For an application that is not there.
    bool isUnattended = false;
  };

  /// By source and id: those that no application works on, and what each waits for.
  std::map<Name, Wait> frames = {};
  /// Those that one works on: which, and since when, to be read behind "in hand of".
  std::map<Name, std::string> holders = {};
  std::vector<Entry> entries = {};
  std::vector<Silent> silent = {};

  /// Says of a frame that is owned here what is known better than from the file.
  void complete(InboxInfo& frame) const {
    if (frame.state != InboxState::running && frame.state != InboxState::unattended) {
      return;
    }
    const Name name(frame.source, frame.messageId);
    if (const auto wait = frames.find(name); wait != frames.end()) {
      frame.state = wait->second.isUnattended ? InboxState::unattended : InboxState::running;
      frame.waitsFor = wait->second.what;
    } else if (holders.contains(name)) {
      frame.state = InboxState::running;
      frame.waitsFor.clear();
    }
  }

  /// Empty: it is not in hand, or it is not known of which application.
  [[nodiscard]] std::string_view holderOf(const InboxInfo& frame) const {
    const auto found = holders.find({frame.source, frame.messageId});
    return frame.state != InboxState::running || found == holders.end() ? std::string_view() : found->second;
  }
};

}  // namespace ackbox::serve
