#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ackbox/options.hpp"
#include "ackbox/sender.hpp"

namespace ackbox::manager {

/// The senders of a run: those that peers have of their own, and one for all other peers.
///
/// Thread-safety: `runInThisThread` may be called from any thread, the other members belong to the run's strand.
class Senders {
public:
  /// `common` may be null where each peer has its own.
  Senders(std::span<const PeerOptions> peers, std::shared_ptr<Sender> common);

  /// Introduces each peer to its own sender. Throws what a sender throws.
  static void introduceOwn(std::span<const PeerOptions> peers);
  /// Introduces to `common` the peers that it carries for. Throws what it throws.
  static void introduce(std::span<const PeerOptions> peers, Sender& common);
  /// Whether each peer has one, given whether there is a common one.
  [[nodiscard]] static bool suffice(std::span<const PeerOptions> peers, bool common);

  /// See `Sender::initialCredit`; at least 1, whatever the sender says or throws.
  [[nodiscard]] std::uint32_t initialCredit(std::string_view peer) const noexcept;
  /// Passes the request on to the peer's sender, which is started first if it was not. Throws what the sender throws.
  void send(SendRequest&& request, SendHandler&& handler);

  /// What one of them throws concerns its own peers alone: it is started again when there is something to send.
  void start(const boost::asio::any_io_executor& executor);
  /// What they throw is dropped: there is nothing more to be done with them.
  void stop() noexcept;
  /// Whether this thread is in a send function of one of them.
  [[nodiscard]] bool runInThisThread() const noexcept;

private:
  [[nodiscard]] Sender& of(std::string_view peer) const;

  std::shared_ptr<Sender> common_;
  std::vector<std::pair<std::string, Sender*>> own_;
  // Each once.
  std::vector<std::shared_ptr<Sender>> all_;
  // Owned by the run's strand: those that could not be started, and where they belong.
  std::vector<Sender*> unstarted_;
  boost::asio::any_io_executor executor_;
};

}  // namespace ackbox::manager
