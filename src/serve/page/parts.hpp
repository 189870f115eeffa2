#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/message.hpp"
#include "serve/http/caller.hpp"
#include "serve/page/html.hpp"

namespace ackbox::serve::page {

/// The facts about the request that all views need.
struct View {
  /// `./`, or `../` in a view one level below: the start of all links, so that they work behind a proxy's path prefix.
  std::string_view root = "./";
  WallTime now = {};
  Roles roles = {};
  /// The name of the caller's token.
  std::string caller = {};
  /// The agent, and its file; empty where nobody is logged in.
  std::string agent = {};
  std::string file = {};
  /// Whether the caller can log out.
  bool hasLogin = false;

  [[nodiscard]] bool mayOperate() const noexcept { return roles.has(Role::operate); }
  [[nodiscard]] bool maySend() const noexcept { return roles.has(Role::send); }
};

/// A complete document. `current` is the path of the view in the navigation, such as `peers`.
[[nodiscard]] std::string document(const View& view, std::string_view title, std::string_view current,
                                   const Html& content);

/// A document for a visitor that is not logged in.
[[nodiscard]] std::string bareDocument(const View& view, std::string_view title, const Html& content);

/// `3 m ago`, together with the instant.
[[nodiscard]] Html ago(WallTime now, std::optional<WallTime> instant);

/// A state as a coloured word.
[[nodiscard]] Html badge(std::string_view state);
[[nodiscard]] Html badge(MessageState state);
/// What the page calls it.
[[nodiscard]] std::string wordOf(MessageState state);

/// The note in place of an empty list: what is absent, and what that means or what to do.
[[nodiscard]] Html emptyNote(Markup what, Markup meaning);

/// An error for people; nothing if `text` is empty.
[[nodiscard]] Html errorText(std::string_view text);

/// Text to be copied into a terminal or a file. `id` must be unique in the document; the script replaces `$ACKBOX_URL`
/// with this server's address.
[[nodiscard]] Html command(Markup id, std::string_view text);

/// A command that enqueues `json`.
[[nodiscard]] Html enqueueCommand(const View& view, std::string_view json);

/// Text of any length. In a narrow table, a long text wraps: after a separator between its words if there is one. A
/// short text does not.
[[nodiscard]] Html breakable(std::string_view text);

/// Less important content, on its own line in a cell; nothing if it is empty.
[[nodiscard]] Html beneath(const Html& content);

[[nodiscard]] Html link(const View& view, const std::string& target, std::string_view text);

/// A message's id as a link to it.
[[nodiscard]] Html messageLink(const View& view, std::string_view messageId);

/// A button that posts to `/v1/…`; only for callers with the role `operate`, and with a script.
[[nodiscard]] Html action(const View& view, std::string_view label, const std::string& target);

/// A button that enqueues a test message for a peer, and opens that message's view.
[[nodiscard]] Html testAction(const View& view, const std::string& peer);

/// Buttons that preview a retry or a discard of dead letters, and then make it. `filter` is JSON.
[[nodiscard]] Html bulkActions(const View& view, std::string_view subject, const std::string& filter);
/// A button that previews making dead letters of messages that wait, and then does it. `filter` is JSON.
[[nodiscard]] Html markActions(const View& view, std::string_view subject, const std::string& filter);
/// Buttons that run received frames now, or discard them for a reason that is asked for. `choice` is JSON in the form
/// of `POST /v1/inbox:retry`; `subject` names them. `mayRun`: whether something would run.
[[nodiscard]] Html inboxActions(const View& view, std::string_view subject, const std::string& choice, bool mayRun);
/// A button that makes a message that waits a dead letter, for a reason that is asked for.
[[nodiscard]] Html deadLetterAction(const View& view, const std::string& messageId);
/// A button that sends an acknowledged message again, under its id or as a new one, whichever is chosen.
[[nodiscard]] Html resendAction(const View& view, const std::string& messageId);
/// A button that sends DELETE to `/v1/…` once that is confirmed. `fate` says what becomes of what is deleted.
[[nodiscard]] Html removal(const View& view, std::string_view label, const std::string& target, std::string_view fate);

/// An option of a list to choose from.
[[nodiscard]] Html option(std::string_view value, std::string_view name, const std::string& chosen);

/// A field of a form with the text that it has.
[[nodiscard]] Html textField(Markup label, Markup name, std::string_view value, Markup placeholder = "any");

/// `name=value&`; nothing if the value is empty.
[[nodiscard]] std::string parameter(std::string_view name, std::string_view value);

/// The link to the next page; `target` ends with `after=`. `next` is 0 on the last page.
[[nodiscard]] Html pager(const View& view, const std::string& target, std::int64_t next, bool isFirst);

/// A table that turns into a list of cards in a narrow window.
class CardTable {
public:
  /// A head that begins with `#` marks a column of numbers. `isQuiet`: shows the caption to screen readers only,
  /// because the heading above says the same.
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

/// The text with its first letter in upper case.
[[nodiscard]] std::string upperFirst(std::string text);

}  // namespace ackbox::serve::page
