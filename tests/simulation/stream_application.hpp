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
struct Settlement;
}  // namespace ackbox::serve

namespace ackbox::simulation {

/// An application that opens a stream of the daemon, works on its frames, settles some of them, and goes; then it opens
/// another stream. After the world has healed it accepts everything, settles everything, and stays.
///
/// Lifetime: within that of its process; may end before its connection does.
class StreamApplication {
public:
  /// `box`: it is the agent of this mailbox; empty: an application of the process's agent.
  StreamApplication(testing::SimulatedProcess& process, Common& common, const Place& place, std::string box,
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

  [[nodiscard]] bool isThere() const;
  [[nodiscard]] Consumer consumerOf(std::size_t window);
  void act();
  void open();
  void end();
  /// The daemon has ended the connection.
  void ended();
  /// Its connection received these lines.
  void sent(std::string_view lines);
  void read();
  void take(Task task);
  void settleDue();
  [[nodiscard]] std::optional<HandlerResult> resultOf(const Task& task);
  /// Settles tasks that are no longer in its hands.
  void settleLate(std::vector<Task> tasks);
  /// Settles once more what it has settled, and what another mailbox was given.
  void settleWrongly(std::vector<serve::Settlement> settlements);
  void arm();

  testing::SimulatedProcess& process_;
  Common& common_;
  // Empty: see the constructor.
  const std::string box_;
  // With the agent that takes the frames.
  const Place place_;
  const std::shared_ptr<serve::FrameStreams> streams_;
  const std::unique_ptr<Alarm> alarm_;
  // Null: no stream is open.
  std::shared_ptr<Connection> connection_;
  Consumer consumer_;
  std::shared_ptr<bool> isAllowed_;
  // When it opens the next stream, or ends this one.
  SteadyTime turnsAt_;
  // Frames that the connection has received and the application has not read.
  std::vector<Task> unread_;
  std::size_t unreadBytes_ = 0;
  SteadyTime readsAt_ = SteadyTime::max();
  // The frames under work, by the time when each is done; `max`: never.
  std::multimap<SteadyTime, Task> tasks_;
};

}  // namespace ackbox::simulation
