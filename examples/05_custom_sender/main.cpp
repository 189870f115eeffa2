// A sender of one's own: frames go to a printer instead of over HTTP. For each frame it says what became of it, and the
// outbox does the rest: retires it, tries it again, or keeps it as a dead letter with the reason.

#include <ackbox/outbox_manager.hpp>
#include <ackbox/outbox_reader.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

namespace {

using namespace ackbox;

class Printer final : public Sender {
public:
  void asyncSend(SendRequest request, SendHandler handler) override {
    SendReport report;
    report.outcome = RequestOutcome::answered;
    for (const OutboundFrame& frame : request.frames) {
      report.results.push_back(print(frame));
    }
    handler(std::move(report));  // Exactly once; from any thread, so that slow work may be done on another.
  }

private:
  FrameResult print(const OutboundFrame& frame) {
    FrameResult result;
    if (frame.type != "page") {
      result.outcome = Outcome::term;
      result.code = "not-paper";
    } else if (std::exchange(isJammed_, false)) {
      result.outcome = Outcome::nack;
      result.detail = "paper jam";
    } else {
      std::cout << "printed " << frame.data << std::endl;
      result.outcome = Outcome::ack;
    }
    return result;
  }

  bool isJammed_ = true;
};

}  // namespace

int main() {
  OutboxOptions options;
  options.retry.delays = {std::chrono::milliseconds(0)};
  auto manager = OutboxManager::open("printer.db", options);
  manager.setSender(std::make_shared<Printer>());
  for (const char* type : {"page", "page", "cake"}) {
    manager.enqueue(
        {.session = std::string("tray of ") + type, .type = type, .data = "\"a " + std::string(type) + "\""});
  }
  // What is to be tried again is due a moment later.
  while (manager.getStats().pending > 0) {
    manager.processAll();
  }
  for (const MessageInfo& message : OutboxReader(manager).deadLetters({}).messages) {
    std::cout << "given up: " << message.type << ", " << message.reason << std::endl;
  }
  const Stats stats = manager.getStats();
  std::cout << stats.acked << " printed, " << stats.totalRetries << " retried, " << stats.failed << " given up"
            << std::endl;
  return stats.acked == 2 && stats.totalRetries == 1 && stats.failed == 1 ? 0 : 1;
}
