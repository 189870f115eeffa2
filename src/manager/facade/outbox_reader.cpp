#include "ackbox/outbox_reader.hpp"

#include <memory>
#include <mutex>
#include <utility>

#include "manager/facade/sentence.hpp"
#include "store/sqlite/open.hpp"

namespace ackbox {

struct OutboxReader::Body {
  Body(const std::filesystem::path& givenFile, const OutboxOptions& givenOptions)
      : file(std::filesystem::absolute(givenFile)), options(givenOptions) {
    open();
  }

  [[nodiscard]] std::shared_ptr<const store::Reader> reader() {
    const std::scoped_lock lock(mutex);
    if (opened->isImmutable() && (store::hasLog(file) || std::filesystem::last_write_time(file) != writtenAt)) {
      // An agent has come since, and perhaps gone again.
      open();
    }
    return opened;
  }

  void open() {
    std::error_code ignored;
    writtenAt = std::filesystem::last_write_time(file, ignored);
    opened = store::sqlite::openReader(file, options, store::Reading::leavesNoTrace);
  }

  // Constant after construction.
  const std::filesystem::path file;
  const OutboxOptions options;

  std::mutex mutex;
  // Guarded by mutex.
  std::shared_ptr<const store::Reader> opened;
  std::filesystem::file_time_type writtenAt;
};

OutboxReader OutboxReader::open(const std::filesystem::path& file, OutboxOptions options) {
  validate(options);
  // Which peers this program was given says nothing here.
  if (!options.clock) {
    options.clock = systemClock();
  }
  options.adoptPeers = true;
  store::sqlite::requireOutbox(file, options);
  return OutboxReader(std::make_unique<Body>(file, options));
}

OutboxReader::OutboxReader(std::unique_ptr<Body> body) : body_(std::move(body)) {}
OutboxReader::OutboxReader(OutboxReader&&) noexcept = default;
OutboxReader& OutboxReader::operator=(OutboxReader&&) noexcept = default;
OutboxReader::~OutboxReader() = default;

std::vector<InboundSenderStats> OutboxReader::inboundSenders(std::size_t limit) const {
  return body_->reader()->inboundSenders(limit);
}

Stats OutboxReader::getStats() const {
  return body_->reader()->stats();
}

std::vector<PeerStats> OutboxReader::peerStats() const {
  return body_->reader()->peerStats();
}

std::optional<SessionStats> OutboxReader::sessionStats(std::string_view peer, std::string_view session) const {
  return body_->reader()->sessionStats(peer, session);
}

SessionPage OutboxReader::sessions(const SessionFilter& filter, std::size_t limit, std::int64_t after) const {
  return body_->reader()->sessions(filter, limit, after);
}

std::optional<MessageInfo> OutboxReader::find(std::string_view messageId) const {
  return body_->reader()->find(messageId);
}

std::optional<Frame> OutboxReader::frame(std::string_view messageId) const {
  return body_->reader()->frame(messageId);
}

MessagePage OutboxReader::messages(const MessageFilter& filter, std::size_t limit, std::int64_t after) const {
  return body_->reader()->messages(filter, limit, after);
}

DeadLetterPage OutboxReader::deadLetters(const DeadLetterFilter& filter, std::size_t limit, std::int64_t after) const {
  return body_->reader()->deadLetters(filter, limit, after);
}

std::vector<BlockedSession> OutboxReader::blockedSessions(std::size_t limit) const {
  return body_->reader()->blockedSessions(limit);
}

std::vector<PeerStatus> OutboxReader::peers() const {
  std::vector<PeerStatus> statuses;
  const auto reader = body_->reader();
  for (store::KeyedStatus& peer : reader->peers()) {
    statuses.push_back(std::move(peer.status));
  }
  return statuses;
}

VerifyReport OutboxReader::verify() const {
  return store::sqlite::verify(body_->file, body_->options);
}

std::optional<Explanation> OutboxReader::explain(std::string_view messageId) const {
  std::optional<Explanation> explanation = body_->reader()->explain(messageId);
  if (!explanation) {
    return std::nullopt;
  }
  if (explanation->message.state == MessageState::pending && processIds().empty()) {
    explanation->reasons.push_back({.hindrance = BlockReason::notRunning, .detail = {}});
  }
  explanation->sentence =
      manager::sentenceOf(*explanation, "no process has the file open", body_->options.clock->wallNow());
  return explanation;
}

std::vector<std::int64_t> OutboxReader::processIds() const {
  return body_->reader()->processIds();
}

}  // namespace ackbox
