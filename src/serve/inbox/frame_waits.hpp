#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/inbox.hpp"
#include "base/pattern.hpp"

namespace ackbox::serve {

/// What frames wait for while no stream takes them.
inline constexpr const char* kNoStream = "a stream for its type and session to be opened";
inline constexpr const char* kNotFetched = "its agent to open a stream for its mailbox";
inline constexpr const char* kNoMailbox = "inbox.mailboxes to name its agent, or for an operator to discard it";

/// What the frames of the inbox wait for, at one moment.
struct FrameWaits {
  /// An entry of `inbox.deliver` or `inbox.pull`.
  struct Entry {
    /// `push` or `pull`.
    std::string_view way = {};
    std::string types = {};
    /// Frames wait for an application that does not take them, or for a stream that is not open.
    bool isAway = false;
    /// For `push`, while its application takes no frames: what all of the entry's frames wait for.
    std::string waitsFor = {};
  };
  /// The frames that an open stream takes.
  struct Stream {
    std::string types = {};
    std::string sessions = {};
    /// The agent whose frames it takes; empty: those for this agent.
    std::string mailbox = {};
  };
  /// Source and id of a frame.
  using Name = std::pair<std::string, std::string>;
  struct Wait {
    /// What the frame waits for, to follow "waits for".
    std::string what = {};
    /// The frame waits for an application that is not there.
    bool isUnattended = false;
  };

  /// The frames that an application did not take, and what each waits for.
  std::map<Name, Wait> frames = {};
  /// The frames that an application works on: which application, and since when, to follow "in hand of".
  std::map<Name, std::string> holders = {};
  /// In the order in which they are tried for a type.
  std::vector<Entry> entries = {};
  std::vector<Stream> streams = {};
  /// The agents that have a mailbox, as patterns.
  std::vector<std::string> mailboxes = {};
  std::vector<SilentConsumer> silent = {};

  /// Adds to the frame what this object knows beyond the file.
  void complete(InboxInfo& frame) const {
    if (frame.state != InboxState::waiting && frame.state != InboxState::unattended &&
        frame.state != InboxState::running) {
      return;
    }
    const Name name(frame.source, frame.messageId);
    if (holders.contains(name)) {
      set(frame, InboxState::running, {});
    } else if (const auto wait = frames.find(name); wait != frames.end()) {
      set(frame, wait->second.isUnattended ? InboxState::unattended : InboxState::waiting, wait->second.what);
    } else if (frame.state == InboxState::running) {
      return;
    } else if (!frame.mailbox.empty()) {
      completeByMailbox(frame);
    } else {
      completeByType(frame);
    }
  }

  /// Empty if the frame is not in hand, or its application is not known.
  [[nodiscard]] std::string_view holderOf(const InboxInfo& frame) const {
    const auto found = holders.find({frame.source, frame.messageId});
    return frame.state != InboxState::running || found == holders.end() ? std::string_view() : found->second;
  }

private:
  static void set(InboxInfo& frame, InboxState state, std::string waitsFor) {
    frame.state = state;
    frame.waitsFor = std::move(waitsFor);
  }

  [[nodiscard]] bool hasStream(const InboxInfo& frame) const {
    return std::ranges::any_of(streams, [&](const Stream& stream) {
      return stream.mailbox == frame.mailbox && fitsPattern(stream.types, frame.type) &&
             fitsPattern(stream.sessions, frame.session);
    });
  }

  [[nodiscard]] bool isMailbox(const std::string& agent) const {
    return std::ranges::any_of(mailboxes, [&](const std::string& pattern) { return fitsPattern(pattern, agent); });
  }

  void completeByMailbox(InboxInfo& frame) const {
    if (hasStream(frame)) {
      set(frame, InboxState::waiting, {});
    } else {
      set(frame, InboxState::unattended, isMailbox(frame.mailbox) ? kNotFetched : kNoMailbox);
    }
  }

  void completeByType(InboxInfo& frame) const {
    const auto entry =
        std::ranges::find_if(entries, [&](const Entry& one) { return fitsPattern(one.types, frame.type); });
    if (entry == entries.end()) {
      return;
    }
    std::string waitsFor = entry->waitsFor;
    if (entry->way == "pull" && !hasStream(frame)) {
      waitsFor = kNoStream;
    }
    set(frame, waitsFor.empty() ? InboxState::waiting : InboxState::unattended, waitsFor);
  }
};

}  // namespace ackbox::serve
