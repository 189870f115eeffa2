#include <fstream>
#include <istream>

#include "ackbox/outbox_reader.hpp"
#include "ackbox/peer_status.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/open.hpp"
#include "cli/progress_line.hpp"
#include "json/checked.hpp"
#include "records/frame_line.hpp"
#include "records/subscription.hpp"
#include "records/text.hpp"

namespace ackbox::cli {
namespace {

// The most lines in one commit; fewer when the input pauses, so that lines that trickle in are stored at once.
constexpr std::size_t kBatchFrames = 1'000;
constexpr std::size_t kBatchBytes = 4U << 20U;
// The largest frame that the library accepts, plus room for the JSON around it.
constexpr std::size_t kLineBytesMax = 65U << 20U;

/// Reads a line, and keeps at most `kLineBytesMax` of it. Returns false at the end of the input.
bool readLine(std::istream& in, std::string& line) {
  line.clear();
  std::streambuf& buffer = *in.rdbuf();
  int character = buffer.sbumpc();
  if (character == std::istream::traits_type::eof()) {
    return false;
  }
  for (; character != std::istream::traits_type::eof() && character != '\n'; character = buffer.sbumpc()) {
    if (line.size() <= kLineBytesMax) {
      line += static_cast<char>(character);
    }
  }
  return true;
}

/// Gathers frames, stores them batch by batch, and reports the outcome of each line.
class Feeder {
public:
  Feeder(Console& console, const Arguments& arguments)
      : console_(console), manager_(openToEnqueue(console.world(), arguments)), progress_(console) {
    defaults_.peer = arguments.peer.value_or(defaults_.peer);
    defaults_.session = arguments.session.value_or(defaults_.session);
    defaults_.type = arguments.type;
  }

  void take(const std::string& line) {
    ++line_;
    if (line.find_first_not_of(" \t\r") == std::string::npos) {
      return;
    }
    Line taken{.number = line_};
    if (line.size() > kLineBytesMax) {
      taken.problem = "the line is longer than any frame can be";
    } else {
      records::FrameLine parsed = records::parseFrameLine(json::withoutMark(line), defaults_);
      taken.problem = std::move(parsed.problem);
      if (taken.problem.empty() && parsed.frame.peer == kAllSubscribers) {
        store();
        reportPublished(line_, manager_.publish(parsed.frame));
        return;
      }
      if (taken.problem.empty()) {
        bytes_ += parsed.frame.data.size();
        frames_.push_back(std::move(parsed.frame));
      }
    }
    lines_.push_back(std::move(taken));
    if (lines_.size() == kBatchFrames || bytes_ >= kBatchBytes) {
      store();
    }
  }

  void store() {
    const std::vector<EnqueueReceipt> receipts = manager_.enqueueBatch(frames_);
    auto receipt = receipts.begin();
    for (const Line& line : lines_) {
      if (line.problem.empty()) {
        report(line.number, *receipt++);
      } else {
        refuse(line.number, "invalidFrame", line.problem);
      }
    }
    frames_.clear();
    lines_.clear();
    bytes_ = 0;
    progress_.show(std::to_string(line_) + " lines, " + std::to_string(stored_) + " stored, " +
                   std::to_string(refused_) + " refused");
  }

  int finish() {
    store();
    progress_.clear();
    if (!console_.json()) {
      console_.say(std::to_string(stored_) + " stored, " + records::countText(duplicates_, "duplicate") + ", " +
                   std::to_string(refused_) + " refused" +
                   (unheard_ == 0 ? "" : ", " + std::to_string(unheard_) + " without a subscriber"));
    }
    return refused_ == 0 ? kDone : kPartly;
  }

private:
  /// A line of the batch. Refused lines stay in the batch, so that all are reported in the order of the input.
  struct Line {
    std::uint64_t number = 0;
    // Empty if the line's frame is in the batch.
    std::string problem = {};
  };

  void report(std::uint64_t line, const EnqueueReceipt& receipt) {
    if (!receipt.accepted()) {
      refuse(line, std::string(toString(receipt.status)),
             receipt.status == EnqueueStatus::unknownPeer ? knownPeersText() : receipt.detail);
      return;
    }
    ++(receipt.isNew() ? stored_ : duplicates_);
    if (console_.json()) {
      console_.line(json::Line()
                        .add("line", line)
                        .add("status", toString(receipt.status))
                        .add("message_id", receipt.messageId)
                        .add("sequence", receipt.sequence));
    }
  }

  void reportPublished(std::uint64_t line, const PublishReceipt& receipt) {
    if (!receipt.accepted() && receipt.status != PublishStatus::noSubscriber) {
      refuse(line, std::string(toString(receipt.status)), receipt.detail);
      return;
    }
    (receipt.isNew() ? stored_ : duplicates_) += receipt.messages.size();
    unheard_ += receipt.status == PublishStatus::noSubscriber ? 1U : 0U;
    if (console_.json()) {
      console_.line(json::Line()
                        .add("line", line)
                        .add("status", toString(receipt.status))
                        .raw("messages", records::listOf(receipt.messages)));
    } else if (receipt.messages.empty()) {
      progress_.clear();
      console_.remark("line " + std::to_string(line) + ": " + std::string(toString(receipt.status)) + ": " +
                      receipt.detail);
    }
  }

  // Replaces the receipt's detail, which addresses a program that configures peers.
  std::string knownPeersText() const {
    std::string names;
    for (const PeerStatus& peer : OutboxReader(manager_).peers()) {
      names += (names.empty() ? "" : ", ") + peer.name;
    }
    return names.empty() ? "the outbox knows no peer" : "the outbox knows the peers: " + names;
  }

  void refuse(std::uint64_t line, const std::string& status, const std::string& detail) {
    ++refused_;
    if (console_.json()) {
      console_.line(json::Line().add("line", line).add("status", status).add("detail", detail));
    } else {
      progress_.clear();
      console_.remark("line " + std::to_string(line) + ": " + status + ": " + detail);
    }
  }

  Console& console_;
  OutboxManager manager_;
  Frame defaults_;
  std::vector<Frame> frames_;
  std::vector<Line> lines_;
  std::size_t bytes_ = 0;
  std::uint64_t line_ = 0;
  std::uint64_t stored_ = 0;
  std::uint64_t duplicates_ = 0;
  std::uint64_t refused_ = 0;
  // Published to nobody.
  std::uint64_t unheard_ = 0;
  ProgressLine progress_;
};

}  // namespace

int enqueue(Console& console, const Arguments& arguments) {
  std::ifstream file;
  const bool isStandardInput = arguments.input == "-";
  if (!isStandardInput) {
    file.open(arguments.input, std::ios::binary);
    if (!file) {
      return console.fail(kCannot, "cannot read " + arguments.input.string());
    }
  }
  std::istream& in = isStandardInput ? console.world().in : file;
  Feeder feeder(console, arguments);
  std::string line;
  while (readLine(in, line)) {
    feeder.take(line);
    if (in.rdbuf()->in_avail() <= 0) {
      feeder.store();
    }
  }
  return feeder.finish();
}

}  // namespace ackbox::cli
