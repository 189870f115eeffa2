#include "serve/page/routes.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/duration.hpp"
#include "base/shown_url.hpp"
#include "records/peer.hpp"
#include "serve/api/page.hpp"
#include "serve/api/service.hpp"
#include "serve/http/answer.hpp"
#include "serve/http/logins.hpp"
#include "serve/page/assets.hpp"
#include "serve/page/views.hpp"

namespace ackbox::serve::page {
namespace {

constexpr std::size_t kRowsShown = 50;
// With their actions these rows are larger.
constexpr std::size_t kFramesShown = 40;
constexpr std::size_t kDeadLettersLooked = 2'000;
constexpr std::size_t kBlockedCounted = 1'000;

// Of the received frames that fail.
constexpr std::size_t kFailingShown = 10;
constexpr std::size_t kSideRows = 12;
constexpr std::size_t kLoginBytesMax = 4096;
constexpr std::string_view kHtml = "text/html; charset=utf-8";

/// The parameters of a view while it waits for the file.
struct Asked {
  View view;
  std::string_view title;
  std::string_view current;
  std::string sharer;
};

Asked asked(const Service& service, const Request& request, std::string_view title, std::string_view current,
            std::string_view root = "./") {
  View view;
  view.root = root;
  view.agent = service.agent();
  view.file = service.file();
  view.roles = request.caller.roles;
  view.caller = request.caller.name;
  view.hasLogin = request.logins != nullptr;
  return {view, title, current, request.sharer()};
}

/// Answers with the HTML that `work` makes from the file; with 404 if it returns nothing.
void show(Service& service, Asked made, Respond&& respond, std::function<std::optional<Html>(const View&)> work) {
  service.workers().answer(
      made.sharer,
      [made, work = std::move(work)]() mutable {
        made.view.now = systemClock()->wallNow();
        const std::optional<Html> content = work(made.view);
        return textAnswer(content ? 200 : 404,
                          document(made.view, content ? made.title : "Not found", made.current,
                                   content.value_or(noticeView(made.view, "Not found",
                                                               "No message has this id. An acknowledged "
                                                               "message is gone after acked_retention."))),
                          kHtml);
      },
      std::move(respond));
}

std::int64_t takeAfter(Query& query) {
  return static_cast<std::int64_t>(
      query.count("after", static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())).value_or(0));
}

/// A filter from a form: an empty value means no filter.
std::optional<std::string> chosen(Query& query, std::string_view name) {
  std::optional<std::string> value = query.text(name);
  return value && value->empty() ? std::nullopt : value;
}

std::chrono::milliseconds spanOf(const std::string& within) {
  const auto span = parseDuration(within);
  if (!span) {
    throw InvalidRequest("within must be a duration, such as 1h or 7d");
  }
  return *span;
}

Reception receptionOf(const OutboxReader& reader, const FrameWaits& waits) {
  Reception reception{reader.unattendedFrames(),
                      waits.silent,
                      {},
                      waits.holders.size(),
                      reader.inbox({.state = InboxState::backoff}, kFailingShown).frames,
                      reader.inbox({.state = InboxState::ended}, kRefusedCounted).frames};
  for (const FrameWaits::Entry& entry : waits.entries) {
    if (entry.way == "pull" && entry.isAway) {
      reception.unwantedTypes.push_back(entry.types);
    }
  }
  return reception;
}

void showOverview(Service& service, Request&& request, Respond&& respond) {
  request.query.finish();
  show(service, asked(service, request, "Overview", ""), std::move(respond),
       [&service, waits = service.frameWaits()](const View& view) {
         const std::size_t blocked = service.reader().blockedSessions(kBlockedCounted).size();
         return std::optional(overviewView(view, {service.manager().getStats(),
                                                  records::readPeers(service.reader()),
                                                  {blocked, blocked == kBlockedCounted},
                                                  service.troubles(),
                                                  receptionOf(service.reader(), waits)}));
       });
}

void showPeers(Service& service, Request&& request, Respond&& respond) {
  request.query.finish();
  show(service, asked(service, request, "Peers", "peers"), std::move(respond),
       [&service](const View& view) { return std::optional(peersView(view, records::readPeers(service.reader()))); });
}

/// Empty if the configuration does not have the peer.
std::string addressOf(const Config& config, const std::string& peer) {
  const auto found = std::ranges::find(config.outbox.peers, peer, &PeerOptions::name);
  return found == config.outbox.peers.end() ? std::string() : std::string(shownUrl(found->url));
}

void showPeer(Service& service, Request&& request, Respond&& respond) {
  request.query.finish();
  show(service, asked(service, request, "Peer", "peers", "../"), std::move(respond),
       [&service, name = std::move(request.path.front())](const View& view) -> std::optional<Html> {
         for (records::PeerFigures& peer : records::readPeers(service.reader())) {
           if (peer.figures.peer == name) {
             PeerPage page{std::move(peer), service.reader().subscriptions(), addressOf(service.config(), name)};
             std::erase_if(page.subscriptions, [&](const PeerSubscription& one) { return one.peer != name; });
             return peerView(view, page);
           }
         }
         return std::nullopt;
       });
}

void showDeadLetters(Service& service, Request&& request, Respond&& respond) {
  MessageFilter filter{.state = MessageState::failed, .isNewestFirst = true};
  filter.peer = chosen(request.query, "peer");
  filter.type = chosen(request.query, "type");
  request.query.finish();
  show(service, asked(service, request, "Dead letters", "dead-letters"), std::move(respond),
       [&service, filter = std::move(filter)](const View& view) {
         const MessagePage newest = service.reader().messages(filter, kDeadLettersLooked);
         DeadLetterOverview overview{.groups = groupsOf(newest.messages),
                                     .looked = newest.messages.size(),
                                     .failed = newest.messages.size(),
                                     .isCut = newest.next != 0,
                                     .peer = filter.peer.value_or(""),
                                     .type = filter.type.value_or("")};
         // If all dead letters were read, their count is exact: the file's count may be from another moment.
         const bool isFiltered = filter.peer || filter.type;
         if ((overview.isCut && !isFiltered) || (overview.groups.empty() && isFiltered)) {
           overview.failed = service.manager().getStats().failed;
         }
         return std::optional(deadLettersView(view, overview));
       });
}

void showMessages(Service& service, Request&& request, Respond&& respond) {
  MessageFilter filter;
  MessageList list;
  if (const std::optional<std::string> state = chosen(request.query, "state")) {
    filter.state = messageStateOf(*state);
    list.state = *state;
  }
  filter.peer = chosen(request.query, "peer");
  filter.session = chosen(request.query, "session");
  filter.type = chosen(request.query, "type");
  filter.text = chosen(request.query, "text");
  if (const std::optional<std::string> within = chosen(request.query, "within")) {
    filter.since = systemClock()->wallNow() - spanOf(*within);
    list.within = *within;
  }
  list.isOldestFirst = chosen(request.query, "order") == "oldest";
  filter.isNewestFirst = !list.isOldestFirst;
  const std::int64_t after = takeAfter(request.query);
  request.query.finish();
  list.peer = filter.peer.value_or("");
  list.session = filter.session.value_or("");
  list.type = filter.type.value_or("");
  list.text = filter.text.value_or("");
  list.isFirst = after == 0;
  show(service, asked(service, request, "Messages", "messages"), std::move(respond),
       [&service, filter = std::move(filter), list = std::move(list), after](const View& view) mutable {
         list.page = service.reader().messages(filter, kRowsShown, after);
         list.isShort = list.page.next != 0 && list.page.messages.size() < kRowsShown;
         for (const PeerStatus& peer : service.reader().peers()) {
           list.peers.push_back(peer.name);
         }
         return std::optional(messagesView(view, list));
       });
}

void showMessage(Service& service, Request&& request, Respond&& respond) {
  request.query.finish();
  show(service, asked(service, request, "Message", "messages", "../"), std::move(respond),
       [&service, id = std::move(request.path.front())](const View& view) -> std::optional<Html> {
         const std::optional<Explanation> found = service.reader().explain(id);
         return found ? std::optional(messageView(view, *found, service.reader().frame(id))) : std::nullopt;
       });
}

/// Reads a bounded number of rows.
void search(const OutboxReader& reader, SearchResult& result) {
  const std::string& text = result.text;
  result.message = reader.find(text);
  result.keyIds = reader.idsOfKey(text, kSideRows);
  for (const std::string& id : result.keyIds) {
    if (std::optional<MessageInfo> message = reader.find(id)) {
      result.ofKey.push_back(*std::move(message));
    }
  }
  result.dead = reader.messages({.state = MessageState::failed, .text = text, .isNewestFirst = true}, kSideRows);
  result.messages = reader.messages({.text = text, .isNewestFirst = true}, kSideRows);
  result.frames = reader.inbox({.text = text}, kSideRows);
  result.ended = reader.inbox({.state = InboxState::ended, .text = text}, kSideRows).frames;
}

void showSearch(Service& service, Request&& request, Respond&& respond) {
  SearchResult result;
  result.text = chosen(request.query, "q").value_or("");
  result.waits = service.frameWaits();
  request.query.finish();
  show(service, asked(service, request, "Search", "search"), std::move(respond),
       [&service, result = std::move(result)](const View& view) mutable {
         if (!result.text.empty()) {
           search(service.reader(), result);
         }
         return std::optional(searchView(view, result));
       });
}

void showSessions(Service& service, Request&& request, Respond&& respond) {
  SessionFilter filter;
  filter.occupied = true;
  filter.peer = chosen(request.query, "peer");
  const std::int64_t after = takeAfter(request.query);
  request.query.finish();
  show(service, asked(service, request, "Sessions", "sessions"), std::move(respond),
       [&service, filter = std::move(filter), after](const View& view) {
         const std::vector<BlockedSession> blocked = service.reader().blockedSessions(kRowsShown);
         return std::optional(sessionsView(view, {service.reader().sessions(filter, kRowsShown, after), blocked,
                                                  blocked.size() == kRowsShown, filter.peer.value_or(""), after == 0}));
       });
}

void showInbox(Service& service, Request&& request, Respond&& respond) {
  InboxFilter filter;
  InboxList list;
  if (const std::optional<std::string> state = chosen(request.query, "state")) {
    filter.state = inboxStateOf(*state);
    list.state = *state;
  }
  filter.source = chosen(request.query, "source");
  filter.text = chosen(request.query, "text");
  const std::int64_t after = takeAfter(request.query);
  request.query.finish();
  list.source = filter.source.value_or("");
  list.text = filter.text.value_or("");
  list.isFirst = after == 0;
  list.waits = service.frameWaits();
  show(service, asked(service, request, "Inbox", "inbox"), std::move(respond),
       [&service, filter = std::move(filter), list = std::move(list), after](const View& view) mutable {
         list.page = service.reader().inbox(filter, kFramesShown, after);
         list.senders = service.reader().inboundSenders(kSideRows);
         list.waiting = service.manager().getStats().inbox;
         return std::optional(inboxView(view, list));
       });
}

void showFrame(Service& service, Request&& request, Respond&& respond) {
  const std::string source = request.query.text("source").value_or("");
  const std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  const auto row = static_cast<std::int64_t>(request.query.count("row", most).value_or(0));
  request.query.finish();
  show(service, asked(service, request, "Received frame", "inbox", "../"), std::move(respond),
       [&service, id = std::move(request.path.front()), source, row,
        waits = service.frameWaits()](const View& view) -> std::optional<Html> {
         const std::optional<InboxExplanation> found = service.reader().explainInbox(source, id, row);
         return found ? std::optional(frameView(view, *found, service.reader().inboxFrame(source, id, row), waits))
                      : std::nullopt;
       });
}

void showHistory(Service& service, Request&& request, Respond&& respond) {
  request.query.finish();
  show(service, asked(service, request, "History", "history"), std::move(respond), [&service](const View& view) {
    return std::optional(historyView(view, service.history().day(), service.history().week()));
  });
}

void showChanges(Service& service, Request&& request, Respond&& respond) {
  request.query.finish();
  show(service, asked(service, request, "Changes", "changes"), std::move(respond),
       [&service](const View& view) { return std::optional(changesView(view, service.audit().last())); });
}

void showDoctor(Service& service, Request&& request, Respond&& respond) {
  request.query.finish();
  show(service, asked(service, request, "Doctor", "doctor"), std::move(respond), [&service](const View& view) {
    return std::optional(doctorView(
        view, {{service.reader().fileInfo(), service.manager().getStats(), service.reader().peers(), view.now},
               service.reader().processIds(),
               service.troubles()}));
  });
}

void sendAsset(Service& /*service*/, Request&& request, Respond&& respond) {
  const Asset* const asset = findAsset(request.path.front());
  if (asset == nullptr) {
    respond(problemAnswer(404, "Not found", "There is no file of this name; it is another release's."));
    return;
  }
  const std::string tag = '"' + asset->name + '"';
  Response response = request.ifNoneMatch == tag ? textAnswer(304, {}, asset->contentType)
                                                 : textAnswer(200, std::string(asset->bytes), asset->contentType);
  if (response.status == 200) {
    response.headers.emplace_back("Content-Encoding", "gzip");
  }
  response.headers.emplace_back("ETag", tag);
  response.headers.emplace_back("Cache-Control", "public, max-age=31536000, immutable");
  respond(std::move(response));
}

Response seeOther(const std::string& location) {
  Response response = textAnswer(303, {});
  response.headers.emplace_back("Location", location);
  return response;
}

/// Permits only views of this server: a relative address without a scheme, a host or `..`.
std::string safeNext(const std::string& next) {
  constexpr std::string_view kAllowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_~%=&?/.";
  const bool isSafe = next.size() <= 1000 && next.find_first_not_of(kAllowed) == std::string::npos &&
                      !next.starts_with('/') && next.find("//") == std::string::npos &&
                      next.find("..") == std::string::npos;
  return isSafe ? "./" + next : "./";
}

void showLogin(Service& /*service*/, Request&& request, Respond&& respond) {
  const std::string next = request.query.text("next").value_or("");
  request.query.finish();
  respond(request.logins == nullptr ? seeOther("./")
                                    : textAnswer(200, bareDocument({}, "Log in", loginView({}, next, {})), kHtml));
}

void logIn(Service& service, Request&& request, Respond&& respond) {
  request.query.finish();
  std::optional<Query> form = Query::parse(request.body);
  const std::string token = form ? form->text("token").value_or("") : "";
  const std::string next = form ? form->text("next").value_or("") : "";
  if (request.logins == nullptr) {
    respond(seeOther("./"));
    return;
  }
  const Tokens::Digest digest = Tokens::digestOf(token);
  const std::optional<Caller> caller = request.tokens->find(digest);
  if (!caller || !caller->roles.has(Role::read) || !caller->limits.isEmpty()) {
    // A right token is admitted whatever failed before: wrong tokens cannot lock out a caller.
    const bool isRare = request.logins->mayFail();
    const std::string_view problem = !isRare   ? "Too many logins have failed; try again in a second."
                                     : !caller ? "No caller has this token."
                                     : caller->roles.has(Role::read)
                                         ? "This token is limited to some peers, and the page shows all of them."
                                         : "This token does not have the role read, which the page needs.";
    Response refusal = textAnswer(isRare ? 403 : 429, bareDocument({}, "Log in", loginView({}, next, problem)), kHtml);
    if (isRare) {
      service.audit().loginRefused(caller.value_or(Caller()), problem);
    } else {
      refusal.headers.emplace_back("Retry-After", "1");
    }
    respond(std::move(refusal));
    return;
  }
  Response response = seeOther(safeNext(next));
  response.headers.emplace_back("Set-Cookie", request.logins->begin(digest));
  service.audit().record(*caller, "login", "page", 0);
  respond(std::move(response));
}

void logOut(Service& service, Request&& request, Respond&& respond) {
  request.query.finish();
  Response response = seeOther("login");
  if (request.logins != nullptr) {
    response.headers.emplace_back("Set-Cookie", request.logins->end(request.cookie));
    if (!request.caller.name.empty()) {
      service.audit().record(request.caller, "logout", "page", 0);
    }
  }
  respond(std::move(response));
}

constexpr Roles kReader{Role::read};
constexpr Roles kAnybody{};

/// A problem as a document, because a person sent the request.
Response noticeOf(const Asked& made, Response problem) {
  const nlohmann::json said = nlohmann::json::parse(problem.body, nullptr, false);
  const auto member = [&](const char* name) {
    return said.is_object() ? said.value(name, std::string()) : std::string();
  };
  Asked now = made;
  now.view.now = systemClock()->wallNow();
  problem.body = document(now.view, now.title, now.current, noticeView(now.view, member("title"), member("detail")));
  problem.contentType = kHtml;
  return problem;
}

/// `Run`, with its problems shown as documents.
template <void (*Run)(Service&, Request&&, Respond&&)>
void runView(Service& service, Request&& request, Respond&& respond) {
  const Respond inHtml = [made = asked(service, request, "Not shown", "none", request.path.empty() ? "./" : "../"),
                          respond = std::move(respond)](Response response) {
    respond(response.contentType == kHtml ? std::move(response) : noticeOf(made, std::move(response)));
  };
  try {
    Run(service, std::move(request), Respond(inHtml));
  } catch (...) {
    inHtml(exceptionAnswer());
  }
}

template <void (*Run)(Service&, Request&&, Respond&&)>
constexpr Operation viewOf(std::string_view path) {
  return {"GET", path, kReader, 0, runView<Run>, nullptr, true};
}

constexpr std::array kRoutes = std::to_array<Operation>({
    viewOf<showOverview>("/"),
    viewOf<showPeers>("/peers"),
    viewOf<showPeer>("/peers/{peer}"),
    viewOf<showDeadLetters>("/dead-letters"),
    viewOf<showMessages>("/messages"),
    viewOf<showMessage>("/messages/{id}"),
    viewOf<showSearch>("/search"),
    viewOf<showSessions>("/sessions"),
    viewOf<showInbox>("/inbox"),
    viewOf<showFrame>("/inbox/{id}"),
    viewOf<showHistory>("/history"),
    viewOf<showChanges>("/changes"),
    viewOf<showDoctor>("/doctor"),
    {"GET", "/assets/{name}", kAnybody, 0, sendAsset, nullptr, true, Opening::always, false, Reach::none},
    {"GET", "/login", kAnybody, 0, showLogin, nullptr, true, Opening::always, false, Reach::none},
    {"POST", "/login", kAnybody, kLoginBytesMax, logIn, nullptr, true, Opening::always, false, Reach::none},
    {"POST", "/logout", kAnybody, kLoginBytesMax, logOut, nullptr, true, Opening::always, false, Reach::none},
});

}  // namespace

std::span<const Operation> routes() {
  return kRoutes;
}

}  // namespace ackbox::serve::page
