#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "ackbox/clock.hpp"
#include "ackbox/inbound_frame.hpp"
#include "simulation/common.hpp"
#include "simulation/hands.hpp"
#include "transport/http_poster.hpp"

namespace ackbox::simulation {

/// The frame in the CloudEvent that an application gets.
[[nodiscard]] InboundFrame readEvent(const nlohmann::json& event);

/// The application to which a daemon posts frames, and the connection to it: it accepts frames, refuses them, fails,
/// dies of them, answers too late, or is not there. After the world has healed it accepts all of them.
class PushApplication final : public transport::HttpPoster {
public:
  PushApplication(testing::SimulatedProcess& process, Common& common, Place place);

  void asyncPost(transport::HttpPost post, transport::HttpHandler handler) override;
  void close() override {}

private:
  struct Call {
    transport::HttpHandler handler;
    InboundFrame frame;
    transport::HttpAnswer answer;
    bool isReached = false;
    std::unique_ptr<Alarm> alarm;
  };

  [[nodiscard]] transport::HttpAnswer drawAnswer(const InboundFrame& frame);
  void end(std::uint64_t call);

  testing::SimulatedProcess& process_;
  Common& common_;
  const Place place_;
  const Consumer consumer_;
  std::uint64_t lastCall_ = 0;
  std::map<std::uint64_t, Call> calls_;
};

}  // namespace ackbox::simulation
