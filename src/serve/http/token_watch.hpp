#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ackbox/clock.hpp"
#include "ackbox/log.hpp"
#include "serve/http/tokens.hpp"

namespace ackbox::serve {

/// Checks every ten seconds whether the tokens file can be used. If it cannot (deleted, emptied, unsafe, a malformed
/// line), the previous tokens stay valid for as long as secrets would. After that no token is valid until the file can
/// be used again. Changes in a usable file take effect at the next reload, which is not part of this class.
///
/// Thread-safety: none; owned by the executor. `start` and `stop` may be called from any thread.
class TokenWatch : public std::enable_shared_from_this<TokenWatch> {
public:
  using Use = std::function<void(std::shared_ptr<const Tokens>)>;

  /// `use` is called on the executor with the tokens that are valid from then on.
  TokenWatch(boost::asio::any_io_executor executor, std::shared_ptr<Clock> clock, std::filesystem::path file,
             std::chrono::milliseconds grace, Use use, LogSink log);

  void start();
  void stop();

private:
  void arm();
  void look();
  void onUsable(Tokens&& tokens);
  void onUnusable(std::string_view cause);
  void report(LogLevel level, std::string_view event, std::string_view text, LogField field) const;

  const boost::asio::any_io_executor executor_;
  const std::shared_ptr<Clock> clock_;
  const std::filesystem::path file_;
  const std::chrono::milliseconds grace_;
  const Use use_;
  const LogSink log_;
  const std::unique_ptr<Alarm> alarm_;
  // While the file cannot be used: the time until which the previous tokens are valid.
  std::optional<SteadyTime> until_;
  bool isOver_ = false;
  bool isStopped_ = false;
};

}  // namespace ackbox::serve
