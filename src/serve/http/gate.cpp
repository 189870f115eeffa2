#include "serve/http/gate.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/hex.hpp"
#include "protocol/media_type.hpp"
#include "serve/http/answer.hpp"
#include "serve/http/host.hpp"
#include "serve/http/query.hpp"
#include "serve/http/router.hpp"

namespace ackbox::serve {
namespace {

using transport::Admission;
using transport::RequestHead;

constexpr std::string_view kBearer = "bearer ";
// A page of another origin cannot set this header without a CORS permission, which this server never grants.
constexpr std::string_view kOwnHeader = "x-ackbox";

/// The address of a request: host, path and query.
struct Address {
  std::string_view host;
  std::string_view target;
};

/// The target may be a whole URL. Its host then takes precedence over the header (RFC 9112, 3.2.2).
Address addressOf(const RequestHead& head) {
  const std::string_view target = head.target();
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (protocol::startsWithWord(target, scheme)) {
      const std::string_view rest = target.substr(scheme.size());
      const std::size_t end = rest.find_first_of("/?");
      return {rest.substr(0, end), end == std::string_view::npos ? "/" : rest.substr(end)};
    }
  }
  return {head.header("host"), target};
}

/// Adds what all answers have in common.
Response finished(Response response, bool isAuthenticated) {
  response.authenticated = isAuthenticated;
  addSecurityHeaders(response);
  return response;
}

Admission refused(Response response, bool isAuthenticated = false) {
  Admission admission;
  admission.refusal = finished(std::move(response), isAuthenticated);
  return admission;
}

Response unauthorized(const char* detail) {
  Response response = problemAnswer(401, "Unauthorized", detail);
  response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

Admission unauthenticated() {
  return refused(unauthorized("Send a token of this server: Authorization: Bearer ..."));
}

// The status stays 401, because a wrong token does not become right by waiting.
Admission tooManyGuesses() {
  Response response = unauthorized("Too many wrong tokens came from your address; send a right one, or come again.");
  response.retryAfterSeconds = 1;
  return refused(std::move(response));
}

Admission noRoute(const Route& route) {
  if (route.allowed.empty()) {
    return refused(problemAnswer(404, "Not found", "There is no operation of this path; GET /openapi.json has all."));
  }
  Response response = problemAnswer(405, "Method not allowed", "This path has other methods.");
  response.headers.emplace_back("Allow", route.allowed);
  return refused(std::move(response));
}

Admission withoutRole(const Operation& operation, const Caller& caller) {
  return refused(problemAnswer(403, "Forbidden",
                               "This needs the role " + operation.roles.names(" or ") + ", and the token of '" +
                                   caller.name + "' has " + caller.roles.names(" and ") + "."),
                 true);
}

Admission beyondLimits(const Caller& caller) {
  return refused(problemAnswer(403, "Forbidden",
                               "This shows or changes more than the messages of some peers. " +
                                   limitsSentence(caller.name, caller.limits)),
                 true);
}

/// Redirects to the login, which is at the level of the first-level views.
Admission askToLogIn(std::string_view target) {
  target.remove_prefix(1);
  const std::string_view path = target.substr(0, target.find('?'));
  Response response = textAnswer(303, {});
  response.headers.emplace_back(
      "Location",
      (path.find('/') == std::string_view::npos ? "login?next=" : "../login?next=") + percentEncoded(target));
  return refused(std::move(response));
}

/// Whether, according to the browser, no page of another origin sent this: forms and streams cannot set a header.
bool isOfThisOrigin(const RequestHead& head, std::string_view host) {
  if (head.count("sec-fetch-site") > 0) {
    return head.header("sec-fetch-site") == "same-origin";
  }
  const std::string_view origin = head.header("origin");
  const std::size_t scheme = origin.find("//");
  return head.count("origin") == 0 || (scheme != std::string_view::npos && origin.substr(scheme + 2) == host);
}

/// Whether a page of another origin made this request, or may have.
bool isForeign(const RequestHead& head, std::string_view host, const Operation& operation, bool isByCookie) {
  if (operation.isPage) {
    return operation.method != "GET" && !isOfThisOrigin(head, host);
  }
  // A foreign page cannot read a stream, but opening one would take frames from the applications.
  if (operation.stream != nullptr && !isOfThisOrigin(head, host)) {
    return true;
  }
  const bool isOfBrowser = isByCookie || head.count("origin") > 0 || head.count("sec-fetch-site") > 0;
  return isOfBrowser && operation.method != "GET" && head.header(kOwnHeader) != "1";
}

void takeHeaders(const RequestHead& head, Request& request) {
  request.contentType = head.header("content-type");
  request.accept = head.header("accept");
  request.idempotencyKey = head.header("idempotency-key");
  request.lastEventId = head.header("last-event-id");
  request.ifNoneMatch = head.header("if-none-match");
  request.cookie = head.header("cookie");
}

/// Whether the request is that of a logged-in browser: with a cookie, and without a token.
bool hasCookieAlone(const RequestHead& head) {
  return head.count("authorization") == 0 && head.count("cookie") > 0;
}

/// Normalizes the host names for the lookup in `isAllowedHost`.
AccessRules withPlainHosts(AccessRules rules) {
  for (std::string& host : rules.hosts) {
    host = hostNameOf(host).value_or(std::string());
  }
  return rules;
}

}  // namespace

Gate::Gate(Service& service, Logins& logins, Refusals& refusals, std::span<const Operation> operations,
           AccessRules rules)
    : service_(service),
      logins_(logins),
      refusals_(refusals),
      operations_(operations),
      rules_(withPlainHosts(std::move(rules))),
      tokens_(rules_.tokens) {}

void Gate::setTokens(std::shared_ptr<const Tokens> tokens) {
  const MutexLock lock(mutex_);
  tokens_ = std::move(tokens);
}

std::shared_ptr<const Tokens> Gate::tokens() const {
  const MutexLock lock(mutex_);
  return tokens_;
}

bool Gate::isAllowedHost(std::string_view host) const {
  const std::optional<std::string> name = hostNameOf(host);
  return rules_.hosts.empty() || (name && std::ranges::find(rules_.hosts, *name) != rules_.hosts.end());
}

bool Gate::isOpen(const Operation& operation) const {
  switch (operation.opening) {
    case Opening::never:
      return false;
    case Opening::always:
      return true;
    case Opening::health:
      return rules_.openHealth;
    case Opening::metrics:
      return rules_.openMetrics;
  }
  return false;
}

// A right token is admitted whatever its address sent before: wrong tokens cannot lock out a caller.
Admission Gate::refuseCaller(const RequestHead& head, const Operation& operation) const {
  if (head.count("authorization") == 0) {
    refusals_.withoutToken();
    return unauthenticated();
  }
  return refusals_.wrongToken(head.peerAddress(), operation.path) ? unauthenticated() : tooManyGuesses();
}

Gate::Known Gate::callerOf(const RequestHead& head, const Tokens& tokens) const {
  const std::string_view authorization = head.header("authorization");
  Known known;
  if (head.count("authorization") == 1 && protocol::startsWithWord(authorization, kBearer)) {
    known.digest = Tokens::digestOf(authorization.substr(kBearer.size()));
    known.caller = tokens.find(known.digest);
  } else if (hasCookieAlone(head)) {
    for (const Logins::Key& key : logins_.keysOf(head.header("cookie"))) {
      if (const std::optional<Tokens::Digest> token = logins_.find(key)) {
        known.login = key;
        known.digest = *token;
        known.caller = tokens.find(known.digest);
      }
      if (known.caller) {
        break;
      }
    }
  }
  return known;
}

std::optional<Admission> Gate::refuseAccess(const RequestHead& head, std::string_view target,
                                            const Operation& operation, const Known& known) const {
  if (!known.caller && operation.isPage && !isOpen(operation)) {
    return askToLogIn(target);
  }
  if (!known.caller && (!isOpen(operation) || head.count("authorization") > 0)) {
    return refuseCaller(head, operation);
  }
  const Caller caller = known.caller.value_or(Caller{});
  if (!isOpen(operation) && !operation.roles.empty() && !caller.roles.hasOneOf(operation.roles)) {
    refusals_.wrongRole(head.peerAddress(), operation.path, caller.name);
    return withoutRole(operation, caller);
  }
  if (!isOpen(operation) && operation.reach == Reach::all && !caller.limits.isEmpty()) {
    refusals_.beyondLimits(head.peerAddress(), operation.path, caller.name);
    return beyondLimits(caller);
  }
  return std::nullopt;
}

void Gate::watchLimits(const RequestHead& head, const Operation& operation, Request& request) const {
  if (!request.caller.limits.isEmpty()) {
    request.onBeyondLimits = [this, &operation, address = std::string(head.peerAddress()), name = request.caller.name] {
      refusals_.beyondLimits(address, operation.path, name);
    };
  }
}

Admission Gate::admit(const RequestHead& head) const {
  const auto [host, target] = addressOf(head);
  if (!isAllowedHost(host)) {
    return refused(problemAnswer(421, "Misdirected request", "This server has another name; see allowed_hosts."));
  }
  const std::size_t question = std::min(target.find('?'), target.size());
  const std::string_view path = question == 0 ? "/" : target.substr(0, question);
  Route route = findRoute(operations_, head.method(), path);
  if (route.operation == nullptr) {
    return noRoute(route);
  }
  const Operation& operation = *route.operation;
  Request request;
  request.caller = Caller{"local", kAllRoles};
  bool isAuthenticated = true;
  const std::shared_ptr<const Tokens> tokens = this->tokens();
  if (tokens) {
    const Known known = callerOf(head, *tokens);
    isAuthenticated = known.caller.has_value();
    if (std::optional<Admission> refusal = refuseAccess(head, target, operation, known)) {
      return std::move(*refusal);
    }
    request.logins = &logins_;
    request.tokens = tokens;
    request.caller = known.caller.value_or(Caller{});
    watchLimits(head, operation, request);
    if (operation.stream != nullptr || operation.endsWithToken) {
      request.isStillAllowed = [this, &operation, digest = known.digest, login = known.login,
                                mailbox = request.caller.mailbox, limits = request.caller.limits] {
        const std::shared_ptr<const Tokens> now = this->tokens();
        const std::optional<Caller> found = now ? now->find(digest) : std::nullopt;
        return found && found->roles.hasOneOf(operation.roles) && found->mailbox == mailbox &&
               found->limits == limits && (!login || logins_.find(*login));
      };
    }
  }
  const bool isByCookie = tokens && hasCookieAlone(head);
  if (isForeign(head, host, operation, isByCookie)) {
    return refused(
        problemAnswer(403, "Forbidden",
                      "Requests of a browser that change something need x-ackbox: 1, and streams the same origin."),
        isAuthenticated);
  }
  std::optional<Query> query =
      Query::parse(question < target.size() ? target.substr(question + 1) : std::string_view());
  if (!query) {
    return refused(problemAnswer(400, "Bad request", "The query cannot be decoded, or names a parameter twice."),
                   isAuthenticated);
  }
  if (head.count("idempotency-key") > 1 ||
      (head.count("idempotency-key") == 1 && head.header("idempotency-key").empty())) {
    return refused(problemAnswer(400, "Bad request", "There must be one Idempotency-Key, and it must not be empty."),
                   isAuthenticated);
  }
  request.path = std::move(route.path);
  request.query = std::move(*query);
  takeHeaders(head, request);
  return operation.stream != nullptr ? admitStream(operation, std::move(request), isAuthenticated)
                                     : admitRun(operation, std::move(request), isAuthenticated);
}

Admission Gate::admitRun(const Operation& operation, Request&& request, bool isAuthenticated) const {
  Admission admission;
  admission.bodyBytesMax = operation.bodyBytesMax;
  admission.client = std::make_shared<transport::ClientWatch>();
  request.client = admission.client;
  admission.handle = [&service = service_, &operation, request = std::move(request), isAuthenticated](
                         std::string body, const Respond& respond) mutable {
    request.body = std::move(body);
    const Respond finish = [respond, isAuthenticated](Response response) {
      respond(finished(std::move(response), isAuthenticated));
    };
    try {
      operation.run(service, std::move(request), Respond(finish));
    } catch (...) {
      finish(exceptionAnswer());
    }
  };
  return admission;
}

Admission Gate::admitStream(const Operation& operation, Request&& request, bool isAuthenticated) const {
  Admission admission;
  admission.stream = [&service = service_, &operation, request = std::move(request), isAuthenticated](
                         std::shared_ptr<transport::AnswerStream> answer, const Respond& respond) mutable {
    const Respond finish = [respond, isAuthenticated](Response response) {
      respond(finished(std::move(response), isAuthenticated));
    };
    try {
      operation.stream(service, std::move(request), std::move(answer), Respond(finish));
    } catch (...) {
      finish(exceptionAnswer());
    }
  };
  return admission;
}

}  // namespace ackbox::serve
