#include "ackbox/http_sender.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/system_executor.hpp>
#include <charconv>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "ackbox/error.hpp"
#include "ackbox/options.hpp"
#include "ackbox/version.hpp"
#include "base/home_process.hpp"
#include "base/mutex.hpp"
#include "base/nested_error.hpp"
#include "protocol/limits.hpp"
#include "protocol/secret_cache.hpp"
#include "protocol/signature.hpp"
#include "protocol/text_rules.hpp"
#include "protocol/wire.hpp"
#include "transport/descriptors.hpp"
#include "transport/http_client.hpp"
#include "transport/networks.hpp"
#include "transport/option_rows.hpp"
#include "transport/sent_request.hpp"
#include "transport/stream.hpp"
#include "transport/tls_context.hpp"
#include "transport/url.hpp"

namespace ackbox {
namespace {

constexpr std::string_view kPlainProblem = "http:// to another machine must be asked for with `allowPlainHttp`";

std::shared_ptr<const HttpSenderOptions> complete(HttpSenderOptions options) {
  checkOptions(transport::senderOptionRows(), options);
  if (!options.clock) {
    options.clock = systemClock();
  }
  if (!options.random) {
    options.random = systemRandom();
  }
  return std::make_shared<const HttpSenderOptions>(std::move(options));
}

std::string hexadecimal(std::uint64_t word) {
  std::array<char, 16> digits{};
  digits.fill('0');
  std::array<char, 16> printed{};
  const auto end = std::to_chars(printed.data(), printed.data() + printed.size(), word, 16).ptr;
  std::copy(printed.data(), end, digits.data() + (digits.size() - static_cast<std::size_t>(end - printed.data())));
  return {digits.data(), digits.size()};
}

/// Why nothing may be sent: the keys verify no answer, or sign no webhook; or there are no headers. Empty: it may.
/// Either may be null if the peer has no such secrets.
std::string secretsProblem(PeerProfile profile, const protocol::KeyRing* keys, const protocol::OwnHeaders* own) {
  if (keys != nullptr && transport::isSettledByStatus(profile) && !keys->canSign()) {
    return "secrets: none of them can sign a webhook any more; add whsec_ or whsk_";
  }
  if (keys != nullptr && profile == PeerProfile::native && keys->verifyingKeys() == 0) {
    return "secrets: none of them can verify an answer any more; add whsec_ or whpk_";
  }
  if (own != nullptr && own->isEmpty()) {
    return "headers: there is no header any more, or they cannot be read; add one, such as Authorization: Bearer TOKEN";
  }
  return {};
}

}  // namespace

class HttpSender::Impl {
public:
  explicit Impl(HttpSenderOptions options) : options_(complete(std::move(options))) {}

  [[nodiscard]] const HomeProcess& home() const noexcept { return home_; }

  void usePeers(std::span<const PeerOptions> peers) {
    requireApart(peers);
    std::map<std::string, Peer, std::less<>> fresh;
    std::multimap<std::string, std::string> places;
    for (const PeerOptions& options : peers) {
      const auto [place, isNew] = fresh.emplace(options.name, makePeer(options));
      places.emplace(place->second.receiver.address, options.name);
    }
    const MutexLock lock(mutex_);
    peers_ = std::move(fresh);
    byAddress_ = std::move(places);
  }

  void changePeer(const PeerOptions& options) ACKBOX_EXCLUDES(mutex_) {
    Peer peer = makePeer(options);
    const MutexLock lock(mutex_);
    const auto [first, last] = byAddress_.equal_range(peer.receiver.address);
    for (auto other = first; other != last; ++other) {
      if (other->second != options.name) {
        requireOther(options.name, peer.receiver, other->second, peers_.find(other->second)->second.receiver);
      }
    }
    forget(options.name);
    byAddress_.emplace(peer.receiver.address, options.name);
    peers_.insert_or_assign(options.name, std::move(peer));
  }

  void removePeer(std::string_view name) ACKBOX_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    forget(name);
  }

  void reloadCertificates() { tls()->reload(); }

  [[nodiscard]] std::filesystem::path certificateFile() ACKBOX_EXCLUDES(tlsMutex_) {
    const MutexLock lock(tlsMutex_);
    return tls_ ? options_->tls.certificateFile : std::filesystem::path();
  }

  [[nodiscard]] HttpSenderStats stats() {
    const std::shared_ptr<transport::HttpClient> client = current();
    if (!client) {
      return {0, transport::connectionsWithinLimit(options_->connectionsMax)};
    }
    return {client->connections(), client->connectionsMax()};
  }

  void start(const boost::asio::any_io_executor& executor) {
    auto fresh = std::make_shared<transport::HttpClient>(executor, options_);
    replace(std::move(fresh));
  }

  void stop() { replace(nullptr); }

  void send(SendRequest&& request, SendHandler&& handler) {
    const std::shared_ptr<transport::HttpClient> client = current();
    if (!client) {
      // There is no strand to answer on.
      boost::asio::post(boost::asio::system_executor(), [handler = std::move(handler)] {
        handler(transport::failure(RequestOutcome::cancelled, "the sender is not started"));
      });
      return;
    }
    const Peer peer = peerNamed(request.peer);
    transport::ParsedUrl parsed = transport::parseUrl(request.url);
    if (parsed.url && !mayBePlain(*parsed.url, peer.allowPlainHttp)) {
      parsed = {.url = std::nullopt, .error = "peers['" + request.peer + "'].url: " + std::string(kPlainProblem)};
    }
    RequestOutcome refusal = RequestOutcome::peerRefused;
    std::shared_ptr<transport::TlsContext> encryption;
    if (parsed.url && parsed.url->isEncrypted) {
      try {
        encryption = tls();
      } catch (const Error& error) {
        parsed = {.url = std::nullopt, .error = error.what()};
        // Certificates that cannot be opened for lack of descriptors are not wrong.
        refusal = transport::isOutOfDescriptors() ? RequestOutcome::notSent : refusal;
      }
    }
    if (!parsed.url) {
      endLater(*client, std::move(handler), refusal, std::move(parsed.error));
      return;
    }
    if (transport::isSettledByStatus(peer.profile) && request.frames.size() != 1) {
      endLater(*client, std::move(handler), RequestOutcome::requestRejected, "one frame a webhook");
      return;
    }
    const std::shared_ptr<const protocol::KeyRing> keys = peer.keys ? peer.keys->current() : nullptr;
    const std::shared_ptr<const protocol::OwnHeaders> own = peer.headers ? peer.headers->current() : nullptr;
    if (std::string problem = secretsProblem(peer.profile, keys.get(), own.get()); !problem.empty()) {
      endLater(*client, std::move(handler), RequestOutcome::peerUnavailable, std::move(problem));
      return;
    }
    protocol::EncodedRequest encoded = encodedFor(peer.profile, request);
    transport::HttpPost post;
    post.url = *std::move(parsed.url);
    post.tls = std::move(encryption);
    post.networks = peer.networks;
    post.headers = headers(encoded, request, keys.get(), own.get());
    post.body = std::move(encoded.body);
    post.timeout = request.timeout;
    post.isStatusEnough = transport::isSettledByStatus(peer.profile);
    transport::SentRequest sent{std::move(request), std::move(encoded.webhookId), peer.profile, peer.keys,
                                own != nullptr};
    client->asyncPost(std::move(post), [sent = std::move(sent), options = options_,
                                        handler = std::move(handler)](transport::HttpAnswer answer) {
      handler(transport::reportOf(sent, std::move(answer), options->clock->wallNow()));
    });
  }

private:
  /// Where the requests to a peer lead.
  struct Receiver {
    // Empty: nowhere.
    std::string address;
    std::string agent;
    bool isForeign = false;
  };

  /// Reports a request that is not sent, on the client's strand.
  static void endLater(transport::HttpClient& client, SendHandler&& handler, RequestOutcome outcome,
                       std::string error) {
    client.post([handler = std::move(handler), outcome, error = std::move(error)] {
      handler(transport::failure(outcome, error));
    });
  }

  /// The options of a configured peer; empty for any other.
  struct Peer {
    Receiver receiver;
    // Null: nothing is signed.
    std::shared_ptr<protocol::KeyCache> keys;
    // Null: it has no headers of the user's own.
    std::shared_ptr<protocol::HeaderCache> headers;
    // Null: all.
    std::shared_ptr<const transport::Networks> networks;
    bool allowPlainHttp = false;
    PeerProfile profile = PeerProfile::native;
  };

  [[nodiscard]] Peer makePeer(const PeerOptions& options) {
    Peer peer;
    peer.receiver = receiverOf(options);
    peer.allowPlainHttp = options.allowPlainHttp;
    peer.profile = options.profile;
    const transport::ParsedUrl parsed = transport::parseUrl(options.url);
    if (!parsed.url && !options.url.empty()) {
      throw OptionError("peers['" + options.name + "'].url", parsed.error);
    }
    if (parsed.url && !mayBePlain(*parsed.url, peer.allowPlainHttp)) {
      throw OptionError("peers['" + options.name + "'].url", std::string(kPlainProblem));
    }
    if (parsed.url && parsed.url->isEncrypted) {
      (void)tls();
    }
    const std::string field = "peers['" + options.name + "'].";
    peer.networks = networksOf(field, options.networks);
    peer.keys = cached<protocol::KeyRing>(field, options.name, options.secrets);
    if (peer.keys && transport::isSettledByStatus(peer.profile) && !peer.keys->current()->canSign()) {
      throw OptionError(field + "secrets", "none of them can sign a webhook; add whsec_ or whsk_");
    }
    if (peer.keys && peer.profile == PeerProfile::native && peer.keys->current()->verifyingKeys() == 0) {
      throw OptionError(field + "secrets", "none of them can verify an answer; add whsec_ or whpk_");
    }
    peer.headers = cached<protocol::OwnHeaders>(field, options.name, options.headers);
    if (peer.headers && peer.headers->current()->isEmpty()) {
      throw OptionError(field + "headers", "there is no header; add one, such as Authorization: Bearer TOKEN");
    }
    return peer;
  }

  /// Null if there is no entry.
  static std::shared_ptr<const transport::Networks> networksOf(const std::string& field,
                                                               const std::vector<std::string>& entries) {
    if (entries.empty()) {
      return nullptr;
    }
    try {
      return std::make_shared<const transport::Networks>(entries);
    } catch (const Error& error) {
      throwNested(field, error);
    }
  }

  /// Null if there is no source.
  template <typename Secrets>
  [[nodiscard]] std::shared_ptr<protocol::SecretCache<Secrets>> cached(const std::string& field,
                                                                       const std::string& name,
                                                                       const SecretSource& source) const {
    if (!source) {
      return nullptr;
    }
    try {
      return std::make_shared<protocol::SecretCache<Secrets>>(
          source, options_->clock, options_->secretsGrace,
          [onSecretsLost = options_->onSecretsLost, name](std::string_view what) {
            if (onSecretsLost) {
              onSecretsLost(name, what);
            }
          });
    } catch (const Error& error) {
      throwNested(field, error);
    }
  }

  /// Each peer numbers its sessions separately. Two peers that lead to one receiver would send it two messages with one
  /// number: it would take the second for a repetition of the first, or this file for a restored one.
  static void requireApart(std::span<const PeerOptions> peers) {
    std::multimap<std::string, std::pair<std::string, Receiver>> byUrl;
    for (const PeerOptions& peer : peers) {
      Receiver receiver = receiverOf(peer);
      if (receiver.address.empty()) {
        continue;
      }
      const auto [first, last] = byUrl.equal_range(receiver.address);
      for (auto other = first; other != last; ++other) {
        requireOther(peer.name, receiver, other->second.first, other->second.second);
      }
      std::string address = receiver.address;
      byUrl.emplace(std::move(address), std::pair(peer.name, std::move(receiver)));
    }
  }

  /// One URL may lead to several agents. A receiver of another standard ignores the numbers.
  static void requireOther(const std::string& name, const Receiver& one, const std::string& otherName,
                           const Receiver& other) {
    const bool mayBeOne = one.agent.empty() || other.agent.empty() || one.agent == other.agent;
    if (one.address == other.address && !one.address.empty() && !(one.isForeign && other.isForeign) && mayBeOne) {
      throw OptionError("peers['" + name + "'].url",
                        "peers '" + otherName + "' and '" + name +
                            "' lead to the same URL; keep one of them, or give each the agent that it is");
    }
  }

  static Receiver receiverOf(const PeerOptions& peer) {
    Receiver receiver;
    receiver.agent = peer.agent;
    receiver.isForeign = transport::isSettledByStatus(peer.profile);
    if (const std::optional<transport::Url> url = transport::parseUrl(peer.url).url) {
      receiver.address = url->authority();
      std::ranges::transform(receiver.address, receiver.address.begin(), [](char letter) {
        return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
      });
      receiver.address.append(url->isEncrypted ? " tls " : " ").append(url->target);
    }
    return receiver;
  }

  static bool mayBePlain(const transport::Url& url, bool isAllowed) {
    return url.isEncrypted || isAllowed || url.isLoopback();
  }

  [[nodiscard]] std::string traceparentOf(const SendRequest& request) const {
    std::string hop;
    if (options_->traceparent) {
      try {
        hop = options_->traceparent(request);
      } catch (...) {
        // Documented: tracing harms no delivery.
      }
      // The value comes from outside, and a line break in it would begin another header.
      return protocol::isVisibleAscii(hop, protocol::kTraceparentBytesMax) ? hop : std::string();
    }
    if (!request.traceparent.empty()) {
      return request.traceparent;
    }
    if (!request.frames.empty()) {
      hop = request.frames.front().traceparent;
    }
    const bool isShared =
        std::ranges::all_of(request.frames, [&hop](const OutboundFrame& frame) { return frame.traceparent == hop; });
    return isShared ? hop : std::string();
  }

  /// The request in the form that the peer understands.
  [[nodiscard]] protocol::EncodedRequest encodedFor(PeerProfile profile, const SendRequest& request) {
    const std::string delivery = "dlv_" + hexadecimal(options_->random->next()) + hexadecimal(options_->random->next());
    protocol::EncodedRequest encoded = profile == PeerProfile::cloudeventsBinary
                                           ? protocol::encodeBinaryRequest(request, delivery)
                                           : protocol::encodeRequest(request, delivery);
    if (profile == PeerProfile::webhook) {
      encoded.contentType = protocol::kMediaTypeJson;
    }
    return encoded;
  }

  // A signature covers the id, the timestamp of this attempt and the body.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> headers(const protocol::EncodedRequest& encoded,
                                                                         const SendRequest& request,
                                                                         const protocol::KeyRing* keys,
                                                                         const protocol::OwnHeaders* own) const {
    const WallTime now = options_->clock->wallNow();
    const auto seconds = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
    std::vector<std::pair<std::string, std::string>> made = {
        {"content-type", encoded.contentType},
        {"webhook-id", encoded.webhookId},
        {"webhook-timestamp", std::to_string(seconds)},
        {"outbox-version", std::string(protocol::kVersion)},
        {"user-agent", "ackbox/" + std::string(kVersion)},
    };
    made.insert(made.end(), encoded.headers.begin(), encoded.headers.end());
    if (!request.agent.empty()) {
      made.emplace_back("outbox-agent", request.agent);
    }
    if (std::string hop = traceparentOf(request); !hop.empty()) {
      made.emplace_back("traceparent", std::move(hop));
    }
    if (keys != nullptr && keys->canSign()) {
      made.emplace_back("webhook-signature", keys->sign(encoded.webhookId, encoded.body, now).signature);
    }
    if (own != nullptr) {
      own->addTo(made);
    }
    return made;
  }

  // Made when it is first needed, because the system has many authorities.
  [[nodiscard]] std::shared_ptr<transport::TlsContext> tls() ACKBOX_EXCLUDES(tlsMutex_) {
    const MutexLock lock(tlsMutex_);
    if (!tls_) {
      tls_ = std::make_shared<transport::TlsContext>(options_->tls, options_->clock);
    }
    return tls_;
  }

  void forget(std::string_view name) ACKBOX_REQUIRES(mutex_) {
    const auto found = peers_.find(name);
    if (found == peers_.end()) {
      return;
    }
    const auto [first, last] = byAddress_.equal_range(found->second.receiver.address);
    byAddress_.erase(std::find_if(first, last, [&](const auto& one) { return one.second == name; }));
    peers_.erase(found);
  }

  [[nodiscard]] Peer peerNamed(std::string_view name) ACKBOX_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    const auto found = peers_.find(name);
    return found == peers_.end() ? Peer() : found->second;
  }

  [[nodiscard]] std::shared_ptr<transport::HttpClient> current() ACKBOX_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return client_;
  }

  void replace(std::shared_ptr<transport::HttpClient> fresh) ACKBOX_EXCLUDES(mutex_) {
    {
      const MutexLock lock(mutex_);
      client_.swap(fresh);
    }
    if (fresh) {
      fresh->close();
    }
  }

  const std::shared_ptr<const HttpSenderOptions> options_;
  Mutex tlsMutex_;
  std::shared_ptr<transport::TlsContext> tls_ ACKBOX_GUARDED_BY(tlsMutex_);
  Mutex mutex_;
  const HomeProcess home_;
  // Null while not started.
  std::shared_ptr<transport::HttpClient> client_ ACKBOX_GUARDED_BY(mutex_);
  std::map<std::string, Peer, std::less<>> peers_ ACKBOX_GUARDED_BY(mutex_);
  // The names of `peers_` by the addresses of their receivers.
  std::multimap<std::string, std::string> byAddress_ ACKBOX_GUARDED_BY(mutex_);
};

HttpSender::HttpSender(HttpSenderOptions options) : impl_(std::make_shared<Impl>(std::move(options))) {}

HttpSender::~HttpSender() {
  if (impl_->home().isHere()) {
    stop();
  } else {
    HomeProcess::abandon(std::move(impl_));
  }
}

void HttpSender::usePeers(std::span<const PeerOptions> peers) {
  impl_->usePeers(peers);
}

void HttpSender::changePeer(const PeerOptions& peer) {
  impl_->changePeer(peer);
}

void HttpSender::removePeer(std::string_view name) {
  impl_->removePeer(name);
}

std::filesystem::path HttpSender::certificateFile() const {
  return impl_->certificateFile();
}

void HttpSender::start(const boost::asio::any_io_executor& executor) {
  impl_->start(executor);
}

void HttpSender::asyncSend(SendRequest request, SendHandler handler) {
  impl_->send(std::move(request), std::move(handler));
}

HttpSenderStats HttpSender::stats() const {
  return impl_->stats();
}

void HttpSender::reloadCertificates() {
  impl_->reloadCertificates();
}

void HttpSender::stop() {
  impl_->stop();
}

}  // namespace ackbox
