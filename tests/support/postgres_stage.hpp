#pragma once

#include <map>
#include <string>

#include "ackbox/frame_handler.hpp"
#include "ackbox/postgres.hpp"
#include "support/postgres_client.hpp"
#include "support/postgres_database.hpp"
#include "support/temp_dir.hpp"

namespace ackbox::testing {

/// Where the outboxes of a test are: in databases, in the place of files.
class StagePlaces {
public:
  explicit StagePlaces(const TempDir& /*dir*/) {}

  [[nodiscard]] PostgresLocation at(const std::string& file) const { return {databases_[file].location()}; }
  /// Runs statements of a handler's own.
  static void run(InboundTransaction& transaction, const char* sql) { answerOf(connectionOf(transaction), sql); }

private:
  mutable std::map<std::string, PostgresDatabase> databases_;
};

}  // namespace ackbox::testing
