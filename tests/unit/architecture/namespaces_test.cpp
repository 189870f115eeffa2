// Goal: a name says in which folder it stands. Method: look up the namespaces that each file of include/ and src/ opens
// in the table below.

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "unit/architecture/source_tree.hpp"

namespace ackbox::test::namespaces_test {
namespace {

struct Room {
  std::string_view folder;
  std::string_view name;
};

/// The first folder that fits a file counts.
constexpr Room kRooms[] = {
    {"include/ackbox/testing/", "ackbox::testing"},
    {"include/", "ackbox"},
    // What every layer is written in.
    {"src/base/", "ackbox"},
    {"src/c_abi/", "ackbox::c_abi"},
    {"src/cli/", "ackbox::cli"},
    {"src/delivery/", "ackbox::delivery"},
    {"src/extension/", "ackbox::extension"},
    {"src/json/", "ackbox::json"},
    {"src/location/", "ackbox::location"},
    {"src/manager/", "ackbox::manager"},
    {"src/protocol/", "ackbox::protocol"},
    {"src/reception/", "ackbox::reception"},
    {"src/records/", "ackbox::records"},
    {"src/serve/page/", "ackbox::serve::page"},
    {"src/serve/", "ackbox::serve"},
    {"src/sqlite/", "ackbox::sqlite"},
    {"src/store/sqlite/", "ackbox::store::sqlite"},
    {"src/postgres/", "ackbox::postgres"},
    {"src/store/postgres/", "ackbox::store::postgres"},
    {"src/store/", "ackbox::store"},
    {"src/testing/", "ackbox::testing"},
    {"src/transport/", "ackbox::transport"},
};

/// Files that hold only bodies of what a public header declares.
constexpr std::string_view kPublicBodies[] = {
    "src/manager/facade/async.cpp",
    "src/manager/facade/deferred_frame.cpp",
    "src/manager/facade/diagnosis.cpp",
    "src/manager/facade/export.cpp",
    "src/manager/facade/inbound_handler.cpp",
    "src/manager/facade/outbox_manager.cpp",
    "src/manager/facade/outbox_operator.cpp",
    "src/manager/facade/outbox_reader.cpp",
    "src/manager/facade/outbox_writer.cpp",
    "src/manager/facade/prometheus_text.cpp",
    "src/manager/facade/pull.cpp",
    "src/manager/facade/router.cpp",
    "src/manager/facade/sentence.cpp",
    "src/manager/log/log_text.cpp",
    "src/transport/certificate.cpp",
    "src/transport/http_sender.cpp",
    "src/transport/mailbox_fetcher.cpp",
    "src/transport/inbound_server.cpp",
    "src/manager/postgres/handler_connection.cpp",
    "src/manager/postgres/migrating.cpp",
    "src/manager/postgres/moving.cpp",
    "src/manager/postgres/opening.cpp",
    "src/manager/postgres/pg_outbox_writer.cpp",
};

/// What a line opens: `namespace a::b {`; empty: no namespace, or one without a name.
std::string_view namespaceIn(std::string_view line) {
  constexpr std::string_view kBegin = "namespace ";
  constexpr std::string_view kEnd = " {";
  if (!line.starts_with(kBegin) || !line.ends_with(kEnd)) {
    return {};
  }
  line.remove_prefix(kBegin.size());
  line.remove_suffix(std::min(kEnd.size(), line.size()));
  return line;
}

/// Whether the file opens `name`, or one within it.
bool opens(const std::string& file, std::string_view name) {
  return std::ranges::any_of(readLines(file), [&](const SourceLine& line) {
    const std::string_view opened = namespaceIn(line.text);
    return opened == name || (opened.starts_with(name) && opened.substr(name.size()).starts_with("::detail"));
  });
}

}  // namespace

TEST_CASE("a file's names are in the namespace of its folder") {
  for (const std::string& file : sourceFiles({"include", "src"}, {".hpp", ".cpp"})) {
    const auto* const room =
        std::ranges::find_if(kRooms, [&](const Room& one) { return file.starts_with(one.folder); });
    REQUIRE_MESSAGE(room != std::end(kRooms), file << " is in no folder of the table in this test");
    const bool isPublicBody = std::ranges::find(kPublicBodies, file) != std::end(kPublicBodies);
    if (file != "src/cli/main.cpp") {
      const std::string_view name = isPublicBody ? "ackbox" : room->name;
      CHECK_MESSAGE(opens(file, name), file << " does not open namespace " << name);
    }
  }
}

}  // namespace ackbox::test::namespaces_test
