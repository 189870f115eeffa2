#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/clock.hpp"
#include "serve/http/caller.hpp"
#include "serve/page/html.hpp"

namespace ackbox::serve::page {

/// What all views need to know of the request.
struct View {
  /// `./`, or `../` in a view one level below: all links begin with it, so that they work behind a prefix.
  std::string_view root = "./";
  WallTime now = {};
  Roles roles = {};
  /// Whether there is something to log out of.
  bool hasLogin = false;

  [[nodiscard]] bool mayOperate() const noexcept { return roles.has(Role::operate); }
  [[nodiscard]] bool maySend() const noexcept { return roles.has(Role::send); }
};

/// A whole document. `current` is the path of the view in the navigation, such as `peers`.
[[nodiscard]] std::string document(const View& view, std::string_view title, std::string_view current,
                                   const Html& content);

/// A document for somebody who is not logged in.
[[nodiscard]] std::string bareDocument(const View& view, std::string_view title, const Html& content);

/// `3 m ago`, with the instant beside it.
[[nodiscard]] Html ago(WallTime now, std::optional<WallTime> instant);

/// A state as a word with a colour.
[[nodiscard]] Html badge(std::string_view state);

/// What stands where there is nothing to list, and what it means or what to do.
[[nodiscard]] Html emptyNote(Markup what, Markup meaning);

/// What went wrong, for people; nothing when it is empty.
[[nodiscard]] Html errorText(std::string_view text);

/// A text to be copied into a terminal or a file. `id` is its own in the document; the script puts this server's
/// address in place of `$ACKBOX_URL`.
[[nodiscard]] Html command(Markup id, std::string_view text);

/// A command that enqueues `json`.
[[nodiscard]] Html enqueueCommand(const View& view, std::string_view json);

/// A text that may be of any length. Where a table is narrow, a long one is broken: behind a mark between its words if
/// there is one, and a short one is not.
[[nodiscard]] Html breakable(std::string_view text);

/// What matters less, on a line of its own in a cell; nothing when it is empty.
[[nodiscard]] Html beneath(const Html& content);

[[nodiscard]] Html link(const View& view, const std::string& target, std::string_view text);

/// A message's id as a link to it.
[[nodiscard]] Html messageLink(const View& view, std::string_view messageId);

/// A button that posts to `/v1/…`; only for those that may, and with a script.
[[nodiscard]] Html action(const View& view, std::string_view label, const std::string& target);

/// A button that enqueues a message for trying a peer, and leads to it.
[[nodiscard]] Html testAction(const View& view, const std::string& peer);

/// A button that shows what a change of dead letters would be for, and then makes it. `filter` is JSON.
[[nodiscard]] Html bulkAction(const View& view, std::string_view verb, std::string_view subject,
                              const std::string& filter);
/// The same for received frames: `choice` is JSON as `POST /v1/inbox:retry` takes it.
[[nodiscard]] Html inboxAction(const View& view, std::string_view verb, const std::string& choice);

/// The way to the next page; `target` ends with `after=`. 0: this was the last.
[[nodiscard]] Html pager(const View& view, const std::string& target, std::int64_t next, bool isFirst);

/// A table that becomes a list of cards where the window is narrow.
class CardTable {
public:
  /// A head that begins with `#` is a column of numbers. `isQuiet`: the caption is for screen readers, because the
  /// heading above says the same.
  CardTable(std::string_view caption, std::vector<std::string> heads, bool isQuiet = false);

  CardTable& cell(const Html& content);
  CardTable& text(std::string_view text) { return cell(breakable(text)); }
  CardTable& number(std::uint64_t number) { return cell(Html().number(number)); }

  [[nodiscard]] bool empty() const noexcept { return cells_ == 0; }
  [[nodiscard]] Html html() const;

private:
  const std::string caption_;
  const std::vector<std::string> heads_;
  const bool isQuiet_;
  std::size_t cells_ = 0;
  Html rows_;
};

}  // namespace ackbox::serve::page
