// What a peer does that has a key: mallory's was stolen, or she was never honest.

#include <string>

#include "hostile/campaign/attacks.hpp"
#include "hostile/campaign/keys.hpp"
#include "hostile/campaign/request.hpp"

namespace ackbox::campaign {
namespace {

// Batches of mallory's, one after the other on one connection, until the time is over.
template <typename MakeFrame>
std::string sendBatches(Arena& arena, const MakeFrame& makeFrame) {
  Tally tally;
  std::uint64_t acknowledged = 0;
  std::uint64_t refused = 0;
  const std::uint64_t before = arena.fileBytes();
  Line line;
  while (!arena.isOver() && arena.target().ending().empty()) {
    std::string batch;
    for (int number = 0; number < 256; ++number) {
      batch += (batch.empty() ? "[" : ",") + makeFrame();
    }
    batch += "]";
    if (line.hasEnded()) {
      line = Line(arena.port());
    }
    bool isWhole = false;
    line.sendAll(requestOf(kMallory, kMallorysKey, batch, "application/cloudevents-batch+json"), arena.deadline());
    const std::string answer = line.receiveMessage(arena.deadline(), isWhole);
    if (!isWhole) {
      line.close();
    }
    tally.add(answer.empty() && arena.isOver() ? "not answered in time" : statusOf(answer));
    const auto count = [&](std::string_view outcome) {
      std::uint64_t found = 0;
      for (std::size_t at = answer.find(outcome); at != std::string::npos; at = answer.find(outcome, at + 1)) {
        ++found;
      }
      return found;
    };
    acknowledged += count(R"("outcome":"ack")") + count(R"("outcome":"defer")");
    refused += count(R"("outcome":"nack")") + count(R"("outcome":"term")");
  }
  const std::uint64_t after = arena.fileBytes();
  return tally.text() + "; frames: " + std::to_string(acknowledged) + " taken, " + std::to_string(refused) +
         " refused; the file grew by " + std::to_string((after > before ? after - before : 0) / kMib) + " MiB";
}

}  // namespace

std::string inventSessions(Arena& arena) {
  arena.openAndBegin();
  return sendBatches(arena, [] {
    const std::string number = freshNumber();
    return frameOf(kMallory, "test",
                   R"(,"sessionid":"session-)" + number + R"(","sessionorigin":"origin-)" + number +
                       std::string(64, 'o') + R"(","sessionepoch":"1","sessionseq":"1","sessionprev":"0")");
  });
}

std::string fillDeferredInbox(Arena& arena) {
  arena.openAndBegin("later");
  return sendBatches(arena, [] { return frameOf(kMallory, "later"); });
}

}  // namespace ackbox::campaign
