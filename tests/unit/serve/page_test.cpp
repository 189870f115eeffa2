// Goal: the page shows what is in the file and can do nothing with it: all texts are escaped, the assets are small and
// kept by browsers, the login gives a cookie that no script reads and that no other page can use.
// Method: the views alone with texts of an attacker in each field, and a whole daemon over loopback.

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "records/peer.hpp"
#include "serve/page/assets.hpp"
#include "serve/page/routes.hpp"
#include "serve/page/views.hpp"
#include "support/temp_dir.hpp"
#include "unit/serve/serve_stage.hpp"

namespace ackbox::serve::page_test {
namespace {

using testing::HttpReply;
using testing::kOperator;
using testing::kReader;
using testing::kSender;
using testing::ServeStage;
using testing::Settings;
using testing::TempDir;
using testing::writePrivateFile;

const std::string kOwnForm = "Sec-Fetch-Site: same-origin\r\n";

const std::vector<std::string>& attacks() {
  static const std::vector<std::string> all = {"<script>attack(1)</script>",
                                               "\"><img src=x onerror=attack(2)>",
                                               "' onfocus='attack(3)' autofocus='",
                                               "</title><svg onload=attack(4)>",
                                               "javascript:attack(5)",
                                               "&lt;script&gt;attack(6)",
                                               "</pre></details><b>attack(7)",
                                               "<!--<attack(8)",
                                               "\xff<attack(9)>\x01",
                                               "\u202e<attack(10)>"};
  return all;
}

/// Nothing of `attack` has become markup: what is left of it is text.
void checkHarmless(const page::Html& html, const std::string& attack) {
  INFO(attack);
  for (const char* markup :
       {"<script", "<img", "<svg onload", "<b>attack", "<attack", "<!--", "' onfocus", "\"><img"}) {
    CHECK(html.str().find(markup) == std::string::npos);
  }
  CHECK(html.str().find("href=\"javascript:") == std::string::npos);
  CHECK(html.str().find('\x01') == std::string::npos);
  CHECK(html.str().find("\u202e") == std::string::npos);
}

page::View operatorView() {
  page::View view;
  view.now = WallTime(std::chrono::hours(24 * 365 * 50));
  view.roles = kAllRoles;
  view.hasLogin = true;
  return view;
}

MessageInfo messageOf(const std::string& text) {
  MessageInfo message;
  message.messageId = message.peer = message.session = message.type = message.reason = message.lastError = text;
  message.sequence = 1;
  message.state = MessageState::failed;
  message.attempts = {{.count = 1, .took = {}, .outcome = text, .error = text}};
  return message;
}

/// What `Set-Cookie` sets, for `Cookie`.
std::string cookieOf(const HttpReply& reply) {
  const std::string set = reply.header("Set-Cookie");
  return "Cookie: theme=dark; " + set.substr(0, set.find(';')) + "\r\n";
}

struct GuardedPage : testing::GuardedStage {
  HttpReply ask(const char* method, const std::string& target, const std::string& headers = {},
                const std::string& body = {}) {
    return asker().ask(method, target, body, headers);
  }
  HttpReply logIn(const std::string& token, const std::string& next = {}) {
    return ask("POST", "/login", kOwnForm, "token=" + token + "&next=" + next);
  }
};

}  // namespace

TEST_CASE("A text of an attacker is a text in every field of every view") {
  const page::View view = operatorView();
  for (const std::string& attack : attacks()) {
    const MessageInfo message = messageOf(attack);
    records::PeerFigures peer;
    peer.figures.peer = peer.figures.lastError = attack;
    peer.circuit.state = PeerState::down;
    checkHarmless(page::peersView(view, {peer}), attack);
    page::Overview overview;
    overview.peers = {peer};
    checkHarmless(page::overviewView(view, overview), attack);
    checkHarmless(page::deadLettersView(view, {page::groupsOf({message}), 1, 1, true, attack, attack}), attack);
    page::PeerPage peerPage{peer, {{.name = attack, .peer = attack, .type = attack, .session = attack}}};
    checkHarmless(page::peerView(view, peerPage), attack);
    peerPage.peer.circuit.definition = attack;
    checkHarmless(page::peerView(view, peerPage), attack);
    page::MessageList list;
    list.page = {{message}, 7};
    list.state = list.peer = list.session = list.type = list.text = list.within = attack;
    list.peers = {attack};
    checkHarmless(page::messagesView(view, list), attack);
    Explanation explanation;
    explanation.message = message;
    explanation.sentence = attack;
    explanation.reasons = {{.blockReason = BlockReason::deadLetter, .sequence = 1, .detail = attack}};
    Frame frame;
    frame.data = attack;
    checkHarmless(page::messageView(view, explanation, frame), attack);
    page::SessionList sessions;
    sessions.peer = attack;
    sessions.page.sessions = {{.peer = attack, .session = attack, .dueAt = {}}};
    sessions.page.next = 3;
    sessions.blocked = {
        {.peer = attack, .session = attack, .messageId = attack, .reason = attack, .lastError = attack}};
    checkHarmless(page::sessionsView(view, sessions), attack);
    page::InboxList inbox;
    InboxInfo inbound;
    inbound.messageId = inbound.source = inbound.session = inbound.type = inbound.lastError = attack;
    inbox.page.frames = {inbound};
    inbox.senders = {{.source = attack}};
    inbox.state = inbox.source = inbox.text = attack;
    checkHarmless(page::inboxView(view, inbox), attack);
    InboundFrame received;
    received.data = received.traceparent = received.correlationId = received.dataContentType = attack;
    checkHarmless(page::frameView(view, {inbound, explanation.reasons, attack}, received, {}), attack);
    const page::SearchResult result{attack,         message,        {attack, "gone"}, {message},
                                    {{message}, 1}, {{message}, 1}, {{inbound}, 1},   {}};
    checkHarmless(page::searchView(view, result), attack);
    page::Checkup checkup;
    FileInfo& info = checkup.contents.info;
    info.writtenBy = info.origin = info.sqliteVersion = info.logNotBatched = attack;
    checkup.contents.peers = {{.name = attack, .state = PeerState::held, .lastError = attack}};
    checkHarmless(page::doctorView(view, checkup), attack);
    checkHarmless(page::loginView(view, attack, attack), attack);
    checkHarmless(page::noticeView(view, attack, attack), attack);
  }
}

TEST_CASE("P13: Doctor shows a file as a file and a database as one, and says where a server is not durable") {
  const page::View view;
  page::Checkup checkup;
  FileInfo& info = checkup.contents.info;
  const auto shows = [&](const std::string& text) {
    return page::doctorView(view, checkup).str().find(text) != std::string::npos;
  };
  info.sqliteVersion = "3.40.1";
  CHECK(shows("<strong>SQLite</strong>"));
  CHECK(shows("<strong>Log</strong>"));
  CHECK(shows("ackbox doctor FILE"));
  info.sqliteVersion.clear();
  info.serverVersion = "15.18";
  for (const char* const ofFiles : {"SQLite", "<strong>Log</strong>", "FILE", "<strong>File</strong>"}) {
    CHECK_FALSE(shows(ofFiles));
  }
  CHECK(shows("<strong>Database</strong>"));
  CHECK(shows("PostgreSQL 15.18</span></li>"));
  CHECK(shows("ackbox verify URL"));
  info.notDurable = "fsync is off: a loss; turn it on";
  CHECK(shows("PostgreSQL 15.18: fsync is off: a loss</span><span class=\"advice\">turn it on"));
}

TEST_CASE("Each view names the agent in its title and head, and a visitor that is not logged in sees no name") {
  page::View view;
  view.agent = "urn:agent:<alice>";
  view.file = "/var/lib/a\"b.db";
  const std::string document = page::document(view, "Peers", "peers", page::Html());
  CHECK(document.find("<title>Peers · urn:agent:&lt;alice&gt; · ackbox</title>") != std::string::npos);
  CHECK(document.find("title=\"file: /var/lib/a&quot;b.db\"") != std::string::npos);
  CHECK(page::bareDocument({}, "Log in", page::Html()).find("<title>Log in · ackbox</title>") != std::string::npos);
}

TEST_CASE("Actions are shown to those that may take them, and line breaks of a payload stay") {
  page::View view = operatorView();
  records::PeerFigures peer;
  peer.figures.peer = "a/b c";
  CHECK(page::peersView(view, {peer}).str().find("data-post=\"peers/a%2Fb%20c:pause\"") != std::string::npos);
  page::InboxList inbox;
  InboxInfo frame;
  frame.messageId = "a\"b";
  inbox.page.frames = {frame};
  CHECK(page::inboxView(view, inbox).str().find("data-filter=\"{&quot;frames&quot;:[{") != std::string::npos);
  inbox.page.frames.front().state = InboxState::running;
  CHECK(page::inboxView(view, inbox).str().find("data-inbox") == std::string::npos);
  inbox.page.frames.front().state = InboxState::waiting;
  view.roles = Roles{Role::read};
  CHECK(page::peersView(view, {peer}).str().find("<button") == std::string::npos);
  CHECK(page::inboxView(view, inbox).str().find("class=\"act\"") == std::string::npos);
  view.roles = Roles{Role::send};
  CHECK(page::peersView(view, {peer}).str().find("data-test=\"a/b c\"") != std::string::npos);
  CHECK(page::escaped("a\n\tb\r") == "a\n\tb\\x0d");
  CHECK(page::grouped(0) == "0");
  CHECK(page::grouped(999) == "999");
  CHECK(page::grouped(1234567) == "1,234,567");
}

TEST_CASE("Dead letters with the same reason and the same form of error are one group, the largest first") {
  MessageInfo one = messageOf("a");
  MessageInfo other = messageOf("b");
  one.dueAt = WallTime(std::chrono::seconds(1));
  other.dueAt = WallTime(std::chrono::seconds(2));
  MessageInfo later = other;
  later.dueAt = WallTime(std::chrono::seconds(3));
  other.lastError = "order 7 is void";
  later.lastError = "order 12 is void";
  later.peer = "c";
  const std::vector<page::DeadLetterGroup> groups = page::groupsOf({one, later, other});
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].reason == "b");
  CHECK(groups[0].peers == std::set<std::string>{"b", "c"});
  CHECK(groups[0].types == std::set<std::string>{"b"});
  CHECK(groups[0].count == 2);
  CHECK(groups[0].oldestAt == other.dueAt);
  CHECK(groups[0].lastError == "order 12 is void");
  const std::string html = page::deadLettersView(operatorView(), {groups, 3, 3, false, "bob", ""}).str();
  CHECK(html.find("2 peers") != std::string::npos);
  CHECK(html.find("data-filter=\"{&quot;reason&quot;:&quot;b&quot;,&quot;error_like&quot;:&quot;order 12 is "
                  "void&quot;,&quot;peer&quot;:&quot;bob&quot;}\"") != std::string::npos);
}

TEST_CASE("The groups of dead letters say of how many they are, and each button is one for the state of its session") {
  const page::View view = operatorView();
  const auto shown = [&](std::uint64_t failed) {
    return page::deadLettersView(view, {page::groupsOf({messageOf("a")}), 1, failed, failed > 1}).str();
  };
  CHECK(shown(1).find("of the newest") == std::string::npos);
  CHECK(shown(40'000).find("<strong>40,000 dead letters</strong>") != std::string::npos);
  CHECK(shown(40'000).find("The groups are of the newest 1;") != std::string::npos);
  page::SessionList list;
  list.page.sessions = {{.peer = "bob", .session = "s", .live = 1, .dueAt = {}}};
  SessionStats& session = list.page.sessions.front();
  const auto has = [&](const char* verb) {
    return page::sessionsView(view, list).str().find("sessions/bob/s:" + std::string(verb) + "\"") != std::string::npos;
  };
  CHECK((has("pause") && !has("resume") && !has("unblock")));
  session.blockedAt = view.now;
  CHECK((has("pause") && !has("resume") && has("unblock")));
  session.blockedAt.reset();
  session.pausedAt = view.now;
  CHECK((!has("pause") && has("resume") && !has("unblock")));
}

TEST_CASE("What belongs to the page takes at most 60 kB, has an address by its content, and is kept") {
  CHECK(page::styleSheet().bytes.size() + page::script().bytes.size() + page::icon().bytes.size() <= 60'000);
  ServeStage stage;
  for (const page::Asset* asset : {&page::styleSheet(), &page::script(), &page::icon()}) {
    const HttpReply reply = stage.asker().ask("GET", "/assets/" + asset->name);
    CHECK(reply.status == 200);
    CHECK(reply.body.size() == asset->bytes.size());
    CHECK(reply.header("Content-Encoding") == "gzip");
    CHECK(reply.header("Cache-Control") == "public, max-age=31536000, immutable");
    const std::string tag = "If-None-Match: " + reply.header("ETag") + "\r\n";
    CHECK(stage.asker().ask("GET", "/assets/" + asset->name, {}, tag).status == 304);
  }
  CHECK(stage.asker().ask("GET", "/assets/page.0000000000000000.css").status == 404);
}

TEST_CASE("Every view answers with a document, what is read of it from the page itself alone, and only with it") {
  ServeStage stage;
  const std::string json = testing::kJson;
  const std::string message =
      R"({"peer":"bob","type":"bad","session":"s","id":"bad-1","idempotency_key":"key-1","data":{"a":"<b>"}})";
  REQUIRE(stage.asker().ask("POST", "/v1/messages", message, json).status == 201);
  REQUIRE(stage.asker().ask("GET", "/v1/messages/bad-1?wait=10s").status == 200);
  for (const char* target : {"/", "/peers", "/dead-letters", "/messages", "/messages?state=failed&peer=bob&session=",
                             "/messages/bad-1", "/messages?type=bad&within=24h&order=oldest", "/search",
                             "/search?q=bad-1", "/sessions", "/inbox", "/inbox?state=waiting&source=a&text=b",
                             "/peers/bob", "/history", "/dead-letters?peer=bob&type=bad", "/doctor"}) {
    INFO(target);
    const HttpReply reply = stage.asker().ask("GET", target);
    CHECK(reply.status == 200);
    CHECK(reply.header("Content-Type") == "text/html; charset=utf-8");
    CHECK(reply.header("Cache-Control") == "no-store");
    CHECK(reply.header("Content-Security-Policy") ==
          "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
          "frame-ancestors 'none'; base-uri 'none'; form-action 'self'");
    CHECK(reply.body.find("style=\"") == std::string::npos);
    CHECK(reply.body.find("=\"/") == std::string::npos);
    CHECK(reply.body.find("Log out") == std::string::npos);
  }
  CHECK(stage.asker().ask("GET", "/dead-letters").body.find("{&quot;reason&quot;:&quot;rejected&quot;") !=
        std::string::npos);
  CHECK(stage.asker().ask("GET", "/messages/none").status == 404);
  CHECK(stage.asker().ask("GET", "/messages?within=long").status == 422);
  CHECK(stage.asker().ask("GET", "/peers/none").status == 404);
  CHECK(stage.asker().ask("GET", "/inbox/none?source=a&row=7").status == 404);
  CHECK(stage.asker().ask("GET", "/inbox?state=late").status == 422);
  const auto finds = [&](const std::string& text, const char* heading) {
    const std::string body = stage.asker().ask("GET", "/search?q=" + text).body;
    return body.find(heading) != std::string::npos && body.find("messages/bad-1\"") != std::string::npos;
  };
  CHECK(finds("bad-1", "The message with this id"));
  CHECK(finds("s", "Messages, newest first"));
  CHECK(finds("bad", "Dead letters, newest first"));
  CHECK(finds("it%20is", "Dead letters, newest first"));
  CHECK(finds("key-1", "Enqueued with this idempotency key"));
  CHECK(stage.asker().ask("GET", "/search?q=none").body.find("Nothing was found.") != std::string::npos);
  const HttpReply wrong = stage.asker().ask("GET", "/messages?stat=failed");
  CHECK(wrong.status == 422);
  CHECK(wrong.header("Content-Type") == "text/html; charset=utf-8");
  CHECK(wrong.body.find("<h1>Invalid request</h1>") != std::string::npos);
  CHECK(stage.asker().ask("GET", "/login").header("Location") == "./");
}

TEST_CASE("A received frame has its payload, why it waits and what can be done; a search finds it by all that it has") {
  testing::InboxStage stage(
      testing::Settings{{"inbox", R"({"listen":"127.0.0.1:0","allow_anonymous":true,"pull":["*"]})"}});
  const std::string id = stage.send("s-1", "order.placed", R"({"text":"<b>"})");
  const nlohmann::json frame = stage.inboxOnce([](const nlohmann::json& frames) { return frames.size() == 1; }).at(0);
  const auto page = [&](const std::string& target) { return stage.serve().asker().ask("GET", target).body; };
  const std::string address =
      "inbox/" + id + "?source=urn%3Aagent%3Acarol&amp;row=" + std::to_string(frame.at("row").get<int>());
  CHECK(page("/inbox").find(address) != std::string::npos);
  for (const char* text : {"s-1", "order.placed"}) {
    CHECK(page("/search?q=" + std::string(text)).find(address) != std::string::npos);
    CHECK(page("/inbox?text=" + std::string(text)).find(address) != std::string::npos);
  }
  CHECK(page("/search?q=" + id).find(address) != std::string::npos);
  CHECK(page("/inbox?text=none").find("No frame fits.") != std::string::npos);
  const std::string shown =
      page("/inbox/" + id + "?source=urn%3Aagent%3Acarol&row=" + std::to_string(frame.at("row").get<int>()));
  CHECK(shown.find("{&quot;text&quot;:&quot;&lt;b&gt;&quot;}") != std::string::npos);
  // It is unattended: no application would run it.
  CHECK(shown.find("data-inbox=\"retry\"") == std::string::npos);
  CHECK(shown.find("data-inbox=\"discard\"") != std::string::npos);
  CHECK(shown.find("a stream for its type") != std::string::npos);
  CHECK(page("/search?q=" + id).find("Received, and ended") == std::string::npos);
  stage.serve().asker().ask("POST", "/v1/inbox:discard",
                            R"({"frames":[{"source":"urn:agent:carol","message_id":")" + id + R"("}],"reason":"void"})",
                            testing::kJson);
  const std::string ended = page("/search?q=" + id);
  CHECK(ended.find("Received, and ended") != std::string::npos);
  CHECK(ended.find("void") != std::string::npos);
  CHECK(page("/inbox/" + id + "?source=urn%3Aagent%3Acarol").find("refused") != std::string::npos);
  CHECK(page("/inbox?state=ended").find("order.placed") != std::string::npos);
  CHECK(page("/").find("1 received frame was refused for good in the last day") != std::string::npos);
}

TEST_CASE("A search that did not read all of the file says so") {
  const page::View view = operatorView();
  page::SearchResult result{.text = "x"};
  CHECK(page::searchView(view, result).str().find("stopped early") == std::string::npos);
  result.messages.next = 1;
  CHECK(page::searchView(view, result).str().find("stopped early") != std::string::npos);
  result.messages.next = 0;
  result.dead.next = 1;
  CHECK(page::searchView(view, result).str().find("stopped early") != std::string::npos);
  result.dead.next = 0;
  result.frames.next = 1;
  CHECK(page::searchView(view, result).str().find("stopped early") != std::string::npos);
}

TEST_CASE("A message that is not sent any more has one name in all views, and filters say what they match exactly") {
  const page::View view = operatorView();
  MessageInfo message = messageOf("a");
  message.state = MessageState::failed;
  Explanation explanation;
  explanation.message = message;
  page::MessageList list;
  list.page.messages = {message};
  const std::string listed = page::messagesView(view, list).str();
  for (const std::string& html : {page::messageView(view, explanation, std::nullopt).str(), listed}) {
    CHECK(html.find(R"(data-state="failed">dead letter<)") != std::string::npos);
  }
  CHECK(listed.find(R"(<option value="failed">dead letter</option>)") != std::string::npos);
  for (const char* const label : {"Session, exactly", "Type, exactly", "A part of the error"}) {
    CHECK(listed.find(label) != std::string::npos);
  }
  CHECK(page::inboxView(view, {}).str().find("Sender, exactly") != std::string::npos);
}

TEST_CASE("All messages of a list that wait can be made dead letters, where its filters choose them") {
  page::View view = operatorView();
  page::MessageList list;
  list.page.messages = {messageOf("a")};
  const auto offers = [&] {
    return page::messagesView(view, list).str().find("data-bulk=\"mark-failed\"") != std::string::npos;
  };
  CHECK_FALSE(offers());
  for (const char* const state : {"pending", "sent", "failed", "acked"}) {
    list.state = state;
    CHECK(offers() == (list.state == "pending" || list.state == "sent"));
  }
  list.state = "pending";
  list.peer = "bob";
  list.session = "s";
  CHECK(page::messagesView(view, list)
            .str()
            .find("{&quot;state&quot;:&quot;pending&quot;,&quot;peer&quot;:&quot;bob&quot;,"
                  "&quot;session&quot;:&quot;s&quot;}") != std::string::npos);
  list.within = "1h";
  CHECK_FALSE(offers());
  list.within.clear();
  list.text = "x";
  CHECK_FALSE(offers());
  list.text.clear();
  view.roles = Roles{Role::read};
  CHECK_FALSE(offers());
}

TEST_CASE("The buttons of a peer keep their places when its state changes") {
  const page::View view = operatorView();
  const auto labels = [&](PeerState state) {
    records::PeerFigures peer;
    peer.figures.peer = "bob";
    peer.circuit.state = state;
    std::string html = page::peerActions(view, peer).str();
    std::string names;
    for (std::size_t at = html.find("</button>"); at != std::string::npos; at = html.find("</button>")) {
      names += html.substr(html.rfind('>', at) + 1, at - html.rfind('>', at) - 1) + ";";
      html.erase(0, at + 1);
    }
    return names;
  };
  CHECK(labels(PeerState::up) == "Pause;Send a test message;");
  CHECK(labels(PeerState::paused) == "Resume;Send a test message;");
  for (const PeerState away : {PeerState::down, PeerState::held, PeerState::disabled}) {
    CHECK(labels(away) == "Pause;Send a test message;Try again now;");
  }
}

TEST_CASE("What callers changed is listed, the newest first, and a message that waits can be made a dead letter") {
  page::View view = operatorView();
  CHECK(page::changesView(view, {}).str().find("No caller has changed anything.") != std::string::npos);
  Audit audit(nullptr, systemClock());
  for (int at = 0; at < 201; ++at) {
    audit.record({.name = "olga"}, "peers:pause", "<" + std::to_string(at) + ">", 1);
  }
  const std::vector<AuditEntry> entries = audit.last();
  REQUIRE(entries.size() == 200);
  CHECK(entries.front().target == "<200>");
  CHECK(entries.back().target == "<1>");
  CHECK(page::changesView(view, entries).str().find("&lt;200&gt;") != std::string::npos);
  Explanation explanation;
  explanation.message = messageOf("a");
  explanation.message.messageId = "m-1";
  const auto shows = [&](MessageState state) {
    explanation.message.state = state;
    return page::messageView(view, explanation, std::nullopt).str().find("data-fail=\"m-1\"") != std::string::npos;
  };
  CHECK(shows(MessageState::pending));
  CHECK(shows(MessageState::sent));
  CHECK(!shows(MessageState::failed));
  CHECK(!shows(MessageState::sending));
  const auto sendsAgain = [&](MessageState state) {
    explanation.message.state = state;
    return page::messageView(view, explanation, std::nullopt).str().find("data-resend=\"m-1\"") != std::string::npos;
  };
  CHECK(sendsAgain(MessageState::acked));
  CHECK(!sendsAgain(MessageState::failed));
  view.roles = Roles{Role::read};
  CHECK(!shows(MessageState::pending));
  CHECK(!sendsAgain(MessageState::acked));
}

TEST_CASE("Peers that were added, and subscriptions, have forms for those that may operate") {
  page::View view = operatorView();
  page::PeerPage page{{}, {{.name = "orders", .peer = "a/b", .type = "order.*"}}};
  page.peer.figures.peer = "a/b";
  CHECK(page::peerView(view, page).str().find("is in the daemon's configuration") != std::string::npos);
  CHECK(page::peerView(view, page).str().find("data-remove=\"peers/") == std::string::npos);
  page.peer.circuit.definition = R"({"url":"http://a/"})";
  const std::string html = page::peerView(view, page).str();
  CHECK(html.find("data-put=\"peers/a%2Fb\"") != std::string::npos);
  CHECK(html.find("data-remove=\"peers/a%2Fb\" data-fate=\"messages\"") != std::string::npos);
  CHECK(html.find("data-put=\"subscriptions/\" data-peer=\"a/b\"") != std::string::npos);
  CHECK(html.find("data-remove=\"subscriptions/orders\"") != std::string::npos);
  CHECK(page::peersView(view, {}).str().find("data-put=\"peers/\"") != std::string::npos);
  page.peer.circuit.isRemoved = true;
  CHECK(page::peerView(view, page).str().find("The peer was removed") != std::string::npos);
  CHECK(page::peerView(view, page).str().find("<button") == std::string::npos);
  CHECK(page::peersView(view, {page.peer}).str().find("data-state=\"removed\"") != std::string::npos);
  CHECK(page::peersView(view, {page.peer}).str().find("data-post") == std::string::npos);
  page.peer.circuit.isRemoved = false;
  view.roles = Roles{Role::read};
  CHECK(page::peerView(view, page).str().find("<form") == std::string::npos);
  CHECK(page::peerView(view, page).str().find("<button") == std::string::npos);
  CHECK(page::peersView(view, {page.peer}).str().find("<form") == std::string::npos);
}

TEST_CASE(
    "A token is exchanged for a cookie that is not the token, and ends with it, with the logout, or by revocation") {
  GuardedPage guarded;
  const HttpReply led = guarded.ask("GET", "/messages/a%2Fb?x=1");
  CHECK(led.status == 303);
  CHECK(led.header("Location") == "../login?next=messages%2Fa%252Fb%3Fx%3D1");
  CHECK(guarded.ask("GET", "/login?next=peers").body.find("value=\"peers\"") != std::string::npos);
  CHECK(guarded.ask("GET", "/assets/" + page::styleSheet().name).status == 200);
  CHECK(guarded.logIn("guess-0123456789abcdef0123").status == 403);
  CHECK(guarded.logIn(kSender).status == 403);

  const HttpReply entered = guarded.logIn(kReader, "messages%3Fstate%3Dfailed");
  CHECK(entered.status == 303);
  CHECK(entered.header("Location") == "./messages?state=failed");
  const std::string set = entered.header("Set-Cookie");
  CHECK(set.ends_with("; Max-Age=43200; HttpOnly; SameSite=Strict"));
  CHECK(set.find(kReader) == std::string::npos);
  const std::string cookie = cookieOf(entered);
  CHECK(guarded.ask("GET", "/", cookie).status == 200);
  CHECK(guarded.ask("GET", "/v1/stats", cookie).status == 200);
  CHECK(guarded.ask("POST", "/v1/peers/bob:pause", cookie + "x-ackbox: 1\r\n").status == 403);
  CHECK(
      guarded.ask("GET", "/v1/stats", cookie.substr(0, cookie.rfind('=') + 1) + std::string(64, 'a') + "\r\n").status ==
      401);

  const std::string other = cookieOf(guarded.logIn(kOperator));
  CHECK(guarded.ask("POST", "/v1/peers/bob:pause", other).status == 403);
  CHECK(guarded.ask("POST", "/v1/peers/bob:pause", other + "x-ackbox: 1\r\n").status == 200);
  CHECK(guarded.ask("POST", "/logout", other + kOwnForm).status == 303);
  CHECK(guarded.ask("GET", "/v1/stats", other).status == 401);

  writePrivateFile(guarded.tokens, "ops read,operate " + kOperator + "\n");
  guarded.server().reload();
  CHECK(guarded.ask("GET", "/v1/stats", cookie).status == 401);
  CHECK(guarded.ask("GET", "/", cookie).header("Location") == "login?next=");
}

TEST_CASE("A login leads only to views, and no page of another origin can log anybody in or out") {
  GuardedPage guarded;
  for (const char* next :
       {"%2F%2Fevil.example", "https%3A%2F%2Fevil.example", "a%2F%2Fb", "..%2F..%2Fx", "%0Aa", "%2F%5Cevil"}) {
    CHECK(guarded.logIn(kReader, next).header("Location") == "./");
  }
  const auto status = [&](const std::string& headers) {
    return guarded.ask("POST", "/login", headers, "token=" + kReader).status;
  };
  CHECK(status("Sec-Fetch-Site: cross-site\r\n") == 403);
  CHECK(status("Sec-Fetch-Site: same-site\r\nOrigin: http://localhost\r\n") == 403);
  CHECK(status("Origin: http://evil.example\r\n") == 403);
  CHECK(status("Origin: null\r\n") == 403);
  CHECK(status("Origin: \r\n") == 403);
  CHECK(status("Origin: http://localhost\r\n") == 303);
}

}  // namespace ackbox::serve::page_test
