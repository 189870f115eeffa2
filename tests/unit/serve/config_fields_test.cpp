// Goal: an option stands in one place: its range, its default and what it means. docs/configuration.md has the fields
// of the daemon's configuration and the options of the library as the code has them. Method: the document's tables are
// made anew from the code; ACKBOX_REGENERATE=1 writes them.

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include "base/options.hpp"
#include "protocol/inbound_options.hpp"
#include "serve/config/config.hpp"
#include "transport/option_rows.hpp"

namespace ackbox::serve::config_fields_test {
namespace {

constexpr std::string_view kBegin = "<!-- made from the code: ACKBOX_REGENERATE=1 unit_serve -->\n";

std::string inCode(const std::string& text) {
  return text.empty() ? std::string() : "`" + text + "`";
}

std::string fieldTable() {
  std::ostringstream out;
  out << "| field | type | default | range | meaning |\n|---|---|---|---|---|\n";
  for (const FieldNote& note : configFields()) {
    out << "| `" << note.path << "` | " << note.type << " | " << inCode(note.fallback) << " | " << note.range << " | "
        << note.meaning << " |\n";
  }
  return out.str();
}

template <typename Options>
void addTable(std::ostringstream& out, std::string_view name, std::span<const Option<Options>> rows) {
  out << "\n### " << name << "\n\n| option | default | range | meaning |\n|---|---|---|---|\n";
  Options options;
  for (const Option<Options>& row : rows) {
    const std::uint64_t value = valueOf(row.slot(options));
    out << "| `" << row.field << "` | " << (value == kOptionMost ? "no limit" : optionText(value, row.unit)) << " | "
        << rangeText(row.least, row.most, row.unit) << " | " << row.meaning << " |\n";
  }
}

std::string optionTables() {
  std::ostringstream out;
  addTable(out, "OutboxOptions", outboxOptionRows());
  addTable(out, "PeerOptions", peerOptionRows());
  addTable(out, "RetryPolicy", retryOptionRows());
  addTable(out, "InboundOptions", protocol::inboundOptionRows());
  addTable(out, "InboundServerOptions", transport::serverOptionRows());
  addTable(out, "HttpSenderOptions", transport::senderOptionRows());
  addTable(out, "MailboxFetcherOptions", transport::mailboxOptionRows());
  return out.str();
}

}  // namespace

TEST_CASE("the document of the options is made from their rows") {
  const std::string file = CONFIGURATION_DOCUMENT;
  std::ifstream stream(file);
  const std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  const std::size_t begin = text.find(kBegin);
  REQUIRE(begin != std::string::npos);
  const std::string made = text.substr(0, begin) + std::string(kBegin) + "\n" + fieldTable() +
                           "\n## Options of the library\n\nThe options that are numbers. The others are described "
                           "with their structures in `include/ackbox`.\n" +
                           optionTables();
  if (std::getenv("ACKBOX_REGENERATE") != nullptr) {
    std::ofstream(file) << made;
  }
  CHECK_MESSAGE(made == text, "write it anew with ACKBOX_REGENERATE=1");
}

TEST_CASE("each field of a configuration is listed once, with what it means") {
  std::set<std::string> paths;
  for (const FieldNote& note : configFields()) {
    CHECK_MESSAGE(paths.insert(note.path).second, note.path);
    CHECK_MESSAGE(!note.meaning.empty(), note.path);
    CHECK_MESSAGE(!note.type.empty(), note.path);
  }
  for (const char* const path : {"listen", "outbox.ack_timeout", "peers[].url", "inbox.deliver[].timeout",
                                 "inbox.peers[].may_ack", "sender.key_file", "log.level", "traces.url"}) {
    CHECK_MESSAGE(paths.contains(path), path);
  }
}

}  // namespace ackbox::serve::config_fields_test
