#include <exception>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "ackbox/tls.hpp"
#include "base/options.hpp"
#include "base/timestamp.hpp"
#include "manager/facade/core.hpp"
#include "manager/run/senders.hpp"

// The beginning of a core: its options, its sender, and log records about the files that these name.

namespace ackbox::manager {
namespace {

OutboxOptions completed(OutboxOptions options) {
  options = validated(std::move(options));
  if (options.peers.empty() && !options.adoptPeers) {
    options.peers.emplace_back();
  }
  Senders::introduceOwn(options.peers);
  return options;
}

Core* openCore(const std::string& name, const MakePlace& place, OutboxOptions options) {
  const LogSink sink = options.log;
  const LogLevel least = options.logLevel;
  const std::shared_ptr<Clock> clock = options.clock ? options.clock : systemClock();
  try {
    OutboxOptions used = completed(std::move(options));
    return new Core(place(), std::move(used));
  } catch (const std::exception& error) {
    Log(sink, least, clock)
        .writeUnasked(LogLevel::error, "open-refused", name,
                      "the outbox cannot be opened: " + std::string(error.what()), {{"file", name}});
    throw;
  }
}

}  // namespace

std::shared_ptr<Core> makeCore(const std::string& name, const MakePlace& place, OutboxOptions options) {
  return {openCore(name, place, std::move(options)), [](Core* core) {
            // The core joins its writer's thread, so a last reference dropped there is passed to another thread.
            if (!core->home().isHere()) {
              HomeProcess::abandon({std::shared_ptr<void>(), core});
            } else if (!core->writer().runsInThisThread()) {
              delete core;
            } else if (const auto post = core->options().storeExecutor) {
              post([core] { delete core; });
            } else {
              std::thread([core] { delete core; }).detach();
            }
          }};
}

void Core::logOpening() {
  log_.write(LogLevel::info, "opened", "the outbox is open",
             {{"file", place_->name()}, {"agent", options_.agent}, {"origin", origin_}});
  if (const std::string why = log_.takes(LogLevel::info) ? store_->whyLogNotBatched() : std::string(); !why.empty()) {
    log_.write(LogLevel::info, "log-not-batched",
               "the write-ahead log is written by two calls a page, which costs time only: " + why, {{"cause", why}});
  }
  const store::OpeningLook& look = store_->openingLook();
  if (!look.leftOut.empty()) {
    log_.writeUnasked(LogLevel::warning, store::kLogCutShort, place_->name(), look.leftOut, {{"file", place_->name()}});
  }
  if (look.wasEmptied) {
    log_.writeUnasked(LogLevel::error, store::kFileWasEmpty, place_->name(), std::string(store::kFileWasEmptyText),
                      {{"file", place_->name()}});
  }
  if (look.wasMadeAnew) {
    log_.writeUnasked(LogLevel::warning, store::kFileMadeAnew, place_->name(), std::string(store::kFileMadeAnewText),
                      {{"file", place_->name()}});
  }
  if (!log_.takes(LogLevel::warning)) {
    return;
  }
  std::set<std::filesystem::path> certificates;
  for (const PeerOptions& peer : options_.peers) {
    if (peer.sender && certificates.insert(peer.sender->certificateFile()).second) {
      lookAtCertificate(peer.sender->certificateFile());
    }
  }
  for (const PeerStats& peer : reader_->peerStats()) {
    const std::uint64_t waiting = peer.pending + peer.sending + peer.sent;
    if (waiting > 0 && !this->peer(peer.peer).options) {
      log_.write(LogLevel::warning, "peer-not-configured",
                 "messages wait for peer '" + peer.peer +
                     "', which is not among this process's peers; add it to them, or another process delivers them",
                 {{"peer", peer.peer}, {"messages", std::to_string(waiting)}});
    }
  }
}

void Core::setSender(std::shared_ptr<Sender> sender) {
  if (sender) {
    Senders::introduce(options_.peers, *sender);
    lookAtCertificate(sender->certificateFile());
  }
  const MutexLock lock(mutex_);
  sender_ = std::move(sender);
}

void Core::lookAtCertificate(const std::filesystem::path& file) {
  if (file.empty() || !log_.takes(LogLevel::warning)) {
    return;
  }
  const std::optional<WallTime> end = certificateEnds(file);
  const WallTime now = clock().wallNow();
  // An unreadable certificate is refused by the code that uses it.
  if (!end || *end - now > kCertificateNotice) {
    return;
  }
  const std::string at = formatTimestamp(*end);
  log_.write(LogLevel::warning, "certificate-ends",
             "the certificate in " + file.string() +
                 (*end <= now ? " ended at " + at + ": connections with it are refused" : " ends at " + at) +
                 "; replace it and its key, which is noticed without a restart",
             {{"file", file.native()}, {"ends_at", at}});
}

}  // namespace ackbox::manager
