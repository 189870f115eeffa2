// Goal: the folders are the diagram. Includes point one way, and what a layer must not know it cannot include.
// Method: read every #include line of include/ and src/ and look it up in the tables below.

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "unit/architecture/source_tree.hpp"

namespace ackbox::test::layers_test {
namespace {

struct Layer {
  std::string_view folder;
  /// What its quoted includes may begin with: folders, or single headers of a sibling.
  std::vector<std::string_view> own;
  /// Outside libraries that it may include besides std and POSIX.
  std::vector<std::string_view> libraries;
};

const std::vector<Layer>& layers() {
  static const std::vector<Layer> all = {
      // What asynchronous completion needs is async.hpp's alone; the first layer that fits a file counts.
      {"include/ackbox/async.hpp",
       {"ackbox/"},
       {"boost/asio/any_completion_handler.hpp", "boost/asio/any_io_executor.hpp", "boost/asio/async_result.hpp",
        "boost/system/error_code.hpp"}},
      {"include/ackbox/", {"ackbox/"}, {"boost/asio/any_io_executor.hpp"}},
      {"src/base/", {"ackbox/", "base/"}, {"boost/asio/", "boost/system/"}},
      // JSON text, and lines of it; a tree only where a line's text is escaped.
      {"src/json/", {"ackbox/", "base/", "json/"}, {"nlohmann/", "simdjson"}},
      {"src/protocol/", {"ackbox/", "base/", "json/", "protocol/"}, {"simdjson", "openssl/", "boost/uuid/"}},
      {"src/delivery/", {"ackbox/", "base/", "delivery/"}, {}},
      {"src/reception/", {"ackbox/", "base/", "delivery/check.hpp", "reception/"}, {}},
      // SQLite itself: nothing here knows a table of the outbox.
      {"src/sqlite/", {"ackbox/", "base/", "sqlite/"}, {"SQLiteCpp/", "sqlite3.h"}},
      {"src/store/sqlite/",
       {"ackbox/", "base/", "sqlite/", "store/", "delivery/types.hpp", "delivery/transition.hpp",
        "reception/types.hpp"},
       {"SQLiteCpp/", "sqlite3.h"}},
      // PostgreSQL's library: nothing here knows a table of the outbox.
      {"src/postgres/", {"ackbox/", "base/", "postgres/"}, {"libpq-fe.h"}},
      {"src/store/postgres/",
       {"ackbox/", "base/", "postgres/", "store/", "delivery/types.hpp", "delivery/transition.hpp",
        "reception/types.hpp"},
       {"libpq-fe.h"}},
      // What any store decides by itself.
      {"src/store/decisions/",
       {"ackbox/", "base/", "store/decisions/", "store/reader.hpp", "store/types.hpp", "delivery/types.hpp",
        "delivery/transition.hpp"},
       {}},
      // The seam: what any store can serve. Failures alone are read here, those of an application's statements too.
      {"src/store/failure.cpp", {"ackbox/", "sqlite/statement.hpp", "store/failure.hpp"}, {"SQLiteCpp/Exception.h"}},
      {"src/store/",
       {"ackbox/", "base/", "store/application_lines.hpp", "store/place.hpp", "store/digest.hpp", "store/job.hpp",
        "store/kept_out.hpp", "store/kept_session.hpp", "store/failure.hpp", "store/latency_window.hpp",
        "store/moving.hpp", "store/reader.hpp", "store/store.hpp", "store/types.hpp", "store/writer.hpp",
        "delivery/types.hpp", "delivery/transition.hpp", "reception/types.hpp"},
       {}},
      {"src/transport/",
       {"ackbox/", "base/", "transport/", "protocol/"},
       {"boost/asio", "boost/beast", "boost/system/", "boost/url", "openssl/"}},
      // An application's own connection is SQLite's.
      {"src/manager/facade/outbox_writer.cpp",
       {"ackbox/", "base/", "manager/", "sqlite/", "store/sqlite/outbound/application_writer.hpp"},
       {"boost/asio/", "SQLiteCpp/", "sqlite3.h"}},
      // The facades of the store in PostgreSQL.
      {"src/manager/postgres/",
       {"ackbox/", "base/", "manager/", "postgres/connection.hpp", "store/moving.hpp", "store/place.hpp",
        "store/postgres/outbound/application_writer.hpp", "store/postgres/connection_events.hpp",
        "store/postgres/postgres_store.hpp", "store/postgres/moving.hpp", "store/postgres/read/reader.hpp",
        "store/postgres/schema/migrating.hpp", "store/postgres/schema/new_store.hpp", "store/postgres/signs.hpp",
        "store/sqlite/moving.hpp", "store/decisions/uuid.hpp"},
       {}},
      // Of the stores, the seam and the one header that opens them.
      {"src/manager/",
       {"ackbox/", "base/", "json/", "protocol/", "delivery/", "reception/", "store/application_lines.hpp",
        "store/digest.hpp", "store/kept_session.hpp", "store/failure.hpp", "store/latency_window.hpp",
        "store/place.hpp", "store/reader.hpp", "store/store.hpp", "store/types.hpp", "store/writer.hpp",
        "store/sqlite/open.hpp", "manager/"},
       {"boost/asio/", "boost/system/", "SQLiteCpp/", "sqlite3.h"}},
      // Simulation: other processes' disks, clocks and network, under real managers.
      {"src/testing/", {"ackbox/", "base/", "protocol/", "testing/"}, {"boost/asio/", "SQLiteCpp/", "sqlite3.h"}},
      // What the tool and the daemon say of a message, a frame, a peer: one table of fields each.
      {"src/records/", {"ackbox/", "base/timestamp.hpp", "json/", "records/"}, {}},
      // The C functions over the public API, with the JSON that the tool prints.
      {"src/c_abi/",
       {"ackbox/", "ackbox.h", "base/home_process.hpp", "base/mutex.hpp", "base/own_thread.hpp", "base/pattern.hpp",
        "c_abi/", "json/", "records/"},
       {"boost/asio/any_io_executor.hpp"}},
      // Which facade opens what the user named.
      {"src/location/", {"ackbox/", "location/"}, {}},
      // The commands of the tool that run the daemon and ask it.
      {"src/serve/command.cpp", {"ackbox/", "cli/", "serve/", "transport/descriptors.hpp"}, {"boost/asio/"}},
      // The daemon: the public API over the transport's HTTP server, in the records that the tool prints.
      {"src/serve/",
       {"ackbox/", "base/", "json/", "location/", "protocol/", "records/", "transport/", "serve/"},
       {"boost/asio", "boost/system/", "nlohmann/", "openssl/"}},
      // The program is the tool with the daemon in it.
      {"src/cli/main.cpp", {"ackbox/", "cli/", "serve/command.hpp"}, {}},
      // Parts of the library on the host's SQLite: nothing of the manager but what is pure, no SQLiteCpp, no Asio.
      {"src/extension/",
       {"ackbox/", "base/", "json/", "records/", "manager/facade/enqueue.hpp", "manager/facade/sentence.hpp",
        "sqlite/statement.hpp", "store/sqlite/", "extension/"},
       {"sqlite3.h", "sqlite3ext.h"}},
      // A user of the public API only, which moves files with what SQLite keeps beside them.
      {"src/cli/",
       {"ackbox/", "base/duration.hpp", "base/timestamp.hpp", "cli/", "json/", "location/", "records/",
        "sqlite/file_names.hpp"},
       {"boost/asio", "boost/system/", "CLI/", "nlohmann/", "openssl/", "SQLiteCpp/"}},
  };
  return all;
}

/// Headers that declare an object of the library with its operations. All other headers of include/ackbox are values.
const std::vector<std::string_view>& facadeHeaders() {
  static const std::vector<std::string_view> all = {
      "ackbox/async.hpp",           "ackbox/deferred_frame.hpp",  "ackbox/http_sender.hpp",
      "ackbox/inbound_handler.hpp", "ackbox/inbound_server.hpp",  "ackbox/mailbox_fetcher.hpp",
      "ackbox/outbox_manager.hpp",  "ackbox/outbox_operator.hpp", "ackbox/outbox_reader.hpp",
      "ackbox/outbox_writer.hpp",   "ackbox/postgres.hpp",        "ackbox/pull.hpp",
      "ackbox/router.hpp",
  };
  return all;
}

bool isFacade(std::string_view header) {
  return std::ranges::find(facadeHeaders(), header) != facadeHeaders().end();
}

/// The layers below the facades, with the facades whose bodies are there.
struct Below {
  std::string_view folder;
  std::vector<std::string_view> exceptions;
};

const std::vector<Below>& belowFacades() {
  static const std::vector<Below> all = {
      {"src/base/", {}},
      {"src/protocol/", {}},
      {"src/delivery/", {}},
      {"src/reception/", {}},
      {"src/sqlite/", {}},
      {"src/postgres/", {}},
      {"src/store/", {}},
      {"src/transport/", {"ackbox/inbound_server.hpp", "ackbox/http_sender.hpp", "ackbox/mailbox_fetcher.hpp"}},
      {"src/manager/run/", {}},
      {"src/manager/log/", {}},
  };
  return all;
}

const Layer* layerOf(std::string_view file) {
  const auto found = std::ranges::find_if(layers(), [&](const Layer& layer) { return file.starts_with(layer.folder); });
  return found == layers().end() ? nullptr : &*found;
}

struct Include {
  std::string_view target;
  bool quoted = false;
};

std::optional<Include> parseInclude(std::string_view line) {
  const auto skipBlanks = [&] { line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size())); };
  skipBlanks();
  if (!line.starts_with('#')) {
    return std::nullopt;
  }
  line.remove_prefix(1);
  skipBlanks();
  if (!line.starts_with("include")) {
    return std::nullopt;
  }
  line.remove_prefix(std::string_view("include").size());
  skipBlanks();
  const bool quoted = line.starts_with('"');
  if (!quoted && !line.starts_with('<')) {
    return std::nullopt;
  }
  line.remove_prefix(1);
  return Include{line.substr(0, line.find(quoted ? '"' : '>')), quoted};
}

/// The libraries that the table speaks of; any other angle-bracket include is std or POSIX.
bool isOutsideLibrary(std::string_view target) {
  constexpr std::string_view kLibraries[] = {"boost/",   "SQLiteCpp/", "sqlite3",  "nlohmann/", "simdjson",
                                             "openssl/", "CLI/",       "doctest/", "ackbox/"};
  return std::ranges::any_of(kLibraries, [&](std::string_view library) { return target.starts_with(library); });
}

bool isAllowed(const Layer& layer, const Include& include) {
  if (!include.quoted && !isOutsideLibrary(include.target)) {
    return true;
  }
  const std::vector<std::string_view>& allowed = include.quoted ? layer.own : layer.libraries;
  return std::ranges::any_of(allowed, [&](std::string_view start) { return include.target.starts_with(start); });
}

}  // namespace

TEST_CASE("every folder of sources is a layer of the table") {
  for (const std::string& file : sourceFiles({"include", "src"}, {".hpp", ".cpp"})) {
    CHECK_MESSAGE(layerOf(file) != nullptr, file << " is in no layer: add its folder to the table in this test");
  }
}

TEST_CASE("includes point only in the directions that the layers allow") {
  std::size_t includes = 0;
  for (const std::string& file : sourceFiles({"include", "src"}, {".hpp", ".cpp"})) {
    const Layer* layer = layerOf(file);
    if (layer == nullptr) {
      continue;
    }
    for (const SourceLine& line : readLines(file)) {
      if (const std::optional<Include> include = parseInclude(line.text)) {
        ++includes;
        CHECK_MESSAGE(isAllowed(*layer, *include),
                      describe(line) << "\n"
                                     << layer->folder << " must not include this; see the table in this test");
      }
    }
  }
  CHECK(includes > 100);
}

TEST_CASE("a value header includes no facade") {
  for (const std::string& file : sourceFiles({"include/ackbox"}, {".hpp"})) {
    const std::string_view header = std::string_view(file).substr(std::string_view("include/").size());
    if (isFacade(header) || header.starts_with("ackbox/testing/")) {
      continue;
    }
    for (const SourceLine& line : readLines(file)) {
      if (const std::optional<Include> include = parseInclude(line.text)) {
        CHECK_MESSAGE(!isFacade(include->target), describe(line) << "\na value header must not include a facade");
      }
    }
  }
}

TEST_CASE("a layer below the facades includes none but those whose bodies it holds") {
  for (const std::string& file : sourceFiles({"src"}, {".hpp", ".cpp"})) {
    const auto below =
        std::ranges::find_if(belowFacades(), [&](const Below& one) { return file.starts_with(one.folder); });
    if (below == belowFacades().end()) {
      continue;
    }
    for (const SourceLine& line : readLines(file)) {
      if (const std::optional<Include> include = parseInclude(line.text)) {
        const bool isException = std::ranges::find(below->exceptions, include->target) != below->exceptions.end();
        CHECK_MESSAGE((isException || !isFacade(include->target)),
                      describe(line) << "\n"
                                     << below->folder << " must not include this facade; see the table in this test");
      }
    }
  }
}

TEST_CASE("an include is read whatever its blanks") {
  CHECK(parseInclude("#include \"store/store.hpp\"")->target == "store/store.hpp");
  CHECK(parseInclude("  #  include <boost/beast.hpp>  // why")->target == "boost/beast.hpp");
  CHECK_FALSE(parseInclude("// #include <boost/beast.hpp>").has_value());
}

}  // namespace ackbox::test::layers_test
