#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ackbox/options.hpp"
#include "ackbox/sender.hpp"

namespace ackbox::manager {

/// Why a peer that was added at run time cannot be served.
class UnusablePeer : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// The senders of a run: the peers' own senders, and a common one for all other peers.
///
/// Thread-safety: `runInThisThread` may be called from any thread, the other members belong to the run's strand.
class Senders {
public:
  /// `common` may be null if each peer has its own sender.
  Senders(std::span<const PeerOptions> peers, std::shared_ptr<Sender> common);

  /// Introduces each peer to its own sender. Passes on a sender's exceptions.
  static void introduceOwn(std::span<const PeerOptions> peers);
  /// Introduces to `common` the peers that use it. Passes on its exceptions.
  static void introduce(std::span<const PeerOptions> peers, Sender& common);
  /// Whether each peer has a sender; `common`: there is a common one.
  [[nodiscard]] static bool suffice(std::span<const PeerOptions> peers, bool common);

  /// Introduces a peer that was added or changed to its sender, unless `problem` says why it cannot be served.
  void usePeer(const std::shared_ptr<const PeerOptions>& peer, const std::string& problem);
  void dropPeer(const std::string& name);
  /// Throws `UnusablePeer` for an added peer that cannot be served; to be called before each request.
  void requireUsable(const std::string& peer);

  /// See `Sender::initialCredit`; at least 1, even if the sender returns less or throws.
  [[nodiscard]] std::uint32_t initialCredit(std::string_view peer) const noexcept;
  /// Passes the request on to the peer's sender, and starts the sender first if necessary. Passes on its exceptions.
  void send(SendRequest&& request, SendHandler&& handler);

  /// An exception of a sender concerns only its own peers: the sender is started again at its next request.
  void start(const boost::asio::any_io_executor& executor);
  /// Exceptions of the senders are dropped.
  void stop() noexcept;
  /// Whether this thread is in a send function of one of the senders.
  [[nodiscard]] bool runInThisThread() const noexcept;

private:
  struct Unusable {
    std::string why;
    // Null: only a change of the peer helps.
    std::shared_ptr<const PeerOptions> again;
  };

  [[nodiscard]] Sender& of(std::string_view peer) const;

  std::shared_ptr<Sender> common_;
  std::vector<std::pair<std::string, Sender*>> own_;
  // Added peers that cannot be served, by name.
  std::map<std::string, Unusable, std::less<>> unusable_;
  // Each sender once.
  std::vector<std::shared_ptr<Sender>> all_;
  // Owned by the run's strand: the senders that could not be started, and the executor to start them on.
  std::vector<Sender*> unstarted_;
  boost::asio::any_io_executor executor_;
};

}  // namespace ackbox::manager
