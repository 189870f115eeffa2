#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ackbox/outbox_manager.hpp"
#include "ackbox/random.hpp"
#include "support/manual_clock.hpp"
#include "support/scripted_sender.hpp"
#include "support/temp_dir.hpp"

#ifdef ACKBOX_STAGE_POSTGRES
#include "support/postgres_stage.hpp"
#else
#include <SQLiteCpp/SQLiteCpp.h>

#include "ackbox/frame_handler.hpp"
#endif

namespace ackbox::testing {

#ifndef ACKBOX_STAGE_POSTGRES
/// Where the outboxes of a test are.
struct StagePlaces {
  [[nodiscard]] std::filesystem::path at(const std::string& file) const { return dir.file(file); }
  /// Runs statements of a handler's own.
  static void run(InboundTransaction& transaction, const char* sql) { transaction.database().exec(sql); }

  const TempDir& dir;
};
#endif

/// A folder for an outbox, a peer that acknowledges unless the test says otherwise, and time that the test moves.
struct OutboxStage {
  [[nodiscard]] OutboxManager open(OutboxOptions options = {}, const std::string& file = "agent.db") const {
    options.clock = clock;
    options.random = seededRandom(1);
    OutboxManager manager = OutboxManager::open(places.at(file), options);
    manager.setSender(sender);
    return manager;
  }
  static Frame frame(const std::string& session, const std::string& id = {}) {
    Frame made;
    made.session = session;
    made.type = "test.event";
    made.id = id;
    return made;
  }
  void answerAll(Outcome outcome, const std::string& code = {}) const {
    sender->setScript([=](const SendRequest& request) { return ScriptedSender::all(request, outcome, code); });
  }
  [[nodiscard]] std::vector<std::string> sentIds() const {
    std::vector<std::string> ids;
    for (const OutboundFrame& sent : sender->frames()) {
      ids.push_back(sent.messageId);
    }
    return ids;
  }

  TempDir dir;
  StagePlaces places{dir};
  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  std::shared_ptr<ScriptedSender> sender = ScriptedSender::always(Outcome::ack);
};

}  // namespace ackbox::testing
