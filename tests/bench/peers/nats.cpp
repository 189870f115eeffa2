// NATS JetStream: asynchronous publishes into a stream in files; a push consumer that acknowledges after the effect.
// The server acknowledges a publish when it has written it to the page cache.
//
// Variants: `log` keeps acknowledged messages, as streams do by default, and acknowledges a batch by its last message;
// `work-queue` removes each message when it is acknowledged, as an outbox does.

#include <nats/nats.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bench/peers/peer.hpp"

namespace ackbox::bench::peers {
namespace {

constexpr const char* kStream = "messages";
constexpr const char* kSubjects = "messages.*";
constexpr std::string_view kSubjectPrefix = "messages.";
constexpr std::int64_t kPatienceMilliseconds = 30'000;

struct Free {
  void operator()(natsConnection* connection) const { natsConnection_Destroy(connection); }
  void operator()(natsOptions* options) const { natsOptions_Destroy(options); }
  void operator()(natsSubscription* subscription) const { natsSubscription_Destroy(subscription); }
  void operator()(natsMsg* message) const { natsMsg_Destroy(message); }
  void operator()(jsCtx* context) const { jsCtx_Destroy(context); }
};
template <typename Type>
using Owned = std::unique_ptr<Type, Free>;

void check(natsStatus status, const char* doing) {
  if (status != NATS_OK) {
    throw std::runtime_error(std::string("NATS: ") + doing + ": " + natsStatus_GetText(status));
  }
}

Owned<natsConnection> connect(const Server& server) {
  natsConnection* connection = nullptr;
  natsOptions* made = nullptr;
  check(natsOptions_Create(&made), "options");
  const Owned<natsOptions> options(made);
  const std::string url = "nats://" + server.host + ":" + std::to_string(server.port);
  check(natsOptions_SetURL(options.get(), url.c_str()), "URL");
  // Else what is sent waits up to a millisecond for more.
  check(natsOptions_SetSendAsap(options.get(), true), "options");
  check(natsConnection_Connect(&connection, options.get()), "connect");
  return Owned<natsConnection>(connection);
}

class NatsProducer : public Producer {
public:
  explicit NatsProducer(const Server& server) : connection_(connect(server)) {
    jsOptions options;
    check(jsOptions_Init(&options), "options");
    options.PublishAsync.MaxPending = static_cast<std::int64_t>(kWindow);
    options.PublishAsync.StallWait = kPatienceMilliseconds;
    options.PublishAsync.ErrHandler = [](jsCtx* /*context*/, jsPubAckErr* /*error*/, void* refused) {
      ++*static_cast<std::atomic<std::uint64_t>*>(refused);
    };
    options.PublishAsync.ErrHandlerClosure = &refused_;
    jsCtx* context = nullptr;
    check(natsConnection_JetStream(&context, connection_.get(), &options), "JetStream");
    context_.reset(context);
  }

  void publish(const Message& message) override {
    const std::string subject = std::string(kSubjectPrefix) + message.session;
    check(js_PublishAsync(context_.get(), subject.c_str(), message.data.data(), static_cast<int>(message.data.size()),
                          nullptr),
          "publish");
  }

  void drain() override {
    jsPubOptions options;
    check(jsPubOptions_Init(&options), "options");
    options.MaxWait = kPatienceMilliseconds;
    check(js_PublishAsyncComplete(context_.get(), &options), "await the publishes");
    if (refused_ != 0) {
      throw std::runtime_error("publishes were refused");
    }
  }

private:
  std::atomic<std::uint64_t> refused_{0};
  const Owned<natsConnection> connection_;
  Owned<jsCtx> context_;
};

class NatsConsumer : public Consumer {
public:
  explicit NatsConsumer(const Server& server)
      : isWorkQueue_(server.variant == "work-queue"), connection_(connect(server)) {
    jsCtx* context = nullptr;
    check(natsConnection_JetStream(&context, connection_.get(), nullptr), "JetStream");
    context_.reset(context);
    addStream();
    subscribe();
  }

  std::size_t consume(Effects& effects) override {
    std::vector<Owned<natsMsg>> batch;
    // The first is waited for, the others are taken as they stand there.
    for (int wait = kPollMilliseconds; batch.size() < kBatch; wait = 0) {
      natsMsg* message = nullptr;
      const natsStatus status = natsSubscription_NextMsg(&message, subscription_.get(), wait);
      if (status == NATS_TIMEOUT) {
        break;
      }
      check(status, "receive");
      batch.emplace_back(message);
    }
    if (batch.empty()) {
      return 0;
    }
    effects.begin();
    for (const Owned<natsMsg>& message : batch) {
      effects.add({std::string(natsMsg_GetSubject(message.get())).substr(kSubjectPrefix.size()),
                   std::string(natsMsg_GetData(message.get()),
                               static_cast<std::size_t>(natsMsg_GetDataLength(message.get())))});
    }
    effects.commit();
    for (const Owned<natsMsg>& message : batch) {
      if (isWorkQueue_ || message == batch.back()) {
        check(natsMsg_Ack(message.get(), nullptr), "acknowledge");
      }
    }
    check(natsConnection_Flush(connection_.get()), "flush");
    return batch.size();
  }

private:
  void addStream() {
    jsStreamConfig stream;
    check(jsStreamConfig_Init(&stream), "options");
    const char* subjects = kSubjects;
    stream.Name = kStream;
    stream.Subjects = &subjects;
    stream.SubjectsLen = 1;
    stream.Storage = js_FileStorage;
    stream.Retention = isWorkQueue_ ? js_WorkQueuePolicy : js_LimitsPolicy;
    check(js_AddStream(nullptr, context_.get(), &stream, nullptr, nullptr), "make the stream");
  }

  void subscribe() {
    jsSubOptions options;
    check(jsSubOptions_Init(&options), "options");
    options.Stream = kStream;
    options.ManualAck = true;
    options.Config.Durable = "receiver";
    options.Config.AckPolicy = isWorkQueue_ ? js_AckExplicit : js_AckAll;
    // More than one batch, so that the next one is on its way while this one is committed.
    options.Config.MaxAckPending = static_cast<std::int64_t>(4 * kBatch);
    natsSubscription* subscription = nullptr;
    check(js_SubscribeSync(&subscription, context_.get(), kSubjects, nullptr, &options, nullptr), "subscribe");
    subscription_.reset(subscription);
  }

  const bool isWorkQueue_;
  const Owned<natsConnection> connection_;
  Owned<jsCtx> context_;
  Owned<natsSubscription> subscription_;
};

}  // namespace
}  // namespace ackbox::bench::peers

int main(int argc, char** argv) {
  using namespace ackbox::bench::peers;
  return runPeer(argc, argv,
                 {[](const Server& server) { return std::make_unique<NatsProducer>(server); },
                  [](const Server& server) { return std::make_unique<NatsConsumer>(server); }});
}
