// A row's whole life in the store: insert (synced), claim, settle with its ACK (neither synced), in three transactions
// per batch, as the writer makes them. Without a sender, a network or a thread: what is left is the store's own cost.

#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/backlog.hpp"
#include "bench/measured_disk.hpp"
#include "bench/operation.hpp"
#include "bench/pace.hpp"
#include "bench/raw_baseline.hpp"
#include "bench/scratch.hpp"
#include "bench/workload.hpp"
#include "store/sqlite/open.hpp"
#include "store/writer.hpp"

namespace ackbox::bench {
namespace {

constexpr std::size_t kTold = 10'000;

// A transaction of its own, in the calling thread.
class InlineJob final : public store::Job {
public:
  InlineJob(bool mustSync, std::function<void(store::Store&)> work) : work_(std::move(work)) { durable = mustSync; }

  void run(store::Store& store) override { work_(store); }
  void done(const std::error_code& error) noexcept override { error_ = error; }

  void commit(store::Writer& writer) {
    writer.submit(*this);
    writer.runOnce();
    if (error_) {
      throw std::system_error(error_);
    }
  }

private:
  std::function<void(store::Store&)> work_;
  std::error_code error_;
};

void insertBatch(store::Writer& writer, std::uint64_t first, std::uint64_t sessions) {
  std::vector<Frame> frames;
  for (std::uint64_t number = first; number < first + kBatch; ++number) {
    frames.push_back(frameOf(number, sessions));
    // None of a backlog's, behind whose rows it would have to wait.
    frames.back().session.insert(0, "life-of-");
  }
  InlineJob(true, [&](store::Store& store) {
    for (const Frame& frame : frames) {
      if (!store.outbox().enqueue(frame).isNew()) {
        throw std::runtime_error("an enqueue was refused");
      }
    }
  }).commit(writer);
}

std::vector<delivery::SessionClaim> claimsOf(const store::NewRows& newRows) {
  std::vector<delivery::SessionClaim> claims;
  for (const delivery::RowSeen& row : newRows.rows) {
    // Rows come in the order of their enqueues, where a batch holds one session, or each of its sessions once.
    if (claims.empty() || claims.back().session != row.session) {
      claims.push_back({row.session, {}});
    }
    claims.back().keys.push_back(row.key);
  }
  return claims;
}

void settleBatch(store::Writer& writer, const store::ClaimReply& reply) {
  std::vector<delivery::Settlement> settlements;
  std::vector<delivery::SessionRelease> releases;
  for (const delivery::SessionClaimed& session : reply.sessions) {
    for (const delivery::ClaimedRow& row : session.rows) {
      delivery::Settlement& settlement = settlements.emplace_back();
      settlement.key = row.key;
      settlement.session = session.session;
      settlement.attempt = row.attempt;
      settlement.sequence = row.sequence;
      settlement.transition = delivery::Transition::ack;
    }
    if (!session.rows.empty()) {
      releases.push_back({.session = session.session, .dueAt = {}, .previousSequence = session.rows.back().sequence});
    }
  }
  std::size_t applied = 0;
  InlineJob(false, [&](store::Store& store) {
    applied = 0;
    for (const auto& settled : store.settles().settle(settlements)) {
      applied += settled ? 1U : 0U;
    }
    store.claims().endClaims(releases);
  }).commit(writer);
  if (applied != kBatch) {
    throw std::runtime_error("not every row of a batch was claimed and settled");
  }
}

// Lives in `file`, behind whatever waits there and was told before the clock starts.
Pace livesIn(const std::filesystem::path& file, const Settings& settings, Durability durability,
             std::uint64_t sessions) {
  OutboxOptions options = outboxOptions(durability);
  options.clock = systemClock();
  options.random = systemRandom();
  options.peers.emplace_back();
  const auto opened = store::sqlite::openStore(file, options);
  store::Store& store = *opened;
  store::Writer writer(store);
  InlineJob(false, [](store::Store& open) { open.discovery().restart(); }).commit(writer);
  while (store.discovery().take(kTold).more) {
  }
  diskCounts().reset();
  std::uint64_t done = 0;
  const PaceMeter meter;
  for (Budget budget(settings); budget.take(kBatch); done += kBatch) {
    insertBatch(writer, done, sessions);
    const std::vector<delivery::SessionClaim> claims = claimsOf(store.discovery().take(2 * kBatch));
    store::ClaimReply reply;
    InlineJob(false, [&](store::Store& open) { reply = open.claims().claim(claims); }).commit(writer);
    settleBatch(writer, reply);
  }
  const Pace pace = meter.of(done);
  if (durability == Durability::powerCut && diskCounts().logSyncs < done / kBatch) {
    throw std::runtime_error("a durable commit was not synced");
  }
  return pace;
}

Pace paceOf(const Settings& settings, Durability durability, std::uint64_t sessions) {
  const std::filesystem::path file = freshDatabase(settings.folder, "store");
  const Pace pace = livesIn(file, settings, durability, sessions);
  removeDatabase(file);
  return pace;
}

}  // namespace

Measurement rowLife(const Settings& settings) {
  Measurement measurement;
  const Pace spread = paceOf(settings, Durability::powerCut, kSessions);
  const Pace narrow = paceOf(settings, Durability::powerCut, 1);
  const Pace normal = paceOf(settings, Durability::processCrash, kSessions);
  const Pace raw = rawRowLife(settings);
  measurement.figure("full_1000_sessions_per_s", spread.perSecond);
  measurement.figure("full_1_session_per_s", narrow.perSecond);
  measurement.figure("normal_1000_sessions_per_s", normal.perSecond);
  measurement.figure("full_1000_sessions_cpu_us_per_row", spread.cpuMicroseconds);
  measurement.figure("full_1_session_cpu_us_per_row", narrow.cpuMicroseconds);
  measurement.baseline("raw_per_s", raw.perSecond);
  measurement.baseline("raw_cpu_us_per_row", raw.cpuMicroseconds);
  measurement.ratio("full_1000_sessions_over_raw", spread.perSecond, raw.perSecond);
  measurement.ratio("full_1_session_over_raw", narrow.perSecond, raw.perSecond);
  measurement.ratio("raw_cpu_over_full_1000_sessions_cpu", raw.cpuMicroseconds, spread.cpuMicroseconds);
  return measurement;
}

Measurement rowLifeAtScale(const Settings& settings) {
  const Backlog backlog = largeBacklog(settings);
  const std::filesystem::path file = backlogFile(settings, backlog);
  const Pace large = livesIn(file, settings, Durability::powerCut, kSessions);
  const Pace none = paceOf(settings, Durability::powerCut, kSessions);
  const std::string name = "full_backlog_of_" + std::to_string(backlog.rows);
  Measurement measurement;
  measurement.figure(name + "_per_s", large.perSecond);
  measurement.figure(name + "_cpu_us_per_row", large.cpuMicroseconds);
  measurement.baseline("full_backlog_of_0_per_s", none.perSecond);
  measurement.baseline("full_backlog_of_0_cpu_us_per_row", none.cpuMicroseconds);
  measurement.ratio("large_over_none", large.perSecond, none.perSecond);
  return measurement;
}

}  // namespace ackbox::bench
