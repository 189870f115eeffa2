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

/// Where requests may come from.
struct AccessRules {
  /// The values that `Host` may have, without their ports; names in small letters. Empty: any, for a socket file, which
  /// no browser reaches.
  std::vector<std::string> hosts = {};
  /// Null: every process that can connect may ask for everything.
  std::shared_ptr<const Tokens> tokens = {};
  /// Whether operations that are open with it need no token; likewise.
  bool openHealth = true;
  bool openMetrics = false;
};

/// Decides by a request's head which operation it is for and whether its caller may ask for it, before a byte of its
/// body is read or room for it is made. In this order: host, route, token, role, origin, query. Wrong tokens and roles
/// are counted, and in the log.
///
/// Thread-safety: all members may be called from any thread.
class Gate {
public:
  /// Lifetime: `service`, `logins`, `refusals` and `operations` must outlive the requests that are admitted.
  Gate(Service& service, Logins& logins, Refusals& refusals, std::span<const Operation> operations, AccessRules rules);

  [[nodiscard]] transport::Admission admit(const transport::RequestHead& head) const;

  /// Counts for requests from now on.
  void setTokens(std::shared_ptr<const Tokens> tokens);
  /// Null: no tokens are configured.
  [[nodiscard]] std::shared_ptr<const Tokens> tokens() const;

private:
  /// Who asks, by a token or by a login that stands for one; no caller: neither is known.
  struct Known {
    std::optional<Caller> caller;
    Tokens::Digest digest{};
    std::optional<Logins::Key> login;
  };
  [[nodiscard]] Known callerOf(const transport::RequestHead& head, const Tokens& tokens) const;
  /// Nothing: this caller may ask for the operation.
  [[nodiscard]] std::optional<transport::Admission> refuseAccess(const transport::RequestHead& head,
                                                                 std::string_view target, const Operation& operation,
                                                                 const Known& known) const;
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
