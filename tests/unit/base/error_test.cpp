// Goal: each Errc is a std::error_code with a stable number, a text of its own, and the right answer to "try again?".
// Method: walk the whole enum by number; values are contiguous and a new one must be added to the table below.

#include "ackbox/error.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

namespace ackbox::error_test {
namespace {

constexpr int kLastErrc = 32;

}  // namespace

TEST_CASE("every error value has a text of its own") {
  std::set<std::string> texts;
  for (int value = 1; value <= kLastErrc; ++value) {
    const std::string text = make_error_code(static_cast<Errc>(value)).message();
    CHECK_MESSAGE(text != "unknown ackbox error", value);
    CHECK_MESSAGE(texts.insert(text).second, text);
  }
}

TEST_CASE("a number outside the enum is named as unknown") {
  CHECK(errorCategory().message(0) == "unknown ackbox error");
  CHECK(errorCategory().message(kLastErrc + 1) == "unknown ackbox error");
  CHECK(errorCategory().message(-1) == "unknown ackbox error");
}

TEST_CASE("the error numbers are stable") {
  CHECK(static_cast<int>(Errc::databaseBusy) == 1);
  CHECK(static_cast<int>(Errc::invalidOption) == 10);
  CHECK(static_cast<int>(Errc::unknownMessage) == 14);
  CHECK(static_cast<int>(Errc::unknownPeer) == 23);
  CHECK(static_cast<int>(Errc::databaseReplaced) == 24);
  CHECK(static_cast<int>(Errc::outOfDescriptors) == 25);
  CHECK(static_cast<int>(Errc::secretsUnreadable) == 26);
  CHECK(static_cast<int>(Errc::otherProcess) == 27);
  CHECK(static_cast<int>(Errc::schemaTooOld) == 28);
  CHECK(static_cast<int>(Errc::schemaOutdated) == 29);
  CHECK(static_cast<int>(Errc::pooledConnection) == 30);
  CHECK(static_cast<int>(Errc::databaseMoved) == 31);
  CHECK(static_cast<int>(Errc::outcomeUnknown) == kLastErrc);
}

TEST_CASE("exactly busy, full, failing and memory-starved storage is worth another try") {
  const std::set<Errc> retryable = {Errc::databaseBusy, Errc::diskFull, Errc::ioError, Errc::outOfMemory};
  for (int value = 1; value <= kLastErrc; ++value) {
    const auto errc = static_cast<Errc>(value);
    CHECK_MESSAGE(isRetryable(errc) == retryable.contains(errc), value);
  }
  CHECK_FALSE(isRetryable({}));
  CHECK_FALSE(isRetryable(std::error_code(1, std::generic_category())));
}

TEST_CASE("an error compares with its value, and belongs to the category named ackbox") {
  const std::error_code error = Errc::diskFull;
  CHECK(error == Errc::diskFull);
  CHECK(error != Errc::ioError);
  CHECK(std::string(error.category().name()) == "ackbox");
  CHECK(error != std::error_code(static_cast<int>(Errc::diskFull), std::generic_category()));
}

TEST_CASE("a thrown Error tells the circumstances first and the cause after") {
  const Error error(Errc::cannotOpen, "/tmp/none/outbox.db");
  CHECK(error.code() == Errc::cannotOpen);
  CHECK(std::string(error.what()) == "/tmp/none/outbox.db: " + make_error_code(Errc::cannotOpen).message());
}

}  // namespace ackbox::error_test
