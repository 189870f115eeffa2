#include "ackbox/outbox_writer.hpp"

#include <SQLiteCpp/Database.h>

#include <memory>
#include <utility>

#include "ackbox/outbox_manager.hpp"
#include "base/home_process.hpp"
#include "manager/facade/core.hpp"
#include "manager/facade/core_of.hpp"
#include "manager/facade/enqueue.hpp"
#include "store/sqlite/outbound/application_writer.hpp"

namespace ackbox {

class OutboxWriter::Impl {
public:
  Impl(const std::shared_ptr<manager::Core>& core, SQLite::Database& connection)
      : options_(core->options()),
        core_(core),
        writer_(connection.getHandle(), options_, [weak = std::weak_ptr<manager::Core>(core)] {
          if (const std::shared_ptr<manager::Core> alive = weak.lock()) {
            alive->notify();
          }
        }) {}

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
  store::sqlite::ApplicationWriter writer_;
};

OutboxWriter::OutboxWriter(OutboxManager& manager, SQLite::Database& connection)
    : impl_(std::make_unique<Impl>(manager::CoreOf::manager(manager), connection)) {}

OutboxWriter::~OutboxWriter() {
  if (impl_ && !impl_->home().isHere()) {
    HomeProcess::abandon(std::move(impl_));
  }
}

EnqueueReceipt OutboxWriter::enqueue(const Frame& frame) {
  return impl_->enqueue(frame);
}

PublishReceipt OutboxWriter::publish(const Frame& frame) {
  return impl_->publish(frame);
}

}  // namespace ackbox
