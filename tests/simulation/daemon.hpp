#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "ackbox/deferred_frame.hpp"
#include "ackbox/inbound_options.hpp"
#include "simulation/common.hpp"
#include "simulation/stream_application.hpp"

namespace ackbox::serve {
class ApplicationBoard;
class FrameStreams;
class Pusher;
}  // namespace ackbox::serve

namespace ackbox::simulation {

/// The parts by which the daemon gives deferred frames to applications: its own streams, pusher and board, connected as
/// in `serve::Server`, and applications that use them.
class Daemon {
public:
  Daemon(testing::SimulatedProcess& process, Common& common, const Place& place);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  /// Whether frames of this type, for the process's own agent, are for applications.
  [[nodiscard]] bool takes(std::string_view type) const;
  /// The same of this frame, or it is in a mailbox.
  [[nodiscard]] bool takes(const InboundFrame& frame) const;
  /// Adds its pools and the known applications. To be called before the `InboundHandler` is made.
  void configure(DeferredOptions& options);
  void add(DeferredFrame frame);

private:
  testing::SimulatedProcess& process_;
  Common& common_;
  const Place place_;
  std::shared_ptr<serve::Pusher> pusher_;
  std::shared_ptr<serve::FrameStreams> streams_;
  std::shared_ptr<serve::ApplicationBoard> board_;
  // Whether frames that wait for mailboxes are kept here.
  const bool isHub_;
  std::vector<std::unique_ptr<StreamApplication>> applications_;
};

}  // namespace ackbox::simulation
