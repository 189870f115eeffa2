// Goal: a host that the extension cannot serve is refused before anything of it is used.
// Method: its entry is called as SQLite calls it, with a table of functions that says what it has to.

#include <dlfcn.h>
#include <doctest/doctest.h>

// The names of the functions are needed, not the host's table.
#define SQLITE_CORE 1
#include <sqlite3ext.h>

#include <string>

namespace ackbox::extension_test {
namespace {

using Entry = int (*)(sqlite3*, char**, const sqlite3_api_routines*);

Entry entry() {
  void* const library = dlopen(ACKBOX_EXTENSION, RTLD_NOW | RTLD_LOCAL);
  REQUIRE_MESSAGE(library != nullptr, dlerror());
  return reinterpret_cast<Entry>(dlsym(library, "sqlite3_ackbox_init"));
}

// All other places are null: a call of them would end this program.
sqlite3_api_routines hostOf(int (*version)()) {
  sqlite3_api_routines host = {};
  host.libversion_number = version;
  host.mprintf = sqlite3_mprintf;
  return host;
}

std::string refusalOf(const sqlite3_api_routines& host) {
  char* text = nullptr;
  CHECK(entry()(nullptr, &text, &host) == SQLITE_ERROR);
  const std::string refusal = text == nullptr ? "" : text;
  sqlite3_free(text);
  return refusal;
}

}  // namespace

TEST_CASE("an SQLite that is too old is refused by its version") {
  const sqlite3_api_routines host = hostOf([] { return 3'039'004; });
  CHECK(refusalOf(host) == "ackbox needs SQLite 3.40 or newer; this is 3.39");
}

TEST_CASE("a second SQLite in one process is refused") {
  sqlite3* connection = nullptr;
  REQUIRE(sqlite3_open(":memory:", &connection) == SQLITE_OK);
  REQUIRE(sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, nullptr) == SQLITE_OK);
  char* text = nullptr;
  REQUIRE(sqlite3_load_extension(connection, ACKBOX_EXTENSION, nullptr, &text) == SQLITE_OK);
  const sqlite3_api_routines other = hostOf([] { return 3'050'000; });
  CHECK(refusalOf(other) ==
        "another SQLite of this process has loaded ackbox: two of them on one file drop each other's locks");
  // `sqlite3_close` refuses while a statement is left.
  CHECK(sqlite3_close(connection) == SQLITE_OK);
}

}  // namespace ackbox::extension_test
