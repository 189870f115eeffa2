#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/frame_handler.hpp"
#include "ackbox/inbound_frame.hpp"
#include "simulation/common.hpp"
#include "simulation/hands.hpp"

namespace ackbox::serve {
class FrameStreams;
}

namespace ackbox::simulation {

/// An application that opens a stream of the daemon, works on what it gets, settles some of it, and goes; and then
/// opens another one. Once the world has healed it takes everything, settles everything, and stays.
///
/// Lifetime: within that of its process; may end before its connection does.
class StreamApplication {
public:
  StreamApplication(testing::SimulatedProcess& process, Common& common, Place place,
                    std::shared_ptr<serve::FrameStreams> streams);
  ~StreamApplication();
  StreamApplication(const StreamApplication&) = delete;
  StreamApplication& operator=(const StreamApplication&) = delete;

private:
  class Connection;
  struct Task {
    std::string receipt;
    InboundFrame frame;
  };

  void act();
  void open();
  void end();
  /// The daemon has ended the connection.
  void ended();
  /// Its connection was given these lines.
  void sent(std::string_view lines);
  void read();
  void take(Task task);
  void settleDue();
  [[nodiscard]] std::optional<HandlerResult> resultOf(const Task& task);
  /// Settles what it has in hand no more.
  void settleLate(std::vector<Task> tasks);
  void arm();

  testing::SimulatedProcess& process_;
  Common& common_;
  const Place place_;
  const std::shared_ptr<serve::FrameStreams> streams_;
  const std::unique_ptr<Alarm> alarm_;
  // Null: none is open.
  std::shared_ptr<Connection> connection_;
  Consumer consumer_;
  std::shared_ptr<bool> isAllowed_;
  // When it opens the next stream, or ends this one.
  SteadyTime turnsAt_;
  // What the connection has, and it has not read.
  std::vector<Task> unread_;
  std::size_t unreadBytes_ = 0;
  SteadyTime readsAt_ = SteadyTime::max();
  // What it works on, by when that is done; the end of time: never.
  std::multimap<SteadyTime, Task> tasks_;
};

}  // namespace ackbox::simulation
