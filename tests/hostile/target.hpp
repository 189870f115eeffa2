#pragma once

#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ackbox/http_sender.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/inbound_server.hpp"
#include "ackbox/outbox_manager.hpp"
#include "support/temp_dir.hpp"
#include "unit/transport/io_thread.hpp"
#include "unit/transport/raw_peer.hpp"

namespace ackbox::testing {

/// Whose thread a server runs on.
enum class RunsOn : std::uint8_t {
  /// Its own: the default.
  itself,
  /// The one thread of a context of the application's.
  context,
  /// Two threads of a pool of the application's.
  pool,
};

inline constexpr RunsOn kEveryRunsOn[] = {RunsOn::context, RunsOn::pool, RunsOn::itself};

/// An agent, bob, that listens to alice, who is honest, and to mallory, who has a key as well and is not. Strangers
/// have none.
class Target {
public:
  explicit Target(InboundServerOptions options = {}, TlsClientOptions trusted = {}, RunsOn runsOn = RunsOn::itself);
  ~Target();
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  [[nodiscard]] std::string url() const { return server_->url(); }
  [[nodiscard]] RawConnection connect() const { return RawConnection(server_->port()); }
  [[nodiscard]] std::uint16_t port() const { return server_->port(); }

  /// What a connection of its own gets for these bytes, until its end. The bytes must make the server end it.
  [[nodiscard]] std::string ask(std::string_view bytes) const;
  /// What mallory gets for a body that she has signed.
  [[nodiscard]] std::string askSigned(std::string_view body,
                                      std::string_view contentType = "application/cloudevents+json") const;

  /// Sends a frame from alice on a new connection; whether it was acknowledged.
  [[nodiscard]] bool servesAlice();
  /// Frames that took effect, of alice and of mallory.
  [[nodiscard]] int alices() const { return alices_; }
  [[nodiscard]] int mallorys() const { return mallorys_; }

  /// How alice and bob know each other.
  [[nodiscard]] static SecretSource alicesSecret();

private:
  TempDir directory_;
  const TlsClientOptions trusted_;
  std::atomic<int> alices_ = 0;
  std::atomic<int> mallorys_ = 0;
  std::optional<OutboxManager> manager_;
  std::optional<InboundHandler> handler_;
  // Alice's, and the server's where it runs there.
  boost::asio::thread_pool pool_{2};
  std::optional<IoThread> context_;
  std::optional<InboundServer> server_;
  int sent_ = 0;
};

/// A request that mallory has signed, as bytes; the connection stays open unless `headers` say otherwise.
[[nodiscard]] std::string signedRequest(std::string_view body,
                                        std::string_view contentType = "application/cloudevents+json",
                                        std::string_view headers = {});

/// A frame of mallory's, with further members, each with a comma in front.
[[nodiscard]] std::string malloryFrame(std::string_view id, std::string_view members = R"(,"data":1)");

/// Whether an answer begins with this status.
[[nodiscard]] bool hasStatus(std::string_view answer, int status);

}  // namespace ackbox::testing
