// Redis streams: XADD, pipelined; XREADGROUP, then XACK and XDEL. With `appendfsync always` Redis answers after the
// append-only file was synced. Each batch's acknowledgement travels with the request for the next batch.

#include <hiredis/hiredis.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/peers/peer.hpp"

namespace ackbox::bench::peers {
namespace {

constexpr const char* kStream = "messages";
constexpr const char* kGroup = "receivers";

struct Free {
  void operator()(redisContext* context) const { redisFree(context); }
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using Context = std::unique_ptr<redisContext, Free>;
using Reply = std::unique_ptr<redisReply, Free>;

Context connect(const Server& server) {
  Context context(redisConnect(server.host.c_str(), server.port));
  if (!context || context->err != 0) {
    throw std::runtime_error("cannot connect to Redis");
  }
  redisEnableKeepAlive(context.get());
  return context;
}

void append(redisContext& context, const std::vector<std::string>& words) {
  std::vector<const char*> texts;
  std::vector<std::size_t> sizes;
  for (const std::string& word : words) {
    texts.push_back(word.data());
    sizes.push_back(word.size());
  }
  if (redisAppendCommandArgv(&context, static_cast<int>(words.size()), texts.data(), sizes.data()) != REDIS_OK) {
    throw std::runtime_error("a command was not taken");
  }
}

Reply checked(void* raw) {
  Reply reply(static_cast<redisReply*>(raw));
  if (!reply || reply->type == REDIS_REPLY_ERROR) {
    throw std::runtime_error(reply ? std::string(reply->str, reply->len) : "the connection to Redis is lost");
  }
  return reply;
}

// Sends what was appended and waits for the next reply.
Reply next(redisContext& context) {
  void* raw = nullptr;
  redisGetReply(&context, &raw);
  return checked(raw);
}

class RedisProducer : public Producer {
public:
  explicit RedisProducer(const Server& server) : context_(connect(server)) {}

  void publish(const Message& message) override {
    append(*context_, {"XADD", kStream, "*", "session", message.session, "data", message.data});
    if (++outstanding_ == kWindow) {
      (void)next(*context_);
      --outstanding_;
      takeArrived();
    }
  }

  void drain() override {
    for (; outstanding_ != 0; --outstanding_) {
      (void)next(*context_);
    }
  }

private:
  void takeArrived() {
    for (void* raw = nullptr; redisGetReplyFromReader(context_.get(), &raw) == REDIS_OK && raw != nullptr;) {
      (void)checked(raw);
      raw = nullptr;
      --outstanding_;
    }
  }

  const Context context_;
  std::size_t outstanding_ = 0;
};

class RedisConsumer : public Consumer {
public:
  explicit RedisConsumer(const Server& server) : context_(connect(server)) {
    append(*context_, {"XGROUP", "CREATE", kStream, kGroup, "0", "MKSTREAM"});
    (void)next(*context_);
  }

  std::size_t consume(Effects& effects) override {
    if (!isAsked_) {
      ask();
    }
    const Reply batch = next(*context_);
    isAsked_ = false;
    if (batch->type == REDIS_REPLY_NIL) {
      return 0;
    }
    std::vector<std::string> acknowledge = {"XACK", kStream, kGroup};
    std::vector<std::string> remove = {"XDEL", kStream};
    // [[stream, [[id, [name, value, ...]], ...]]]
    const redisReply& entries = *batch->element[0]->element[1];
    effects.begin();
    for (std::size_t index = 0; index < entries.elements; ++index) {
      const redisReply& id = *entries.element[index]->element[0];
      const redisReply& fields = *entries.element[index]->element[1];
      const auto text = [&](std::size_t field) {
        return std::string(fields.element[field]->str, fields.element[field]->len);
      };
      effects.add({text(1), text(3)});
      acknowledge.emplace_back(id.str, id.len);
      remove.emplace_back(id.str, id.len);
    }
    effects.commit();
    append(*context_, acknowledge);
    append(*context_, remove);
    ask();
    (void)next(*context_);
    (void)next(*context_);
    return entries.elements;
  }

private:
  void ask() {
    append(*context_, {"XREADGROUP", "GROUP", kGroup, "receiver", "COUNT", std::to_string(kBatch), "BLOCK",
                       std::to_string(kPollMilliseconds), "STREAMS", kStream, ">"});
    isAsked_ = true;
  }

  const Context context_;
  bool isAsked_ = false;
};

}  // namespace
}  // namespace ackbox::bench::peers

int main(int argc, char** argv) {
  using namespace ackbox::bench::peers;
  return runPeer(argc, argv,
                 {[](const Server& server) { return std::make_unique<RedisProducer>(server); },
                  [](const Server& server) { return std::make_unique<RedisConsumer>(server); }});
}
