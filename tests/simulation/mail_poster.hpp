#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ackbox/clock.hpp"
#include "simulation/common.hpp"
#include "transport/http_poster.hpp"

namespace ackbox::simulation {

/// The reports of the agent that fetches, on their way to its hub. See `MailNetwork`.
class MailPoster final : public transport::HttpPoster, public std::enable_shared_from_this<MailPoster> {
public:
  /// Each direction takes less than this.
  static constexpr std::uint64_t kDelayMostMs = 20;

  MailPoster(testing::SimulatedProcess& process, Common& common, std::string box,
             boost::asio::any_io_executor executor);

  void asyncPost(transport::HttpPost post, transport::HttpHandler handler) override;
  void close() override { calls_.clear(); }

private:
  struct Call {
    transport::HttpHandler handler;
    std::string body;
    bool isAnswerLost = false;
    std::unique_ptr<Alarm> alarm;
    std::unique_ptr<Alarm> timeout;
  };

  void arrive(std::uint64_t number);
  void answered(std::uint64_t number, const std::vector<std::string>& receipts, const std::vector<bool>& settled);
  void end(std::uint64_t number, transport::HttpAnswer answer);

  testing::SimulatedProcess& process_;
  Common& common_;
  const std::string box_;
  const boost::asio::any_io_executor executor_;
  std::uint64_t lastCall_ = 0;
  std::map<std::uint64_t, Call> calls_;
};

}  // namespace ackbox::simulation
