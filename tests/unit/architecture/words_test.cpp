// Goal: one word per idea, and the field's own: a name that was replaced does not come back. The texts speak of the
// project alone: not of the sessions in which they were written, of tools, of a machine's paths or of package hosts.
// Method: search the library's sources and documents for the old names, each of which stands here with the one to use;
// for paths of home folders; and for links to hosts that are not known.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "unit/architecture/source_tree.hpp"

namespace ackbox::test::words_test {
namespace {

struct OldWord {
  std::string_view old;
  std::string_view use;
};

// Names of types, functions and files. They are found at the beginning of a longer name, too.
constexpr auto kOldNames = std::to_array<OldWord>({
    {"Orders", "Holds"},
    {"Halts", "HoldSnapshot"},
    {"obey(", "applyHolds"},
    {"PeerMemory", "PeerResets"},
    {"peer_memory", "peer_resets"},
    {"PeerNews", "PeerIdentity"},
    {"amnesia", "reset: a peer's database was lost or restored"},
    {"Amnesia", "reset: a peer's database was lost or restored"},
    {"Hindrance", "BlockReason"},
    {"hindrance", "block reason"},
    {"giveWay", "evict"},
    {"gaveWay", "evicted"},
    {"GiveWay", "Evict"},
    {"Impatience", "NoBusyTimeout"},
    {"Adviser", "PolicyLookup"},
    {"Announcement", "StepEvents"},
    {"Bell", "Wakeup"},
    {"Door", "RunLink"},
    {"Crossing", "RunHandoff"},
    {"class Tails", "LazySessionRows"},
    {"Tails&", "LazySessionRows"},
    {"ForeignWriter", "ApplicationWriter"},
    {"foreign_writer", "application_writer"},
    {"LaterWord", "AckEventOutcome"},
    {"laterWord", "AckEventOutcome"},
    {"SessionWord", "SessionReport"},
    {"shareOfWord", "shareOfResult"},
    {"tellSender", "enqueueAckEvent"},
    {"InboundForm", "protocol::RequestForm"},
    {"GatheredLog", "BatchedLog"},
    {"gathered_log", "batched_log"},
    {"NewsQueue", "CommitQueue"},
    {"ClaimBlocks", "ClaimBits"},
    {"EarlyClaim", "nothing: a message is claimed by a step"},
    {"CoveredClaims", "nothing: claims are exact"},
    {"the seed's", "what it is; a seed is what a random generator begins with"},
});

// Everyday words that stood for several ideas each, in names and in prose.
constexpr auto kEverydayWords = std::to_array<OldWord>({
    {"is none", "a sentence about what is missing: empty if it has no example"},
    {"told", "called with, reported, known"},
    {"tell", "report, call, distinguish"},
    {"tells", "reports, calls, distinguishes"},
    {"Tells", "reports, calls, distinguishes"},
    {"Told", "called when"},
    {"hear", "receive"},
    {"heard", "received"},
    {"news", "newRows, or PeerIdentity"},
    {"whom", "the peer, thread or function that is meant"},
    {"whoever", "the peer, thread or function that is meant"},
    {"Whoever", "the peer, thread or function that is meant"},
    {"save", "but, or except"},
});
// `Writer::AfterRelease` is what a commit calls when the store is free.
constexpr auto kWithTell = std::to_array<std::string_view>({"src/store/writer.hpp", "src/store/writer.cpp"});

// Words with several meanings, and the folders that do without them.
struct LocalWord {
  std::string_view folder;
  OldWord word;
};
constexpr auto kLocalWords = std::to_array<LocalWord>({
    {"src/delivery/", {"lane", "unorderedQueue, or the session"}},
    {"src/manager/", {"lane", "unorderedQueue, queue, or the session"}},
    {"src/cli/", {"lane", "the peer, or the session"}},
    {"src/sqlite/", {"lane", "unorderedQueue, or the session"}},
    {"src/transport/", {"lane", "the session"}},
    {"src/protocol/", {"lane", "the session"}},
    {"src/testing/", {"lane", "the session"}},
    {"include/", {"lane", "the session"}},
});

// What a link may lead to, and the hosts of examples.
constexpr auto kHosts = std::to_array<std::string_view>({
    "alice.example.com",
    "carol.example.com",
    "hub.example.com",
    "www.sqlite.org",
    "www.standardwebhooks.com",
    "127.0.0.1",
    "address",
});

// Where people's own files are.
constexpr auto kHomes = std::to_array<std::string_view>({"/root/", "/home/", "/Users/"});

bool isNameCharacter(char character) {
  return std::isalnum(static_cast<unsigned char>(character)) != 0 || character == '_';
}

/// Whether a name in `text` begins with `word`: nothing of a name stands before it, and no small letter after it, which
/// would make it another word.
bool hasName(std::string_view text, std::string_view word) {
  for (std::size_t place = text.find(word); place != std::string_view::npos; place = text.find(word, place + 1)) {
    const std::size_t end = place + word.size();
    const bool begins = place == 0 || !isNameCharacter(text[place - 1]);
    const bool ends = end == text.size() || std::islower(static_cast<unsigned char>(text[end])) == 0;
    if (begins && ends) {
      return true;
    }
  }
  return false;
}

/// The host's name that begins at `place`; empty: none does.
std::string_view hostAt(std::string_view text, std::size_t place) {
  std::size_t end = place;
  while (end < text.size() && (isNameCharacter(text[end]) || text[end] == '.' || text[end] == '-')) {
    ++end;
  }
  return text.substr(place, end - place);
}

std::vector<std::string> texts() {
  std::vector<std::string> files = sourceFiles({"include", "src", "docs"}, {".hpp", ".cpp", ".txt", ".md"});
  files.insert(files.end(), {"README.md", "ARCHITECTURE.md"});
  return files;
}

}  // namespace

TEST_CASE("names that were replaced do not come back") {
  for (const std::string& file : texts()) {
    const std::vector<SourceLine> lines = readLines(file);
    CHECK_MESSAGE(!lines.empty(), file << " is empty or missing");
    for (const SourceLine& line : lines) {
      for (const OldWord& word : kOldNames) {
        CHECK_MESSAGE(!hasName(line.text, word.old), describe(line) << "\n\"" << word.old << "\" is now: " << word.use);
      }
    }
  }
}

TEST_CASE("a word with several meanings stays out of the folders that do without it") {
  for (const std::string& file : texts()) {
    for (const auto& entry : kLocalWords) {
      if (!file.starts_with(entry.folder)) {
        continue;
      }
      const OldWord& word = entry.word;
      for (const SourceLine& line : readLines(file)) {
        CHECK_MESSAGE(!hasName(line.text, word.old), describe(line)
                                                         << "\n\"" << word.old << "\" is here: " << word.use);
      }
    }
  }
}

TEST_CASE("everyday words that stood for several ideas stay out") {
  for (const std::string& file : texts()) {
    if (std::ranges::find(kWithTell, file) != kWithTell.end()) {
      continue;
    }
    for (const SourceLine& line : readLines(file)) {
      for (const OldWord& word : kEverydayWords) {
        CHECK_MESSAGE(!hasName(line.text, word.old), describe(line) << "\n\"" << word.old << "\" is now: " << word.use);
      }
    }
  }
}

TEST_CASE("the texts name no home folders, and no hosts but those that are listed here") {
  for (const std::string& file : texts()) {
    for (const SourceLine& line : readLines(file)) {
      const std::string_view text = line.text;
      const auto isIn = [text](std::string_view home) { return text.find(home) != std::string_view::npos; };
      CHECK_MESSAGE(std::ranges::none_of(kHomes, isIn), describe(line) << "\nsay it without a folder of one machine");
      for (const std::string_view scheme : {"http://", "https://"}) {
        for (std::size_t place = text.find(scheme); place != text.npos; place = text.find(scheme, place + 1)) {
          const std::string_view host = hostAt(text, place + scheme.size());
          const bool isKnown = host.empty() || std::ranges::find(kHosts, host) != kHosts.end();
          CHECK_MESSAGE(isKnown, describe(line) << "\nadd " << host << " to the list here, if a reader needs the link");
        }
      }
    }
  }
}

TEST_CASE("a name is found in code and prose, and not inside another word") {
  CHECK(hasName("class Bell {", "Bell"));
  CHECK(hasName("BellQueue queue;", "Bell"));
  CHECK(hasName("after amnesia, it begins", "amnesia"));
  CHECK_FALSE(hasName("label the doorBell", "Bell"));
  CHECK_FALSE(hasName("Bellows", "Bell"));
}

}  // namespace ackbox::test::words_test
