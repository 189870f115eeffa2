#include "ackbox/outbox_reader.hpp"

#include <memory>
#include <utility>

#include "base/home_process.hpp"
#include "base/mutex.hpp"
#include "base/options.hpp"
#include "manager/facade/core.hpp"
#include "manager/facade/core_of.hpp"
#include "manager/facade/diagnosis.hpp"
#include "manager/facade/export.hpp"
#include "manager/facade/sentence.hpp"
#include "store/place.hpp"
#include "store/sqlite/open.hpp"

namespace ackbox {

/// The source of the reader: a store at its place, or a manager.
struct OutboxReader::Impl {
  virtual ~Impl() = default;
  const HomeProcess home = {};
  [[nodiscard]] virtual std::shared_ptr<const store::Reader> reader() = 0;
  [[nodiscard]] virtual Stats stats() { return reader()->stats(); }
  [[nodiscard]] virtual std::vector<PeerStatus> peers() = 0;
  [[nodiscard]] virtual std::optional<Explanation> explain(std::string_view messageId) = 0;
  /// Throws if another file has the name.
  virtual void requireFile() {}
  [[nodiscard]] virtual WallTime now() = 0;

  struct OfPlace;
  struct OfManager;
};

struct OutboxReader::Impl::OfPlace final : Impl {
  OfPlace(std::unique_ptr<const store::Place> givenPlace, const OutboxOptions& givenOptions)
      : place(std::move(givenPlace)), options(givenOptions) {
    place->require(options);
    opened = place->read(options);
  }

  [[nodiscard]] std::shared_ptr<const store::Reader> reader() override {
    const MutexLock lock(mutex);
    if (opened->isOutdated()) {
      // An agent has opened the file since, and may have closed it again.
      opened = place->read(options);
    }
    return opened;
  }

  [[nodiscard]] std::vector<PeerStatus> peers() override {
    std::vector<PeerStatus> statuses;
    for (store::KeyedStatus& peer : reader()->peers()) {
      statuses.push_back(std::move(peer.status));
    }
    return statuses;
  }

  [[nodiscard]] std::optional<Explanation> explain(std::string_view messageId) override {
    const std::shared_ptr<const store::Reader> now = reader();
    std::optional<Explanation> explanation = now->explain(messageId);
    if (!explanation) {
      return std::nullopt;
    }
    manager::completeFromFile(*explanation, !now->processIds().empty(), options.clock->wallNow());
    return explanation;
  }

  [[nodiscard]] WallTime now() override { return options.clock->wallNow(); }

  // Constant after construction.
  const std::unique_ptr<const store::Place> place;
  const OutboxOptions options;

  Mutex mutex;
  std::shared_ptr<const store::Reader> opened ACKBOX_GUARDED_BY(mutex);
};

struct OutboxReader::Impl::OfManager final : Impl {
  explicit OfManager(std::shared_ptr<manager::Core> shared) : core(std::move(shared)) {}

  // The reader belongs to the core and shares its lifetime.
  [[nodiscard]] std::shared_ptr<const store::Reader> reader() override { return {core, &core->reader()}; }
  // Includes refusals that are not yet in the file.
  [[nodiscard]] Stats stats() override { return core->stats(); }
  [[nodiscard]] std::vector<PeerStatus> peers() override { return manager::peers(*core); }
  [[nodiscard]] std::optional<Explanation> explain(std::string_view messageId) override {
    return manager::explain(*core, messageId);
  }
  void requireFile() override { core->requireFile(); }
  [[nodiscard]] WallTime now() override { return core->clock().wallNow(); }

  const std::shared_ptr<manager::Core> core;
};

OutboxReader OutboxReader::open(const std::filesystem::path& file, OutboxOptions options) {
  return at([&file] { return store::sqlite::placeOf(file); }, std::move(options));
}

OutboxReader OutboxReader::at(const std::function<std::unique_ptr<const store::Place>()>& place,
                              OutboxOptions options) {
  options = validated(std::move(options));
  // A reader does not use this program's configuration of peers.
  options.adoptPeers = true;
  return OutboxReader(std::make_unique<Impl::OfPlace>(place(), options));
}

OutboxReader::OutboxReader(const OutboxManager& manager)
    : impl_(std::make_unique<Impl::OfManager>(manager::CoreOf::manager(manager))) {}

OutboxReader::OutboxReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
OutboxReader::OutboxReader(OutboxReader&&) noexcept = default;

OutboxReader& OutboxReader::operator=(OutboxReader&& other) noexcept {
  if (this != &other) {
    const OutboxReader ending(std::move(*this));
    impl_ = std::move(other.impl_);
  }
  return *this;
}

OutboxReader::~OutboxReader() {
  if (impl_ && !impl_->home.isHere()) {
    HomeProcess::abandon(std::move(impl_));
  }
}

OutboxReader::Impl& OutboxReader::here() const {
  impl_->home.require();
  return *impl_;
}

std::vector<InboundSenderStats> OutboxReader::inboundSenders(std::size_t limit) const {
  return here().reader()->inboundSenders(limit);
}

std::vector<InboundOriginStats> OutboxReader::inboundOrigins(std::string_view source, std::size_t limit) const {
  return here().reader()->inboundOrigins(source, limit);
}

Stats OutboxReader::getStats() const {
  return here().stats();
}

std::vector<PeerStats> OutboxReader::peerStats() const {
  return here().reader()->peerStats();
}

std::optional<SessionStats> OutboxReader::sessionStats(std::string_view peer, std::string_view session) const {
  return here().reader()->sessionStats(peer, session);
}

SessionPage OutboxReader::sessions(const SessionFilter& filter, std::size_t limit, std::int64_t after) const {
  return here().reader()->sessions(filter, limit, after);
}

std::optional<MessageInfo> OutboxReader::find(std::string_view messageId) const {
  return here().reader()->find(messageId);
}

std::optional<Frame> OutboxReader::frame(std::string_view messageId) const {
  return here().reader()->frame(messageId);
}

std::vector<std::string> OutboxReader::idsOfKey(std::string_view idempotencyKey, std::size_t limit) const {
  return here().reader()->idsOfKey(idempotencyKey, limit);
}

MessagePage OutboxReader::messages(const MessageFilter& filter, std::size_t limit, std::int64_t after) const {
  return here().reader()->messages(filter, limit, after);
}

DeadLetterPage OutboxReader::deadLetters(const DeadLetterFilter& filter, std::size_t limit, std::int64_t after) const {
  return here().reader()->deadLetters(filter, limit, after);
}

std::vector<MessageInfo> OutboxReader::newestDeadLetters(std::size_t limit) const {
  return here().reader()->newestDeadLetters(limit);
}

std::vector<BlockedSession> OutboxReader::blockedSessions(std::size_t limit) const {
  return here().reader()->blockedSessions(limit);
}

std::vector<PeerStatus> OutboxReader::peers() const {
  return here().peers();
}

std::vector<PeerSubscription> OutboxReader::subscriptions() const {
  return here().reader()->subscriptions();
}

std::uint64_t OutboxReader::exportMessages(const MessageFilter& filter,
                                           const std::function<void(std::string_view)>& sink) const {
  return manager::exportMessages(*here().reader(), filter, sink);
}

std::uint64_t OutboxReader::exportDeadLetters(const DeadLetterFilter& filter,
                                              const std::function<void(std::string_view)>& sink) const {
  return manager::exportDeadLetters(*here().reader(), filter, sink);
}

VerifyReport OutboxReader::verify() const {
  here().requireFile();
  return here().reader()->verify();
}

std::optional<Explanation> OutboxReader::explain(std::string_view messageId) const {
  return here().explain(messageId);
}

FileInfo OutboxReader::fileInfo() const {
  return here().reader()->fileInfo();
}

void OutboxReader::backUp(const std::filesystem::path& to,
                          const std::function<void(std::uint64_t, std::uint64_t)>& progress) const {
  here().requireFile();
  here().reader()->backUp(named(to), progress);
}

InboxPage OutboxReader::inbox(const InboxFilter& filter, std::size_t limit, std::int64_t after) const {
  return here().reader()->inbox(filter, limit, after);
}

UnattendedFrames OutboxReader::unattendedFrames() const {
  return here().reader()->unattendedFrames();
}

std::vector<Application> OutboxReader::applications() const {
  return here().reader()->applications();
}

std::optional<InboxInfo> OutboxReader::findInbox(std::string_view source, std::string_view messageId,
                                                 std::int64_t row) const {
  return here().reader()->findInbox(source, messageId, row);
}

std::optional<InboundFrame> OutboxReader::inboxFrame(std::string_view source, std::string_view messageId,
                                                     std::int64_t row) const {
  return here().reader()->inboxFrame(source, messageId, row);
}

std::vector<std::string> OutboxReader::inboxSources(std::string_view messageId) const {
  return here().reader()->inboxSources(messageId);
}

std::optional<InboxExplanation> OutboxReader::explainInbox(std::string_view source, std::string_view messageId,
                                                           std::int64_t row) const {
  std::optional<InboxExplanation> explanation = here().reader()->explainInbox(source, messageId, row);
  if (explanation) {
    explanation->sentence = manager::sentenceOf(*explanation, here().now());
  }
  return explanation;
}

std::vector<std::int64_t> OutboxReader::processIds() const {
  return here().reader()->processIds();
}

}  // namespace ackbox
