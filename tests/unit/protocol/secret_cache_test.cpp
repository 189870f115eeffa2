// Goal: P11: a removed key is refused soon after, in whatever way it was removed, and the application gets a report.
// Method: a file of keys, changed in each way that an operator or an accident changes it; a manual clock, moved to each
// side of the bound.

#include "protocol/secret_cache.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "ackbox/error.hpp"
#include "protocol/base64.hpp"
#include "support/manual_clock.hpp"
#include "support/temp_dir.hpp"

namespace ackbox::protocol::secret_cache_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr milliseconds kGrace = minutes(10);
constexpr WallTime kThen{seconds(1'674'087'231)};
const std::string kPublic = "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";

std::string keyOf(char fill) {
  return "whsec_" + encodeBase64(std::vector<std::uint8_t>(32, static_cast<std::uint8_t>(fill)));
}

/// A file of keys and its reader.
struct Stage {
  explicit Stage(const std::string& text, milliseconds grace = kGrace) {
    write(text);
    make(SecretSource::file(file), grace);
  }
  explicit Stage(SecretSource source) { make(std::move(source), kGrace); }

  void make(SecretSource source, milliseconds grace) {
    cache.emplace(std::move(source), clock, grace, [this](std::string_view what) {
      told.emplace_back(what);
      throw std::runtime_error("a listener's defect");
    });
  }
  void write(const std::string& text) const { std::ofstream(file, std::ios::trunc) << text; }
  [[nodiscard]] bool verifies(char key) {
    const SignatureHeaders headers = KeyRing(std::vector{Secret(keyOf(key))}).sign("id", "{}", kThen);
    return cache->current()->verify(headers, "{}", kThen) == SignatureVerdict::valid;
  }

  testing::TempDir dir;
  std::filesystem::path file = dir.file("keys");
  std::shared_ptr<testing::ManualClock> clock = std::make_shared<testing::ManualClock>();
  std::vector<std::string> told;
  std::optional<KeyCache> cache;
};

struct Change {
  const char* what;
  std::function<void(const Stage&)> apply;
  /// The time after which the leaked key is refused; until then it is accepted.
  milliseconds bound;
  /// A part of the report to the application.
  const char* told;
};

const std::vector<Change>& changes() {
  static const std::vector<Change> all = {
      {"emptied", [](const Stage& stage) { stage.write(""); }, seconds(1), "gone"},
      {"nothing left but a comment", [](const Stage& stage) { stage.write("# none\n \n"); }, seconds(1), "gone"},
      {"replaced by another", [](const Stage& stage) { stage.write(keyOf('b')); }, seconds(1), ""},
      {"replaced by a rename",
       [](const Stage& stage) {
         std::ofstream(stage.dir.file("new")) << keyOf('b');
         std::filesystem::rename(stage.dir.file("new"), stage.file);
       },
       seconds(1), ""},
      {"one of two left", [](const Stage& stage) { stage.write(keyOf('b') + "\n" + keyOf('c')); }, seconds(1), ""},
      {"whsec_ replaced by whpk_", [](const Stage& stage) { stage.write(kPublic); }, seconds(1), "could sign"},
      {"whsec_ replaced by whsk_",
       [](const Stage& stage) { stage.write("whsk_nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A="); }, seconds(1),
       "could verify"},
      {"deleted", [](const Stage& stage) { std::filesystem::remove(stage.file); }, kGrace, "cannot be read"},
      {"broken", [](const Stage& stage) { stage.write("whsec_damaged"); }, kGrace, "secrets[0]"},
      {"broken beside a sound one", [](const Stage& stage) { stage.write(keyOf('b') + "\nwhsec_"); }, kGrace,
       "secrets[1]"},
      {"too large", [](const Stage& stage) { stage.write(std::string(70'000, 'x')); }, kGrace, "64 KiB"},
      {"a folder in its place",
       [](const Stage& stage) {
         std::filesystem::remove(stage.file);
         std::filesystem::create_directory(stage.file);
       },
       kGrace, "cannot be read"},
      {"permissions lost",
       [](const Stage& stage) {
         if (::geteuid() == 0) {
           // Permissions do not stop root; a dangling link is as unreadable.
           std::filesystem::remove(stage.file);
           std::filesystem::create_symlink(stage.dir.file("nowhere"), stage.file);
         } else {
           std::filesystem::permissions(stage.file, std::filesystem::perms::none);
         }
       },
       kGrace, "cannot be read"},
  };
  return all;
}

TEST_CASE("P11: a key that is taken away ends within its bound, whatever way it is taken away, and it is told") {
  for (const Change& change : changes()) {
    CAPTURE(change.what);
    Stage stage("# of January\n\n  " + keyOf('a') + " \r\n");
    CHECK(stage.verifies('a'));
    change.apply(stage);
    if (change.bound > seconds(1)) {
      // Used now and then, as a peer would do.
      for (milliseconds left = change.bound - milliseconds(1); left > milliseconds(0); left -= minutes(2)) {
        stage.clock->advance(std::min<milliseconds>(left, minutes(2)));
        CHECK(stage.verifies('a'));
      }
      CHECK(stage.told.size() == 1);
      stage.clock->advance(milliseconds(1));
      CHECK(stage.verifies('a') == false);
    }
    stage.clock->advance(seconds(1));
    CHECK_FALSE(stage.verifies('a'));
    CHECK(stage.told.size() == (change.bound > seconds(1) ? 2 : (*change.told == '\0' ? 0 : 1)));
    CHECK((stage.told.empty() || stage.told.front().find(change.told) != std::string::npos));
    for (const std::string& text : stage.told) {
      CHECK(text.find(keyOf('a').substr(8, 8)) == std::string::npos);
    }
  }
}

TEST_CASE("P11: the bound counts from when the keys were last read, also where nobody came in between") {
  for (const Change& change : changes()) {
    CAPTURE(change.what);
    Stage stage(keyOf('a'));
    change.apply(stage);
    stage.clock->advance(change.bound);
    CHECK_FALSE(stage.verifies('a'));
  }
}

TEST_CASE("keys come back as soon as they can be read, and a trouble that begins anew is told anew") {
  Stage stage(keyOf('a'));
  for (int round = 0; round < 2; ++round) {
    std::filesystem::remove(stage.file);
    stage.clock->advance(kGrace);
    CHECK_FALSE(stage.verifies('a'));
    stage.clock->advance(kGrace);
    CHECK_FALSE(stage.verifies('a'));
    stage.write(keyOf('a'));
    stage.clock->advance(seconds(1));
    CHECK(stage.verifies('a'));
    CHECK(stage.told.size() == static_cast<std::size_t>(round) + 1);
  }
}

TEST_CASE("a rotation is noticed after a second, and keys that are added count beside the old") {
  Stage stage(keyOf('a'));
  stage.write(keyOf('a') + "\n" + keyOf('b'));
  CHECK_FALSE(stage.verifies('b'));
  stage.clock->advance(seconds(1));
  CHECK(stage.verifies('a'));
  CHECK(stage.verifies('b'));
  CHECK(stage.told.empty());
}

TEST_CASE("without a grace a source that cannot be read ends its keys at once") {
  Stage stage(keyOf('a'), milliseconds(0));
  std::filesystem::remove(stage.file);
  stage.clock->advance(seconds(1));
  CHECK_FALSE(stage.verifies('a'));
  CHECK(stage.told.size() == 1);
}

TEST_CASE("a callback that throws does not know, and one that gives none says none") {
  int mood = 0;
  Stage stage(SecretSource::callback([&]() -> std::vector<Secret> {
    if (mood == 1) {
      throw 7;
    }
    return mood == 2 ? std::vector<Secret>() : std::vector{Secret(keyOf('a'))};
  }));
  mood = 1;
  stage.clock->advance(seconds(2));
  CHECK(stage.verifies('a'));
  mood = 2;
  stage.clock->advance(seconds(1));
  CHECK_FALSE(stage.verifies('a'));
  CHECK(stage.told.size() == 2);
}

TEST_CASE("keys that cannot be read at first are refused with the reason") {
  const testing::TempDir dir;
  CHECK_THROWS_WITH_AS(KeyCache(SecretSource::file(dir.file("none")), std::make_shared<testing::ManualClock>(), kGrace),
                       doctest::Contains("cannot be read"), Error);
}

}  // namespace
}  // namespace ackbox::protocol::secret_cache_test
