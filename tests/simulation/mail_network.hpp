#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "ackbox/clock.hpp"
#include "simulation/common.hpp"
#include "transport/mailbox_line.hpp"

namespace ackbox::simulation {

/// The way of the agent that fetches to its hub: streams that are lost, at times seen by one end first, and reports
/// that are lost or not answered. After the world has healed nothing is lost.
class MailNetwork final : public transport::MailboxNetwork {
public:
  /// `box`: the agent whose process this is.
  MailNetwork(testing::SimulatedProcess& process, Common& common, std::string box)
      : process_(process), common_(common), box_(std::move(box)) {}

  [[nodiscard]] std::shared_ptr<transport::HttpPoster> makePoster(const boost::asio::any_io_executor& strand) override;
  [[nodiscard]] std::shared_ptr<transport::MailboxLine> makeLine(const boost::asio::any_io_executor& strand,
                                                                 transport::MailboxLine::Wish wish,
                                                                 transport::MailboxLine::Events events) override;

private:
  testing::SimulatedProcess& process_;
  Common& common_;
  const std::string box_;
};

}  // namespace ackbox::simulation
