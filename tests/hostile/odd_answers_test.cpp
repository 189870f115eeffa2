// Goal: a status that was read settles what it is enough for, whatever follows it, and an answer that must be whole is
// taken only where nothing in it is in doubt; no connection is used again behind an answer that was odd (P11, P3).
// Method: tests/interop/odd_answers/answers.json has each form of an answer, what is made of it, and why; a scripted
// peer says it to the client, which then makes another request. That the table in README.md beside it says the same is
// a test, too.

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <future>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>

#include "ackbox/clock.hpp"
#include "ackbox/http_sender.hpp"
#include "transport/http_client.hpp"
#include "transport/http_exchange.hpp"
#include "unit/architecture/source_tree.hpp"
#include "unit/transport/io_thread.hpp"
#include "unit/transport/raw_peer.hpp"

namespace ackbox::testing::odd_answers_test {
namespace {

using nlohmann::json;
using transport::HttpAnswer;
using transport::HttpEnd;

const std::string kFolder = "tests/interop/odd_answers/";

/// A text of the file stands for bytes: one for each of its characters, which are below 256.
std::string bytesOf(const json& text) {
  std::string bytes;
  const std::string utf8 = text.get<std::string>();
  for (std::size_t at = 0; at < utf8.size(); ++at) {
    const auto first = static_cast<unsigned char>(utf8[at]);
    if (first < 0x80) {
      bytes.push_back(utf8[at]);
    } else {
      bytes.push_back(static_cast<char>(((first & 3U) << 6U) | (static_cast<unsigned char>(utf8[++at]) & 0x3fU)));
    }
  }
  return bytes;
}

void play(RawConnection& connection, const json& form) {
  connection.sendWhileTaken(bytesOf(form["bytes"]));
  if (form.contains("filler")) {
    const std::string piece = bytesOf(form["filler"]["text"]);
    std::string pieces;
    for (int count = form["filler"]["count"]; count > 0; --count) {
      pieces += piece;
    }
    connection.sendWhileTaken(pieces + bytesOf(form["filler"]["end"]));
  }
  if (form["then"] == "reset") {
    connection.awaitDelivery();
    connection.reset();
  } else if (form["then"] == "close") {
    connection.close();
  }
}

struct Outcome {
  HttpAnswer answer;
  bool isKept = false;
};

/// A request that is answered so, and then one that is answered well.
Outcome face(const json& form, bool isStatusEnough) {
  constexpr std::string_view kGood = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
  std::atomic<bool> isKept = false;
  RawServer peer({[&](RawConnection& connection) {
                    connection.receiveMessage();
                    play(connection, form);
                    if (form["then"] == "keep" && connection.receiveUntil("{}").ends_with("{}")) {
                      isKept = true;
                      connection.send(kGood);
                    }
                  },
                  [&](RawConnection& connection) {
                    connection.receiveMessage();
                    connection.send(kGood);
                  }});
  IoThread io;
  auto options = std::make_shared<HttpSenderOptions>();
  options->clock = systemClock();
  const auto client = std::make_shared<transport::HttpClient>(io.executor(), options);
  const auto ask = [&](bool isOdd) {
    transport::HttpPost post;
    post.url = transport::parseUrl(peer.url()).url.value();
    post.body = "{}";
    // What must not end by it has plenty.
    post.timeout = std::chrono::milliseconds(isOdd && !isStatusEnough && form["native"] == "none" ? 300 : 10'000);
    post.isStatusEnough = isOdd && isStatusEnough;
    auto promise = std::make_shared<std::promise<HttpAnswer>>();
    client->asyncPost(std::move(post), [promise](HttpAnswer given) { promise->set_value(std::move(given)); });
    return promise->get_future().get();
  };
  Outcome outcome;
  outcome.answer = ask(true);
  const HttpAnswer second = ask(false);
  CHECK_MESSAGE(second.end == HttpEnd::answered, second.error);
  outcome.isKept = isKept;
  client->close();
  if (isKept) {
    RawConnection(peer.port()).close();
  }
  static_cast<void>(peer.finish());
  return outcome;
}

json forms() {
  std::ifstream file(test::sourceRoot() / kFolder / "answers.json");
  return json::parse(file);
}

bool isSuccess(int status) {
  return status >= 200 && status < 300;
}

TEST_CASE("P3: a 2xx that was read counts where the status is enough, whatever follows it or does not") {
  for (const json& form : forms()) {
    CAPTURE(form["form"].get<std::string>());
    const Outcome outcome = face(form, true);
    CAPTURE(outcome.answer.error);
    const std::string expected = form["webhook"];
    CHECK((outcome.answer.end == HttpEnd::answered) == (expected != "none"));
    if (expected != "none") {
      CHECK(outcome.answer.status == form["status"].get<int>());
      CHECK(isSuccess(outcome.answer.status) == (expected == "ack"));
    }
    CHECK(outcome.isKept == form["kept"].get<bool>());
  }
}

TEST_CASE("P11: an answer that must be whole is taken where nothing in it is in doubt, and its connection kept then") {
  for (const json& form : forms()) {
    CAPTURE(form["form"].get<std::string>());
    const Outcome outcome = face(form, false);
    CAPTURE(outcome.answer.error);
    CHECK((outcome.answer.end == HttpEnd::answered) == (form["native"] == "read"));
    CHECK(outcome.isKept == form["kept"].get<bool>());
  }
}

TEST_CASE("The table of odd answers is what the tests say") {
  std::ifstream file(test::sourceRoot() / kFolder / "README.md");
  std::stringstream text;
  text << file.rdbuf();
  const auto cell = [](const json& form, const char* name) { return form[name].get<std::string>() + " | "; };
  std::string table;
  for (const json& form : forms()) {
    table += "| ";
    for (const char* name : {"form", "curl", "node", "fetch", "python", "webhook", "native"}) {
      table += cell(form, name);
    }
    table += std::string(form["kept"] ? "kept" : "closed") + " | " + form["why"].get<std::string>() + " |\n";
  }
  CHECK_MESSAGE(text.str().find(table) != std::string::npos,
                "run tests/interop/odd_answers/measure.mjs --write; the table should be\n"
                    << table);
}

}  // namespace
}  // namespace ackbox::testing::odd_answers_test
