#pragma once

#include <cstdint>
#include <optional>
#include <system_error>
#include <vector>

#include "ackbox/error.hpp"
#include "manager/facade/core.hpp"
#include "manager/facade/jobs.hpp"
#include "manager/run/step_job.hpp"
#include "store/store.hpp"

namespace ackbox::manager {

/// One transaction of a puller, followed in the same thread by the look for new rows, right after the commit.
class PullJob final : public CallerJob {
public:
  PullJob(Core& core, StepJob& step, bool looks, bool restarts)
      : core_(core), step_(step), looks_(looks), restarts_(restarts) {
    durable = step.durable;
  }

  void run(store::Store& store) override {
    if (restarts_) {
      store.discovery().restart();
    }
    deadOwners = looks_ && store.owners().anyDead() ? store.owners().releaseDead() : 0;
    step_.run(store);
    owner = store.owner();
    if (restarts_) {
      peers = store.peers().current();
    }
  }

  void done(const std::error_code& error) noexcept override {
    failure_ = error;
    try {
      if (!error && looks_) {
        newRows = core_.takeNewRows().rows;
      }
    } catch (const Error& failed) {
      unread(static_cast<Errc>(failed.code().value()));
    } catch (const std::exception&) {
      unread(Errc::outOfMemory);
    }
    letGo();
  }

  /// Throws if the transaction could not be committed.
  void carryOut() {
    commit(core_.writer());
    if (failure_) {
      throw Error(static_cast<Errc>(failure_.value()), "nothing was claimed or settled");
    }
  }

  store::NewRows newRows;
  /// Why no new rows were read, although the transaction was committed.
  std::optional<Errc> unreadFor;
  std::vector<store::PeerRow> peers;
  std::int64_t owner = 0;
  std::uint64_t deadOwners = 0;

private:
  // The commit stands; the rows are shown the next time.
  void unread(Errc why) {
    newRows = {};
    newRows.more = true;
    unreadFor = why;
  }

  Core& core_;
  StepJob& step_;
  const bool looks_;
  const bool restarts_;
  std::error_code failure_;
};

}  // namespace ackbox::manager
