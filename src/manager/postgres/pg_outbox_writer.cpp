#include <memory>
#include <utility>

#include "ackbox/outbox_manager.hpp"
#include "ackbox/postgres.hpp"
#include "base/home_process.hpp"
#include "manager/facade/core.hpp"
#include "manager/facade/core_of.hpp"
#include "manager/facade/enqueue.hpp"
#include "store/postgres/outbound/application_writer.hpp"

namespace ackbox {
namespace {

OutboxOptions ofDatabase(OutboxOptions options) {
  options.adoptPeers = true;
  return options;
}

}  // namespace

class PgOutboxWriter::Impl {
public:
  Impl(pg_conn* connection, OutboxOptions options, const std::shared_ptr<manager::Core>& core)
      : options_(std::move(options)), core_(core), writer_(connection, options_) {}

  [[nodiscard]] const HomeProcess& home() const noexcept { return home_; }

  EnqueueReceipt enqueue(const Frame& frame) {
    home_.require();
    const std::shared_ptr<manager::Core> traced = options_.trace ? core_.lock() : nullptr;
    return traced ? traced->tracer().aroundEnqueue(frame, [this](const Frame& one) { return store(one); })
                  : store(frame);
  }

  PublishReceipt publish(const Frame& frame) {
    home_.require();
    const std::shared_ptr<manager::Core> traced = options_.trace ? core_.lock() : nullptr;
    return traced ? traced->tracer().aroundPublish(frame, [this](const Frame& one) { return storeEach(one); })
                  : storeEach(frame);
  }

private:
  PublishReceipt storeEach(const Frame& frame) {
    PublishReceipt refusal = manager::checkPublished(frame, options_);
    return refusal.accepted() ? writer_.publish(frame) : refusal;
  }

  EnqueueReceipt store(const Frame& frame) {
    EnqueueReceipt refusal = manager::checkFrame(frame, options_);
    return refusal.accepted() ? writer_.enqueue(frame) : refusal;
  }

  const HomeProcess home_;
  const OutboxOptions options_;
  const std::weak_ptr<manager::Core> core_;
  store::postgres::ApplicationWriter writer_;
};

PgOutboxWriter::PgOutboxWriter(pg_conn* connection, OutboxOptions options)
    : impl_(std::make_unique<Impl>(connection, ofDatabase(std::move(options)), nullptr)) {}

PgOutboxWriter::PgOutboxWriter(OutboxManager& manager, pg_conn* connection)
    : impl_(std::make_unique<Impl>(connection, manager::here(manager::CoreOf::manager(manager)).options(),
                                   manager::CoreOf::manager(manager))) {}

PgOutboxWriter::~PgOutboxWriter() {
  if (impl_ && !impl_->home().isHere()) {
    HomeProcess::abandon(std::move(impl_));
  }
}

EnqueueReceipt PgOutboxWriter::enqueue(const Frame& frame) {
  return impl_->enqueue(frame);
}

PublishReceipt PgOutboxWriter::publish(const Frame& frame) {
  return impl_->publish(frame);
}

}  // namespace ackbox
