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

/// Who carries whose messages: the senders that peers have of their own, and one for all others.
///
/// Thread-safety: constant after construction; the senders themselves are called by one run at a time.
class Senders {
public:
  /// `common` may be null where each peer has its own.
  Senders(std::span<const PeerOptions> peers, std::shared_ptr<Sender> common);

  /// Tells a peer's own sender, and no other, of it. Throws what a sender throws.
  static void introduceOwn(std::span<const PeerOptions> peers);
  /// Tells `common` of the peers that it carries for. Throws what it throws.
  static void introduce(std::span<const PeerOptions> peers, Sender& common);
  /// Whether each peer has one, given whether there is a common one.
  [[nodiscard]] static bool suffice(std::span<const PeerOptions> peers, bool common);

  [[nodiscard]] Sender& of(std::string_view peer) const;

  void start(const boost::asio::any_io_executor& executor) const;
  void stop() const;
  /// Whether this thread is in a send function of one of them.
  [[nodiscard]] bool runInThisThread() const noexcept;

private:
  std::shared_ptr<Sender> common_;
  std::vector<std::pair<std::string, Sender*>> own_;
  // Each once.
  std::vector<std::shared_ptr<Sender>> all_;
};

}  // namespace ackbox::manager
