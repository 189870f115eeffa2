#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.hpp"
#include "serve/http/logins.hpp"
#include "serve/http/operation.hpp"
#include "serve/http/refusals.hpp"
#include "serve/http/tokens.hpp"
#include "transport/request_sink.hpp"

namespace ackbox::serve {

/// The rules for the origin of requests.
struct AccessRules {
  /// The permitted values of `Host`, without ports; names in lower case. Empty permits any value, for a socket file,
  /// which no browser reaches.
  std::vector<std::string> hosts = {};
  /// Null if any process that can connect may request any operation.
  std::shared_ptr<const Tokens> tokens = {};
  /// Whether the operations of this kind (see `Opening`) need no token.
  bool openHealth = true;
  bool openMetrics = false;
};

/// Decides from a request's head which operation it requests and whether its caller may do so, before reading or
/// allocating its body. Checks in this order: host, route, token, role, origin, query. Counts and logs wrong tokens and
/// roles.
///
/// Thread-safety: all members may be called from any thread.
class Gate {
public:
  /// Lifetime: `service`, `logins`, `refusals` and `operations` must outlive all admitted requests.
  Gate(Service& service, Logins& logins, Refusals& refusals, std::span<const Operation> operations, AccessRules rules);

  [[nodiscard]] transport::Admission admit(const transport::RequestHead& head) const;

  /// Replaces the tokens for later requests.
  void setTokens(std::shared_ptr<const Tokens> tokens);
  /// Null if no tokens are configured.
  [[nodiscard]] std::shared_ptr<const Tokens> tokens() const;

private:
  /// The caller, identified by a token or by a login that stands for a token; `caller` is empty if neither is known.
  struct Known {
    std::optional<Caller> caller;
    Tokens::Digest digest{};
    std::optional<Logins::Key> login;
  };
  [[nodiscard]] Known callerOf(const transport::RequestHead& head, const Tokens& tokens) const;
  /// Returns nothing if this caller may request the operation.
  [[nodiscard]] std::optional<transport::Admission> refuseAccess(const transport::RequestHead& head,
                                                                 std::string_view target, const Operation& operation,
                                                                 const Known& known) const;
  /// Has what the operation refuses for the caller's limits counted and logged.
  void watchLimits(const transport::RequestHead& head, const Operation& operation, Request& request) const;
  [[nodiscard]] transport::Admission admitRun(const Operation& operation, Request&& request,
                                              bool isAuthenticated) const;
  [[nodiscard]] transport::Admission admitStream(const Operation& operation, Request&& request,
                                                 bool isAuthenticated) const;
  [[nodiscard]] transport::Admission refuseCaller(const transport::RequestHead& head, const Operation& operation) const;
  [[nodiscard]] bool isAllowedHost(std::string_view host) const;
  [[nodiscard]] bool isOpen(const Operation& operation) const;

  Service& service_;
  Logins& logins_;
  Refusals& refusals_;
  const std::span<const Operation> operations_;
  const AccessRules rules_;
  mutable Mutex mutex_;
  std::shared_ptr<const Tokens> tokens_ ACKBOX_GUARDED_BY(mutex_);
};

}  // namespace ackbox::serve
