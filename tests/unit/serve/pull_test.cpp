// Goal: the open stream is the lease: frames come in their session's order, within the window, and are elsewhere as
// soon as their stream ends; what is settled is durable; nothing is charged to a frame but what it may be to blame for.
// Method: a sender, a daemon and applications, all over loopback.

#include <doctest/doctest.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <future>
#include <list>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/deferred_frame.hpp"
#include "ackbox/http_sender.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"
#include "ackbox/random.hpp"
#include "serve/inbox/frame_streams.hpp"
#include "support/temp_dir.hpp"
#include "unit/serve/serve_stage.hpp"
#include "unit/serve/stream_client.hpp"

namespace ackbox::serve::pull_test {
namespace {

using nlohmann::json;
using testing::HttpAsker;
using testing::HttpReply;
using testing::isReady;
using testing::ServeStage;
using testing::Settings;
using testing::StreamReader;

const std::string kStream = "/v1/inbox/stream";

Settings inboxOf(json inbox, Settings more = {}) {
  inbox["listen"] = "127.0.0.1:0";
  inbox["allow_anonymous"] = true;
  more.push_back({.field = "inbox", .value = inbox.dump()});
  return more;
}

/// A daemon whose inbox's frames are for streams, and a sender.
class Stage : public testing::InboxStage {
public:
  explicit Stage(json inbox = {{"pull", json::array({"*"})}}, Settings more = {})
      : InboxStage(inboxOf(std::move(inbox), std::move(more))) {}

  std::string send(const std::string& session, const std::string& type = "order.placed",
                   const std::string& data = "1") {
    return InboxStage::send(session, type, data);
  }
  /// Frames outside any session, in batches.
  void flood(const std::string& type, int frames) {
    const std::string url = serve().server().inboxUrl();
    HttpAsker peer(static_cast<std::uint16_t>(std::stoul(url.substr(url.rfind(':') + 1))));
    constexpr int kBatch = 250;
    for (int first = 0; first < frames; first += kBatch) {
      json batch = json::array();
      for (int number = first; number < std::min(frames, first + kBatch); ++number) {
        const std::string id = type + "-" + std::to_string(number);
        batch.push_back({{"specversion", "1.0"}, {"source", "urn:x"}, {"type", type}, {"id", id}, {"data", 1}});
      }
      REQUIRE(peer.ask("POST", "/inbox", batch.dump(), "Content-Type: application/cloudevents-batch+json\r\n").status <
              300);
    }
  }
  StreamReader open(const std::string& query = {}) {
    return StreamReader(serve().server().port(), kStream + (query.empty() ? "" : "?" + query));
  }
  HttpReply post(const std::string& body) {
    return serve().asker().ask("POST", "/v1/inbox/settle", body, testing::kJson);
  }
  /// The status of the one settlement.
  std::string settle(const json& line, json settlement) {
    settlement["receipt"] = line.at("receipt");
    const json body = {{"settlements", json::array({settlement})}};
    return json::parse(post(body.dump()).body).at("results").at(0).at("status");
  }
  std::string ack(const json& line) { return settle(line, {{"outcome", "ack"}}); }

  /// Until this many are waiting for a stream or for their settlement.
  void awaitHeld(std::size_t count) {
    inboxOnce([&](const json& frames) { return frames.size() == count; });
  }
  void restart(json inbox) {
    serve().end();
    serve().begin(inboxOf(std::move(inbox)));
  }
};

json next(StreamReader& reader) {
  return json::parse(reader.line());
}

std::string sessionOf(const json& line) {
  return line.at("event").at("sessionid");
}

std::string sequenceOf(const json& line) {
  return line.at("event").at("sessionseq");
}

}  // namespace

TEST_CASE("A frame comes as one line with its receipt, and its settlement is durable when it is answered") {
  Stage stage;
  StreamReader stream = stage.open();
  CHECK(stream.status() == 200);
  CHECK(stream.head().find("Content-Type: application/x-ndjson\r\n") != std::string::npos);
  CHECK(stream.head().find("X-Accel-Buffering: no\r\n") != std::string::npos);
  const std::string id = stage.send("s-1", "order.placed", "{\"n\":\n 1.0}");
  const json line = next(stream);
  CHECK(line.at("run") == 1);
  const json& event = line.at("event");
  stage.checkFirst(event, id);
  CHECK(event.at("data").at("n") == 1.0);
  CHECK(stage.settle(line, {{"outcome", "ack"}, {"result", {{"total", 42}}}}) == "settled");
  CHECK(stage.inbox().empty());
  while (stage.sender().getStats().acked == 0) {
  }
}

TEST_CASE("An event has the expiry that its sender gave it, in UTC with milliseconds") {
  Stage stage;
  StreamReader stream = stage.open();
  const std::string url = stage.serve().server().inboxUrl();
  HttpAsker peer(static_cast<std::uint16_t>(std::stoul(url.substr(url.rfind(':') + 1))));
  const json event = {{"specversion", "1.0"}, {"source", "urn:x"}, {"type", "t"},
                      {"id", "x-1"},          {"data", 1},         {"expirytime", "2999-01-01T02:00:00+02:00"}};
  REQUIRE(peer.ask("POST", "/inbox", event.dump(), "Content-Type: application/cloudevents+json\r\n").status < 300);
  CHECK(next(stream).at("event").at("expirytime") == "2999-01-01T00:00:00.000Z");
}

TEST_CASE(
    "A retry is charged a run and comes again, a reject is a dead letter at the sender, a release costs nothing") {
  Stage stage;
  StreamReader stream = stage.open();
  const std::string id = stage.send("s-1");
  const json first = next(stream);
  CHECK(stage.settle(first, {{"outcome", "release"}}) == "settled");
  const json second = next(stream);
  CHECK(second.at("run") == 2);
  CHECK(stage.inbox().at(0).at("retry_count") == 0);
  CHECK(stage.settle(second, {{"outcome", "retry"}, {"reason", "locked"}, {"after", "1ms"}}) == "settled");
  const json third = next(stream);
  const json waiting = stage.inbox().at(0);
  CHECK(waiting.at("retry_count") == 1);
  CHECK(waiting.at("last_error") == "locked");
  CHECK(stage.settle(third, {{"outcome", "reject"}, {"reason", "no such order"}}) == "settled");
  CHECK(stage.inbox().empty());
  while (stage.sender().getStats().failed == 0) {
  }
  CHECK(stage.sender().find(id).value().reason == "rejected");
}

TEST_CASE(
    "P12: an operator runs received frames again, or gives them up, whatever they wait for, but for those in hand") {
  Stage stage;
  StreamReader stream = stage.open("types=order.placed");
  const std::string inHand = stage.send("s-1");
  static_cast<void>(next(stream));
  const std::string away = stage.send("s-2", "nobody.asks");
  const std::string behind = stage.send("s-2", "order.placed");
  const std::string other = stage.send("s-3", "nobody.asks");
  stage.inboxOnce([&](const json& frames) {
    const auto are = [&](const char* state) {
      return std::ranges::count_if(frames, [&](const json& frame) { return frame.at("state") == state; });
    };
    return are("running") == 1 && are("unattended") == 2 && are("behind") == 1;
  });
  const auto change = [&](const std::string& target, const json& choice) {
    const HttpReply reply = stage.serve().asker().ask("POST", "/v1/inbox:" + target, choice.dump(), testing::kJson);
    return reply.status == 200 ? json::parse(reply.body) : json(reply.status);
  };
  const json preview = change("discard?dry_run=true", {{"all", true}});
  CHECK(preview.at("count") == 3);
  CHECK(preview.at("is_complete") == true);
  CHECK(preview.at("sample").size() == 3);
  CHECK(change("retry", {{"state", "unattended"}}).at("changed") == 2);
  CHECK(change("discard", {{"session", "s-3"}, {"reason", "no-such-thing"}}).at("changed") == 1);
  const auto name = [](const std::string& id) { return json{{"source", "urn:agent:carol"}, {"message_id", id}}; };
  const json frames = json::array({name(away), name(away), name(inHand), name("none")});
  CHECK(change("discard", {{"frames", frames}}).at("changed") == 1);
  // The one behind it goes on.
  CHECK(next(stream).at("event").at("id") == behind);
  while (stage.sender().getStats().failed < 2) {
  }
  CHECK(stage.sender().find(other).value().reason == "no-such-thing");
  CHECK(stage.sender().find(away).value().reason == "discarded");
  CHECK(stage.inbox().at(0).at("message_id") == inHand);
  for (const json& wrong :
       {json::object(), json{{"all", false}}, json{{"all", true}, {"session", "s"}}, json{{"frames", json::array()}},
        json{{"frames", {{{"source", "x"}}}}}, json{{"state", "ended"}}, json{{"ids", {"a"}}}, json{{"source", 1}},
        json{{"frames", frames}, {"session", "s"}}, json::array()}) {
    CHECK_MESSAGE(change("retry", wrong) == 422, wrong.dump());
  }
  CHECK(change("retry", {{"all", true}, {"reason", "x"}}) == 422);
  CHECK(change("discard", {{"all", true}, {"reason", ""}}) == 422);
  CHECK(change("discard", {{"all", true}, {"reason", std::string(129, 'x')}}) == 422);
}

TEST_CASE("A stream's frames are with another as soon as it ends, uncharged, and its receipts are gone") {
  Stage stage;
  StreamReader first = stage.open();
  stage.send("s-1");
  const json line = next(first);
  StreamReader second = stage.open();
  first.close();
  const json again = next(second);
  CHECK(again.at("event") == line.at("event"));
  CHECK(again.at("run") == 2);
  CHECK(stage.ack(line) == "gone");
  CHECK(stage.inbox().at(0).at("retry_count") == 0);
  CHECK(stage.ack(again) == "settled");
  CHECK(stage.ack(again) == "gone");
}

TEST_CASE("A frame that was the oldest of two streams that ended is charged, and those behind it are not") {
  Stage stage;
  stage.send("s-1");
  stage.send("s-2");
  stage.awaitHeld(2);
  for (int end = 0; end < 2; ++end) {
    StreamReader stream = stage.open();
    CHECK(sessionOf(next(stream)) == "s-1");
    CHECK(sessionOf(next(stream)) == "s-2");
    stream.close();
  }
  const json frames = stage.inboxOnce([](const json& all) { return all.at(0).at("retry_count") == 1; });
  CHECK(frames.at(0).at("session") == "s-1");
  CHECK(frames.at(0).at("last_error").get<std::string>().find("streams that had it ended") != std::string::npos);
  CHECK(frames.at(1).at("retry_count") == 0);
  StreamReader stream = stage.open();
  CHECK(sessionOf(next(stream)) == "s-2");
}

TEST_CASE("Frames of a session come one after the other, those of others meanwhile") {
  Stage stage;
  StreamReader stream = stage.open();
  stage.send("s-1");
  stage.send("s-1");
  stage.send("s-2");
  const json first = next(stream);
  CHECK(sessionOf(first) == "s-1");
  const json other = next(stream);
  CHECK(sessionOf(other) == "s-2");
  CHECK(stage.ack(first) == "settled");
  const json second = next(stream);
  CHECK(sessionOf(second) == "s-1");
  CHECK(sequenceOf(second) == "2");
}

TEST_CASE("A stream has no more unsettled frames than its window, and streams share what comes") {
  Stage stage;
  StreamReader narrow = stage.open("window=1");
  stage.send("s-1");
  const json first = next(narrow);
  stage.send("s-2");
  stage.awaitHeld(2);
  StreamReader other = stage.open();
  const json second = next(other);
  CHECK(sessionOf(second) == "s-2");
  stage.send("s-3");
  const json third = next(other);
  CHECK(stage.ack(first) == "settled");
  stage.send("s-4");
  CHECK(sessionOf(next(narrow)) == "s-4");
  // A session belongs to no stream: its next frame goes where there is room.
  stage.send("s-3");
  CHECK(stage.ack(third) == "settled");
  CHECK(sequenceOf(next(other)) == "2");
}

TEST_CASE("A stream gets the types and sessions that it asks for") {
  Stage stage;
  StreamReader orders = stage.open("types=order.*&sessions=a-*");
  StreamReader exact = stage.open("types=job&sessions=b");
  stage.send("b-1", "order.placed");
  stage.send("a-1", "job");
  stage.send("b", "job");
  stage.send("a-2", "order.placed");
  CHECK(sessionOf(next(exact)) == "b");
  CHECK(sessionOf(next(orders)) == "a-2");
  CHECK(stage.open("window=0").status() == 422);
  CHECK(stage.open("window=1025").status() == 422);
  CHECK(stage.open("types=a*b").status() == 422);
  CHECK(stage.open("session=a").status() == 422);
}

TEST_CASE("P12: frames of a type that nobody streams, more than are ever in hand, keep nothing from a stream") {
  Stage stage;
  // More than are ever in hand.
  stage.flood("unwanted", 1'550);
  StreamReader stream = stage.open("types=wanted");
  stage.send("w", "wanted");
  const json line = next(stream);
  CHECK(sessionOf(line) == "w");
  CHECK(stage.ack(line) == "settled");
  const json frame = stage.inbox().at(0);
  CHECK(frame.at("state") == "unattended");
  CHECK(frame.at("waits_for") == "a stream for its type and session to be opened");
}

TEST_CASE("P12: a stream whose window is full of one type keeps nothing from a stream for another") {
  Stage stage;
  StreamReader busy = stage.open("types=a&window=2");
  StreamReader idle = stage.open("types=b");
  stage.flood("a", 1'100);
  next(busy);
  stage.send("b", "b");
  CHECK(sessionOf(next(idle)) == "b");
}

TEST_CASE("P12: streams that keep all places of all streams leave another stream frames of its own") {
  Stage stage;
  std::vector<StreamReader> keepers;
  for (int keeper = 0; keeper < 4; ++keeper) {
    keepers.push_back(stage.open("types=a&window=260"));
  }
  stage.flood("a", 1'050);
  for (StreamReader& keeper : keepers) {
    for (int frame = 0; frame < 260; ++frame) {
      next(keeper);
    }
  }
  StreamReader other = stage.open("types=b");
  for (int frame = 0; frame < 6; ++frame) {
    stage.send("b-" + std::to_string(frame), "b");
  }
  for (int frame = 0; frame < 6; ++frame) {
    CHECK(stage.ack(next(other)) == "settled");
  }
}

TEST_CASE("A stream for types of which none can come is refused with the reason and the remedy") {
  const json hooks = json::array({{{"types", "order.*"}, {"url", "http://127.0.0.1:1/hook"}},
                                  {{"types", "job.urgent"}, {"url", "http://127.0.0.1:1/hook"}}});
  Stage stage({{"deliver", hooks}, {"pull", json::array({"job.*", "order.*", "invoice"})}});
  for (const char* types : {"job.*", "job.urgent*", "job.a", "jo*", "*", "invoice", "inv*"}) {
    CHECK_MESSAGE(stage.open(std::string("types=") + types).status() == 200, types);
  }
  const auto detail = [&](const std::string& types) {
    const HttpReply reply = stage.serve().asker().ask("GET", kStream + "?types=" + types);
    CHECK_MESSAGE(reply.status == 422, types);
    return json::parse(reply.body).value("detail", "");
  };
  const std::string unnamed = detail("invoice.*");
  CHECK(unnamed.find("'invoice.*'") != std::string::npos);
  CHECK(unnamed.find("add the type to inbox.pull") != std::string::npos);
  CHECK(unnamed.find("job.*, order.*, invoice") != std::string::npos);
  CHECK(detail("job").find("add the type to inbox.pull") != std::string::npos);
  CHECK(detail("invoices").find("add the type to inbox.pull") != std::string::npos);
  CHECK(detail("").find("add the type to inbox.pull") != std::string::npos);
  // These go to an application, whatever pull says.
  for (const char* types : {"order.*", "order.placed", "job.urgent"}) {
    CHECK_MESSAGE(detail(types).find("out of inbox.deliver") != std::string::npos, types);
  }
}

TEST_CASE("A frame that was kept behind another goes to a stream once the configuration names its type") {
  Stage stage(json{{"pull", json::array({"job"})}});
  stage.send("s", "job");
  stage.awaitHeld(1);
  stage.send("s", "invoice");
  stage.inboxOnce([](const json& frames) { return frames.size() == 2; });
  stage.restart(json{{"pull", json::array({"job", "invoice"})}});
  StreamReader stream = stage.open();
  for (const char* type : {"job", "invoice"}) {
    const json line = next(stream);
    CHECK(line.at("event").at("type") == type);
    CHECK(stage.ack(line) == "settled");
  }
  CHECK(stage.serve().logged("no-application").empty());
}

TEST_CASE("What cannot be a settlement is refused as a whole, and an unknown receipt is gone") {
  Stage stage;
  StreamReader stream = stage.open();
  stage.send("s-1");
  const json line = next(stream);
  const std::string receipt = line.at("receipt");
  const auto status = [&](const std::string& body) { return stage.post(body).status; };
  const auto one = [&](const std::string& members) {
    return status("{\"settlements\":[{\"receipt\":\"" + receipt + "\"" + members + "}]}");
  };
  CHECK(status("") == 422);
  CHECK(status("[]") == 422);
  CHECK(status("{\"settlements\":[]}") == 422);
  CHECK(status("{\"settlements\":[7]}") == 422);
  CHECK(status("{\"settlements\":[{\"outcome\":\"ack\"}]}") == 422);
  CHECK(one("") == 422);
  CHECK(one(",\"outcome\":\"nack\"") == 422);
  CHECK(one(",\"outcome\":\"reject\"") == 422);
  CHECK(one(",\"outcome\":\"reject\",\"reason\":\"r\",\"code\":\"\"") == 422);
  CHECK(one(",\"outcome\":\"reject\",\"reason\":\"r\",\"code\":\"" + std::string(129, 'x') + "\"") == 422);
  CHECK(one(",\"outcome\":\"reject\",\"reason\":\"r\",\"code\":\"x\\u0000\"") == 422);
  CHECK(one(",\"outcome\":\"retry\",\"code\":\"c\"") == 422);
  CHECK(one(",\"outcome\":\"ack\",\"reason\":\"r\"") == 422);
  CHECK(one(",\"outcome\":\"ack\",\"result\":{\"a\"}") == 422);
  CHECK(one(",\"outcome\":\"ack\",\"result\":\"" + std::string(70'000, 'x') + "\"") == 422);
  CHECK(one(",\"outcome\":\"retry\",\"after\":\"soon\"") == 422);
  CHECK(one(",\"outcome\":\"ack\",\"more\":1") == 422);
  const json ack = {{"receipt", receipt}, {"outcome", "ack"}};
  json settlements = json::array({{{"receipt", "nonsense"}, {"outcome", "ack"}},
                                  {{"receipt", receipt + "0"}, {"outcome", "ack"}},
                                  {{"receipt", "-"}, {"outcome", "release"}},
                                  ack,
                                  ack});
  const HttpReply reply = stage.post(json{{"settlements", settlements}}.dump());
  CHECK(reply.status == 200);
  std::string statuses;
  const json answer = json::parse(reply.body);
  for (const json& result : answer.at("results")) {
    statuses += result.at("status").get<std::string>() + " ";
  }
  CHECK(statuses == "gone gone gone settled gone ");
}

TEST_CASE("Without a stream frames wait uncharged, it is in the log once, and others are pushed meanwhile") {
  const json hook = {{"types", "order.*"}, {"url", "http://127.0.0.1:1/hook"}};
  Stage stage({{"deliver", json::array({hook})}, {"pull", json::array({"job.*"})}, {"concurrency", 1}});
  stage.send("j-1", "job.a");
  stage.send("j-2", "job.b");
  stage.awaitHeld(2);
  stage.send("o-1", "order.placed");
  // It is being pushed, to nobody who answers.
  stage.serve().awaitRecord("warning application-away");
  const std::vector<std::string> log = stage.serve().log();
  CHECK(std::ranges::count_if(log, [](const std::string& line) { return line.find(" no-stream ") != line.npos; }) == 1);
  for (const json& frame : stage.inbox()) {
    CHECK(frame.at("retry_count") == 0);
  }
  const json waiting = stage.inbox();
  REQUIRE(waiting.size() == 3);
  CHECK(waiting[0].at("waits_for") == "a stream for its type and session to be opened");
  CHECK(waiting[1].at("waits_for") == waiting[0].at("waits_for"));
  CHECK(waiting[0].at("state") == "unattended");
  const std::string figures = stage.serve().asker().ask("GET", "/metrics").body;
  CHECK(figures.find("ackbox_application_up{way=\"pull\",types=\"job.*\"} 0\n") != std::string::npos);
  const std::string unknown = stage.send("s-1", "invoice.sent");
  StreamReader stream = stage.open();
  CHECK(sessionOf(next(stream)) == "j-1");
  CHECK(sessionOf(next(stream)) == "j-2");
  while (stage.sender().find(unknown).value().retryCount == 0) {
  }
}

TEST_CASE("P13: without any application both sides say so, in the same words everywhere, until one is there") {
  Stage stage({{"pull", json::array({"*"})}, {"concurrency", 1}});
  const std::string id = stage.send("s-1");
  stage.send("s-1");
  const json waiting = stage.inboxOnce([](const json& all) {
    return all.size() == 2 && all[0].at("state") == "unattended" && all[0].at("waits_for") != "";
  });
  CHECK(waiting[1].at("state") == "behind");
  const auto body = [&](const std::string& target) { return stage.serve().asker().ask("GET", target).body; };
  // Until the file has it.
  while (body("/v1/inbox?state=unattended").find("\"message_id\"") == std::string::npos) {
  }
  const std::string text = "2 frames wait for an application; type order.<wbr>placed has had none for ";
  CHECK(body("/").find(text) != std::string::npos);
  CHECK(body("/").find("All is well") == std::string::npos);
  CHECK(body("/metrics").find("\nackbox_unattended_frames 2\n") != std::string::npos);
  CHECK(body("/inbox").find("data-state=\"unattended\"") != std::string::npos);
  // The sender asks, and gets to know it with the answer.
  const OutboxReader sender(stage.sender());
  while (!sender.peerStats().at(0).unattendedSince) {
  }
  CHECK(sender.peerStats().at(0).unattendedType == "order.placed");
  // Until it is not being asked for.
  while (sender.explain(id)->sentence.find("it waits for an application: when the peer last answered, it had none for "
                                           "type order.placed, since ") == std::string::npos) {
  }
  CHECK(stage.sender().find(id).value().retryCount == 0);
  StreamReader stream = stage.open();
  const json line = next(stream);
  const json held = stage.inboxOnce([](const json& all) { return all[0].at("state") == "running"; });
  CHECK(held[0].at("in_hand_of").get<std::string>().starts_with("a stream for types * since "));
  while (sender.peerStats().at(0).unattendedSince) {
  }
  CHECK(stage.ack(line) == "settled");
}

TEST_CASE("The end of the daemon waits for what a stream's application works on, and then ends the stream") {
  Stage stage;
  StreamReader stream = stage.open();
  stage.send("s-1");
  stage.send("s-1");
  const json line = next(stream);
  stage.inboxOnce([](const json& all) { return all.size() == 2; });
  const std::string url = stage.serve().server().url();
  const std::string file = stage.serve().path("agent.db");
  HttpAsker asker = stage.serve().asker();
  std::future<void> ended = std::async(std::launch::async, [&] { stage.serve().end(); });
  while (isReady(url)) {
  }
  const json ack = {{"receipt", line.at("receipt")}, {"outcome", "ack"}};
  const HttpReply reply = asker.ask("POST", "/v1/inbox/settle", json{{"settlements", json::array({ack})}}.dump());
  CHECK(json::parse(reply.body).at("results").at(0).at("status") == "settled");
  CHECK(stream.hasEnded());
  ended.get();
  const InboxPage page = OutboxReader::open(file).inbox({});
  REQUIRE(page.frames.size() == 1);
  CHECK(page.frames[0].retryCount == 0);
}

TEST_CASE("The end of the daemon charges nothing to what a stream has") {
  Stage stage({{"pull", json::array({"*"})}}, Settings{{"outbox.stop_timeout", "50ms"}});
  StreamReader stream = stage.open();
  stage.send("s-1");
  next(stream);
  const std::string file = stage.serve().path("agent.db");
  stage.serve().end();
  CHECK(stream.hasEnded());
  const InboxPage page = OutboxReader::open(file).inbox({});
  REQUIRE(page.frames.size() == 1);
  CHECK(page.frames[0].retryCount == 0);
}

TEST_CASE("hostile: an application that does not read its stream: no more than a bound, and others get the rest") {
  Stage stage;
  StreamReader silent(testing::RawConnection(stage.serve().server().port(), 4096), kStream + "?window=1024");
  // More than the socket's buffers and the bound.
  constexpr int kFrames = 60;
  const std::string data = "\"" + std::string(200'000, 'x') + "\"";
  for (int number = 0; number < kFrames; ++number) {
    stage.send("s-" + std::to_string(number), "order.placed", data);
  }
  stage.awaitHeld(kFrames);
  StreamReader reading = stage.open();
  const json line = next(reading);
  CHECK(stage.ack(line) == "settled");
}

TEST_CASE("hostile: a client that sends on and on while its stream is open: cut at a bound") {
  Stage stage;
  StreamReader stream = stage.open();
  stream.connection().sendWhileTaken(std::string(100'000, '\n'));
  CHECK_FALSE(stream.connection().receiveAll().ends_with("0\r\n\r\n"));
}

TEST_CASE("hostile: more streams of frames than streams_max: 503") {
  Stage stage({{"pull", json::array({"*"})}}, {{"streams_max", "256"}});
  std::list<StreamReader> streams;
  for (int number = 0; number < 256; ++number) {
    streams.push_back(stage.open());
    REQUIRE(streams.back().status() == 200);
  }
  const StreamReader refused = stage.open();
  CHECK(refused.status() == 503);
  CHECK(refused.head().find("Retry-After: ") != std::string::npos);
}

TEST_CASE("A stream ends when its token is revoked, and nothing is charged for it") {
  const testing::TempDir dir;
  const std::string tokens = dir.file("tokens").string();
  const std::string kept = "kept-0123456789abcdef0123456";
  const std::string lost = "lost-0123456789abcdef0123456";
  testing::writePrivateFile(tokens, "a receive " + kept + "\nb receive,read " + lost + "\n");
  Stage stage({{"pull", json::array({"*"})}}, Settings{{"tokens_file", tokens}});
  const std::uint16_t port = stage.serve().server().port();
  StreamReader revoked(port, kStream, "Authorization: Bearer " + lost + "\r\n");
  stage.send("s-1");
  CHECK(next(revoked).at("run") == 1);
  StreamReader other(port, kStream, "Authorization: Bearer " + kept + "\r\n");
  testing::writePrivateFile(tokens, "a receive " + kept + "\n");
  stage.serve().server().reload();
  CHECK(revoked.hasEnded());
  CHECK(next(other).at("run") == 2);
  CHECK(StreamReader(port, kStream).status() == 401);
}

TEST_CASE("Without inbox.pull there are no streams") {
  ServeStage stage;
  CHECK(StreamReader(stage.server().port(), kStream).status() == 404);
  CHECK(stage.asker().ask("POST", "/v1/inbox/settle", "{}").status == 404);
}

}  // namespace ackbox::serve::pull_test
