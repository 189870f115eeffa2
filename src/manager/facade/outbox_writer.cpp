#include "ackbox/outbox_writer.hpp"

#include <memory>

#include "ackbox/outbox_manager.hpp"
#include "manager/facade/core.hpp"
#include "manager/facade/core_of.hpp"
#include "manager/facade/enqueue.hpp"
#include "store/sqlite/outbound/application_writer.hpp"

namespace ackbox {

class OutboxWriter::Body {
public:
  Body(const std::shared_ptr<manager::Core>& core, SQLite::Database& connection)
      : options_(core->options()), writer_(connection, options_, [weak = std::weak_ptr<manager::Core>(core)] {
          if (const std::shared_ptr<manager::Core> alive = weak.lock()) {
            alive->notify();
          }
        }) {}

  EnqueueReceipt enqueue(const Frame& frame) {
    EnqueueReceipt refusal = manager::checkFrame(frame, options_);
    return refusal.accepted() ? writer_.enqueue(frame) : refusal;
  }

private:
  const OutboxOptions options_;
  store::sqlite::ApplicationWriter writer_;
};

OutboxWriter::OutboxWriter(OutboxManager& manager, SQLite::Database& connection)
    : body_(std::make_unique<Body>(manager::CoreOf::manager(manager), connection)) {}
OutboxWriter::~OutboxWriter() = default;

EnqueueReceipt OutboxWriter::enqueue(const Frame& frame) {
  return body_->enqueue(frame);
}

}  // namespace ackbox
