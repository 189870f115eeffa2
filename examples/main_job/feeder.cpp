#include "feeder.hpp"

#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>

#include <iostream>
#include <stdexcept>
#include <utility>

namespace main_job {
namespace {

constexpr int kBusyTimeoutMilliseconds = 5000;

}  // namespace

Feeder::Feeder(ackbox::OutboxManager& manager, const std::filesystem::path& database,
               std::vector<std::filesystem::path> inputs, std::string peer)
    : inputs_(std::move(inputs)),
      peer_(std::move(peer)),
      connection_(database.string(), SQLite::OPEN_READWRITE, kBusyTimeoutMilliseconds),
      writer_(manager, connection_) {
  connection_.exec("CREATE TABLE IF NOT EXISTS input_position (file TEXT PRIMARY KEY, line INTEGER NOT NULL)");
}

void Feeder::skipWhatIsDone(InputFile& file) {
  SQLite::Statement position(connection_, "SELECT line FROM input_position WHERE file = ?");
  position.bind(1, file.path().string());
  for (std::int64_t done = position.executeStep() ? position.getColumn(0).getInt64() : 0; done > 0; --done) {
    if (!file.next()) {
      return;
    }
  }
}

bool Feeder::fill(std::size_t lines) {
  while (slice_.empty()) {
    if (!file_) {
      if (next_ == inputs_.size()) {
        return false;
      }
      file_.emplace(inputs_[next_++]);
      skipWhatIsDone(*file_);
    }
    while (slice_.size() < lines) {
      std::optional<InputLine> line = file_->next();
      if (!line) {
        break;
      }
      if (!line->problem.empty()) {
        std::cerr << "skipped " << complaint(*file_, *line) << '\n';
      }
      slice_.push_back(std::move(*line));
    }
    if (slice_.empty()) {
      file_.reset();
    }
  }
  return true;
}

bool Feeder::feed(std::size_t lines) {
  if (!fill(lines)) {
    return false;
  }
  SQLite::Transaction transaction(connection_, SQLite::TransactionBehavior::IMMEDIATE);
  for (const InputLine& line : slice_) {
    if (!line.frame) {
      continue;
    }
    ackbox::Frame frame = *line.frame;
    frame.peer = peer_;
    const ackbox::EnqueueReceipt receipt = writer_.enqueue(frame);
    if (receipt.status == ackbox::EnqueueStatus::queueFull) {
      return true;
    }
    if (!receipt.isNew()) {
      throw std::runtime_error(file_->path().string() + ":" + std::to_string(line.number) +
                               ": the outbox refused it: " + receipt.detail);
    }
  }
  SQLite::Statement advance(connection_,
                            "INSERT INTO input_position (file, line) VALUES (?, ?) "
                            "ON CONFLICT (file) DO UPDATE SET line = excluded.line");
  advance.bind(1, file_->path().string());
  advance.bind(2, static_cast<std::int64_t>(slice_.back().number));
  advance.exec();
  transaction.commit();
  slice_.clear();
  return true;
}

}  // namespace main_job
