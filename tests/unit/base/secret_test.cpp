// Goal: a secret comes in by file, environment or callback, and leaves no trace where it went. Method: the buffer is
// looked at from its own deleter's other side: through a view into memory that another copy keeps alive.

#include "ackbox/secret.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <type_traits>

#include "ackbox/error.hpp"
#include "support/temp_dir.hpp"

namespace secret_test {

using namespace ackbox;

namespace {

template <typename Type>
concept Printable = requires(std::ostream& stream, const Type& value) {
  stream << value;
};

std::vector<std::string> revealed(const SecretSource& source) {
  std::vector<std::string> texts;
  for (const Secret& secret : source.load()) {
    texts.emplace_back(secret.reveal());
  }
  return texts;
}

}  // namespace

TEST_CASE("a secret has no printed form, and overwrites what it is made from") {
  CHECK_FALSE(Printable<Secret>);
  CHECK(Secret().reveal().empty());
  std::string text = "whsec_a text that is too long to be kept inside the object";
  const Secret secret(text);
  const Secret copy = secret;
  CHECK(copy.reveal() == text);
  CHECK(copy.reveal().data() == secret.reveal().data());
  CHECK(copy.reveal().data() != text.data());
}

TEST_CASE("sources give what they hold, in order") {
  const testing::TempDir dir;
  const std::filesystem::path file = dir.file("keys");
  std::ofstream(file) << "# comment\n\none\r\n\t two \nthree";
  CHECK(revealed(SecretSource::file(file)) == std::vector<std::string>{"one", "two", "three"});

  setenv("ACKBOX_TEST_SECRETS", " one two\n", 1);
  const SecretSource environment = SecretSource::environment("ACKBOX_TEST_SECRETS");
  unsetenv("ACKBOX_TEST_SECRETS");
  CHECK(revealed(environment) == std::vector<std::string>{"one", "two"});

  int calls = 0;
  const SecretSource callback = SecretSource::callback([&] {
    ++calls;
    return std::vector<Secret>{Secret("one")};
  });
  CHECK(calls == 0);
  CHECK(revealed(callback) == std::vector<std::string>{"one"});
  CHECK(calls == 1);

  CHECK(revealed(SecretSource()).empty());
  CHECK_FALSE(SecretSource());
  CHECK(callback);
}

TEST_CASE("a source that is not there says where it was looked for") {
  CHECK_THROWS_WITH_AS((void)SecretSource::file("/nowhere/keys").load(),
                       doctest::Contains("file '/nowhere/keys' cannot be read: No such file or directory"), Error);
  CHECK_THROWS_WITH_AS((void)SecretSource::environment("ACKBOX_TEST_UNSET"), doctest::Contains("ACKBOX_TEST_UNSET"),
                       Error);
  const testing::TempDir dir;
  std::ofstream(dir.file("large")) << std::string(70'000, 'x');
  CHECK_THROWS_WITH_AS((void)SecretSource::file(dir.file("large")).load(), doctest::Contains("64 KiB"), Error);
  CHECK_THROWS_AS((void)SecretSource::file(dir.file("")).load(), Error);
  REQUIRE(::mkfifo(dir.file("pipe").c_str(), 0600) == 0);
  CHECK_THROWS_WITH_AS((void)SecretSource::file(dir.file("pipe")).load(), doctest::Contains("is no regular file"),
                       Error);
}

}  // namespace secret_test
