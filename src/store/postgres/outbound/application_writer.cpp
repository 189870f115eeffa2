#include "store/postgres/outbound/application_writer.hpp"

#include <algorithm>
#include <climits>
#include <string>
#include <utility>
#include <vector>

#include "base/options.hpp"
#include "store/decisions/known_peers.hpp"
#include "store/postgres/outbound/enqueue_steps.hpp"
#include "store/postgres/schema/version_check.hpp"

namespace ackbox::store::postgres {

struct ApplicationWriter::Impl {
  Impl(PGconn* handle, const OutboxOptions& givenOptions) : options(validated(givenOptions)), connection(handle) {
    context.flushRows = [this] { rows.flush(); };
    connection.requireUtf8();
    requireFit(versionOf(connection), schema);
  }

  template <typename Work>
  auto run(const Work& work) {
    if (!connection.inTransaction()) {
      throw Error(Errc::noTransaction, "enqueue needs the caller's transaction");
    }
    connection.requireUtf8();
    rows.forget();
    steps.begun();
    counts.refresh();
    try {
      auto receipt = work();
      rows.flush();
      counts.flush();
      // As if it were committed: for a second, the sums may then be too high, which leads to a look.
      counts.committed();
      return receipt;
    } catch (...) {
      counts.rolledBack();
      throw;
    }
  }
  [[nodiscard]] std::optional<delivery::PeerKey> peerOf(const std::string& name) {
    const std::vector<PeerOptions> configured = configuredPeers(options);
    if (!options.adoptPeers && std::ranges::find(configured, name, &PeerOptions::name) == configured.end()) {
      return std::nullopt;
    }
    // With one way to the server. No row: the tables were migrated since the transaction's snapshot was taken.
    const Result result = connection.run(
        "SELECT least,p.id,current_setting('synchronous_commit')='off' FROM #schema LEFT JOIN #peers AS p ON p.name=$1 "
        "AND p.removed_at_ms=0",
        name);
    requireLeast(connection, result.empty() ? INT_MAX : result.front().as<int>(0), schema);
    if (result.front().isNull(1)) {
      return std::nullopt;
    }
    if (result.front().integer(2) != 0) {
      waitForSync();
    }
    return result.front().integer(1);
  }
  // For this transaction alone: behind a pooler, the next one may be on another connection to the server.
  void waitForSync() {
    if (options.durability == Durability::powerCut) {
      connection.run(
          "SELECT set_config('synchronous_commit','on',true) WHERE current_setting('synchronous_commit')='off'");
    }
  }

  const OutboxOptions options;
  const Schema& schema = currentSchema();
  Connection connection;
  // Its transactions are the application's: they change no row that they have not made, and so wait for nobody.
  Counts counts{connection, false};
  Shares shares{connection, counts};
  ReleasedClaims released{connection};
  Context context{connection, counts, shares, released, options, *options.clock, *options.random};
  NewRows rows{context};
  EnqueueSteps steps{context, rows};
};

ApplicationWriter::ApplicationWriter(PGconn* connection, const OutboxOptions& options)
    : impl_(std::make_unique<Impl>(connection, options)) {}

ApplicationWriter::~ApplicationWriter() = default;

EnqueueReceipt ApplicationWriter::enqueue(const Frame& frame) {
  return impl_->run([&] { return impl_->steps.enqueue(frame, impl_->peerOf(frame.peer)); });
}

PublishReceipt ApplicationWriter::publish(const Frame& frame) {
  return impl_->run([&] {
    requireFit(versionInTransaction(impl_->connection), impl_->schema);
    impl_->waitForSync();
    return impl_->steps.publish(frame, subscribersOf(impl_->connection, frame));
  });
}

}  // namespace ackbox::store::postgres
