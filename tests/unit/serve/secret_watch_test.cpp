// Goal: secrets that cannot be used are told in the log, the figures and the page, although no request needs them
// (P13). Method: the watch on a clock and an executor that the test moves; the views with what it has found.

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "ackbox/log.hpp"
#include "serve/config/secret_watch.hpp"
#include "serve/page/views.hpp"
#include "support/manual_clock.hpp"
#include "support/temp_dir.hpp"

namespace ackbox::serve::secret_watch_test {
namespace {

constexpr const char* kSecret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";

struct Watched {
  /// As many peers, each with a file of its own.
  explicit Watched(int peers = 1) {
    for (int index = 0; index < peers; ++index) {
      write(index, kSecret);
      config.outbox.peers.push_back(
          {.name = "peer" + std::to_string(index), .secrets = SecretSource::file(file(index))});
    }
    config.outbox.peers.push_back({.name = "without"});
    config.outbox.log = [this](const LogRecord& record) { log.push_back(toKeyValue(record)); };
    watch = std::make_shared<SecretWatch>(context.get_executor(), clock, config);
    watch->start();
    pass(std::chrono::seconds(0));
  }

  [[nodiscard]] std::filesystem::path file(int index) const { return dir.file("key" + std::to_string(index)); }
  void write(int index, const std::string& text) const { std::ofstream(file(index)) << text << '\n'; }
  void pass(std::chrono::milliseconds time) {
    clock->advance(time);
    context.restart();
    context.poll();
  }
  void passTenSeconds() {
    for (int second = 0; second < 10; ++second) {
      pass(std::chrono::seconds(1));
    }
  }
  [[nodiscard]] std::string figures() const {
    protocol::Exposition out(MetricsFormat::prometheus);
    watch->write(out);
    return out.take();
  }

  testing::TempDir dir;
  boost::asio::io_context context;
  std::shared_ptr<testing::ManualClock> clock = std::make_shared<testing::ManualClock>();
  Config config;
  std::vector<std::string> log;
  std::shared_ptr<SecretWatch> watch;
};

}  // namespace

TEST_CASE("P13: secrets that were deleted, emptied or broken are told once, with the cause, and so is their return") {
  Watched stage;
  stage.passTenSeconds();
  CHECK(stage.log.empty());
  CHECK(stage.watch->problems().empty());
  CHECK(stage.figures().find("ackbox_secrets_usable{use=\"peers\",name=\"peer0\"} 1\n") != std::string::npos);
  CHECK(stage.figures().find("without") == std::string::npos);
  const auto breakBy = [&](const char* text) {
    stage.log.clear();
    std::filesystem::remove(stage.file(0));
    if (text != nullptr) {
      stage.write(0, text);
    }
    stage.passTenSeconds();
    stage.passTenSeconds();
    REQUIRE(stage.log.size() == 1);
    CHECK(stage.log[0].find(" warning secrets-unusable use=peers name=peer0 cause=") != std::string::npos);
    REQUIRE(stage.watch->problems().size() == 1);
    CHECK(stage.figures().find("ackbox_secrets_usable{use=\"peers\",name=\"peer0\"} 0\n") != std::string::npos);
    const std::string cause = stage.watch->problems()[0].cause;
    stage.write(0, kSecret);
    stage.passTenSeconds();
    REQUIRE(stage.log.size() == 2);
    CHECK(stage.log[1].find(" info secrets-back use=peers name=peer0 ") != std::string::npos);
    CHECK(stage.watch->problems().empty());
    return cause;
  };
  CHECK(breakBy(nullptr).find("key0") != std::string::npos);
  CHECK(breakBy("# none") == "there is no secret");
  const std::string broken = breakBy("whsec_no-base64");
  CHECK_FALSE(broken.empty());
  CHECK(broken.find("no-base64") == std::string::npos);
}

TEST_CASE("P13: headers that are gone or malformed are told like secrets, and their text is not") {
  Watched stage(0);
  stage.write(7, "X-Key: hidden");
  stage.config.outbox.peers.push_back({.name = "bob", .headers = SecretSource::file(stage.file(7))});
  stage.config.inbox.emplace().deliver.push_back(
      {.url = "http://127.0.0.1:1/?key=hidden", .headers = SecretSource::file(stage.file(7))});
  stage.watch = std::make_shared<SecretWatch>(stage.context.get_executor(), stage.clock, stage.config);
  stage.watch->start();
  stage.pass(std::chrono::seconds(0));
  stage.passTenSeconds();
  CHECK(stage.log.empty());
  stage.write(7, "# none");
  stage.passTenSeconds();
  REQUIRE(stage.log.size() == 2);
  const std::string told = stage.log[0] + stage.log[1];
  CHECK(told.find("use=peers.headers name=bob cause=\"there is no header\"") != std::string::npos);
  CHECK(told.find("use=inbox.deliver.headers name=http://127.0.0.1:1/ ") != std::string::npos);
  stage.write(7, "hidden");
  stage.passTenSeconds();
  REQUIRE(stage.watch->problems().size() == 2);
  CHECK(stage.watch->problems()[0].cause.find("headers[0]: must be a header") != std::string::npos);
  CHECK(stage.watch->problems()[0].cause.find("hidden") == std::string::npos);
}

TEST_CASE("P13: the secrets of a peer that was added at run time are watched until it is removed") {
  Watched stage;
  stage.write(7, kSecret);
  const PeerOptions added{.name = "bob", .secrets = SecretSource::file(stage.file(7))};
  stage.watch->watchAdded(added, nullptr);
  stage.watch->watchAdded(added, nullptr);
  stage.passTenSeconds();
  std::filesystem::remove(stage.file(7));
  stage.passTenSeconds();
  REQUIRE(stage.watch->problems().size() == 1);
  CHECK(stage.watch->problems()[0].name == "bob");
  stage.watch->forgetAdded("peer0");
  stage.watch->forgetAdded("bob");
  CHECK(stage.watch->problems().empty());
  stage.passTenSeconds();
  CHECK(stage.figures().find("bob") == std::string::npos);
  CHECK(stage.figures().find("peer0") != std::string::npos);
}

TEST_CASE("Each of many secrets is looked at within eleven seconds, a part each second") {
  Watched stage(95);
  for (int index = 0; index < 95; ++index) {
    std::filesystem::remove(stage.file(index));
  }
  stage.pass(std::chrono::seconds(1));
  CHECK(stage.watch->problems().size() == 10);
  stage.passTenSeconds();
  CHECK(stage.watch->problems().size() == 95);
  stage.watch->stop();
  stage.write(0, kSecret);
  stage.passTenSeconds();
  stage.passTenSeconds();
  CHECK(stage.watch->problems().size() == 95);
}

TEST_CASE("P13: the overview names the worst trouble of the process, and Doctor names each with what to do") {
  const page::View view;
  page::Overview overview;
  const records::Symptom disk{"disk", records::Weight::problem, "nothing can be written", "free some space"};
  const records::Symptom secrets{"secrets", records::Weight::warning, "the secrets of bob are gone", "bring them back"};
  const auto shows = [&](const char* text) {
    return overviewView(view, overview).str().find(text) != std::string::npos;
  };
  CHECK(shows("All is well"));
  overview.troubles = {secrets};
  CHECK(shows("data-level=\"warning\""));
  CHECK(shows("The secrets of bob are gone."));
  records::PeerFigures away;
  away.figures.peer = "carol";
  away.figures.pending = 1;
  away.circuit.state = PeerState::down;
  overview.peers = {away};
  CHECK(shows("Peer carol has been down"));
  overview.troubles = {disk, secrets};
  CHECK(shows("Nothing can be written."));
  page::Checkup checkup;
  checkup.troubles = overview.troubles;
  const std::string doctor = page::doctorView(view, checkup).str();
  for (const records::Symptom& trouble : overview.troubles) {
    CHECK(doctor.find(trouble.text) != std::string::npos);
    CHECK(doctor.find(trouble.advice) != std::string::npos);
  }
}

}  // namespace ackbox::serve::secret_watch_test
