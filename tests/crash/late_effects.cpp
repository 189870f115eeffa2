#include "late_effects.hpp"

#include <SQLiteCpp/SQLiteCpp.h>

#include <utility>

#include "effects.hpp"

namespace crash {

LateEffects::LateEffects(std::filesystem::path database)
    : database_(std::move(database)), writer_([this] { write(); }) {}

LateEffects::~LateEffects() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  writer_.join();
}

ackbox::FrameHandler LateEffects::handler(std::string replyTo) {
  return [this, peer = std::move(replyTo)](const ackbox::InboundFrame& frame, ackbox::InboundTransaction& transaction) {
    {
      const std::scoped_lock lock(mutex_);
      waiting_.push_back({frame.session, frame.data, frame.id});
    }
    changed_.notify_all();
    main_job::replyIfDue(frame, peer, transaction);
    return ackbox::HandlerResult::ack();
  };
}

void LateEffects::write() {
  constexpr int kBusyTimeoutMilliseconds = 5000;
  SQLite::Database connection(database_.string(), SQLite::OPEN_READWRITE, kBusyTimeoutMilliseconds);
  // Only the store makes checkpoints.
  connection.exec("PRAGMA wal_autocheckpoint = 0");
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
    if (waiting_.empty()) {
      return;
    }
    const main_job::Entry effect = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    SQLite::Statement insert(connection, "INSERT INTO effects (session, message_id, data) VALUES (?, ?, ?)");
    insert.bind(1, effect.session);
    insert.bind(2, effect.messageId);
    insert.bind(3, effect.data);
    insert.exec();
    lock.lock();
  }
}

}  // namespace crash
