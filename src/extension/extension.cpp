// The loadable extension: SQL functions on the host's connection, in the host's transaction (docs/sql.md).

#include <sqlite3ext.h>

#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include "ackbox/error.hpp"
#include "ackbox/version.hpp"
#include "extension/binding.hpp"
#include "extension/error_text.hpp"
#include "extension/lifetime.hpp"
#include "extension/marks.hpp"
#include "json/line.hpp"
#include "records/frame_line.hpp"
#include "records/subscription.hpp"

extern "C" {
SQLITE_EXTENSION_INIT1
}

namespace ackbox::extension {
namespace {

constexpr int kSqliteLeast = 3'040'000;

/// What the caller's SQL gets for an error.
class Refusal : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// The arguments of one call.
class Call {
public:
  Call(sqlite3_context* context, int count, sqlite3_value** values)
      : context_(context), count_(count), values_(values) {}

  [[nodiscard]] Binding& binding() const {
    return **static_cast<std::shared_ptr<Binding>*>(sqlite3_user_data(context_));
  }
  [[nodiscard]] int count() const noexcept { return count_; }

  /// Valid during the call. `isOptional`: NULL stands for empty text.
  [[nodiscard]] std::string_view text(int place, const char* name, bool isOptional = false) const {
    sqlite3_value* const value = values_[place];
    const int type = sqlite3_value_type(value);
    if (type == SQLITE_NULL && isOptional) {
      return {};
    }
    if (type != SQLITE_TEXT) {
      throw Refusal(std::string(name) + " must be TEXT" + (isOptional ? " or NULL" : ""));
    }
    const void* const bytes = sqlite3_value_text(value);
    if (bytes == nullptr) {
      throw std::bad_alloc();
    }
    return {static_cast<const char*>(bytes), static_cast<std::size_t>(sqlite3_value_bytes(value))};
  }
  [[nodiscard]] std::int64_t number(int place, const char* name) const {
    if (sqlite3_value_type(values_[place]) != SQLITE_INTEGER) {
      throw Refusal(std::string(name) + " must be INTEGER");
    }
    return sqlite3_value_int64(values_[place]);
  }

  void give(std::string_view text) const {
    sqlite3_result_text64(context_, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  }
  void give(bool value) const { sqlite3_result_int(context_, value ? 1 : 0); }
  void giveNull() const { sqlite3_result_null(context_); }

private:
  sqlite3_context* context_;
  int count_;
  sqlite3_value** values_;
};

/// What a function does that writes. What the host asks SQLite for after its own INSERT stays true.
class Writing {
public:
  explicit Writing(sqlite3* connection) : connection_(connection), rowId_(sqlite3_last_insert_rowid(connection)) {
    if (sqlite3_get_autocommit(connection) != 0) {
      throw Refusal("noTransaction: begin one first (BEGIN IMMEDIATE): it commits together with your own rows");
    }
    // What it has written could be undone without this, and SQLite has no savepoint in its middle.
    for (sqlite3_stmt* one = sqlite3_next_stmt(connection, nullptr); one != nullptr;
         one = sqlite3_next_stmt(connection, one)) {
      if (sqlite3_stmt_busy(one) != 0 && sqlite3_stmt_readonly(one) == 0) {
        throw Refusal(std::string("call it in a SELECT of its own, when no statement that writes is under way: ") +
                      sqlite3_sql(one));
      }
    }
  }
  ~Writing() { sqlite3_set_last_insert_rowid(connection_, rowId_); }
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;

private:
  sqlite3* connection_;
  sqlite3_int64 rowId_;
};

/// `hasBegun`: the call was made in a transaction.
void fail(sqlite3_context* context, const char* what, int code, bool hasBegun) noexcept {
  const bool isOver = hasBegun && sqlite3_get_autocommit(sqlite3_context_db_handle(context)) != 0;
  if (char* const text =
          sqlite3_mprintf("ackbox: %s%s", what, isOver ? "; SQLite has rolled the transaction back" : "")) {
    sqlite3_result_error(context, text, -1);
    sqlite3_free(text);
    sqlite3_result_error_code(context, code);
  } else {
    sqlite3_result_error_nomem(context);
  }
}

/// SQLite is C: nothing may be thrown through it.
template <void (*Action)(const Call&)>
void guarded(sqlite3_context* context, int count, sqlite3_value** values) {
  const bool hasBegun = sqlite3_get_autocommit(sqlite3_context_db_handle(context)) == 0;
  try {
    const Call call(context, count, values);
    call.binding().requireHome();
    Action(call);
  } catch (const Error& error) {
    fail(context, sqlText(error).c_str(), sqlCode(error), hasBegun);
  } catch (const std::bad_alloc&) {
    sqlite3_result_error_nomem(context);
  } catch (const std::exception& error) {
    fail(context, error.what(), SQLITE_ERROR, hasBegun);
  }
}

/// The frame of a call with one argument; `peer` stands for one that it does not name.
Frame wholeFrameOf(const Call& call, std::string_view peer) {
  records::FrameLine parsed = records::parseFrameLine(call.text(0, "the frame"), {.peer = std::string(peer)});
  if (!parsed.problem.empty()) {
    throw Refusal("invalidFrame: " + parsed.problem);
  }
  return std::move(parsed.frame);
}

Frame frameOf(const Call& call) {
  Frame frame;
  if (call.count() == 1) {
    return wholeFrameOf(call, frame.peer);
  }
  frame.peer = call.text(0, "peer");
  frame.session = call.text(1, "session", true);
  frame.type = call.text(2, "type");
  frame.data = call.text(3, "data", true);
  return frame;
}

void enqueue(const Call& call) {
  const Frame frame = frameOf(call);
  Binding& binding = call.binding();
  const Writing writing(binding.connection());
  const EnqueueReceipt receipt = binding.enqueue(frame);
  if (!receipt.accepted()) {
    throw Refusal(std::string(toString(receipt.status)) + ": " +
                  (receipt.status == EnqueueStatus::unknownPeer ? "the outbox knows the peers: " + binding.peerNames()
                                                                : sqlNames(receipt.detail)));
  }
  json::Line line;
  line.add("status", toString(receipt.status)).add("message_id", receipt.messageId).add("sequence", receipt.sequence);
  if (!receipt.supersededId.empty()) {
    line.add("superseded_id", receipt.supersededId);
  }
  call.give(line.text());
}

Frame publishedFrameOf(const Call& call) {
  Frame frame;
  if (call.count() == 1) {
    frame = wholeFrameOf(call, kAllSubscribers);
    if (frame.peer != kAllSubscribers) {
      throw Refusal("invalidFrame: peer must be '*' or missing: a publish goes to all that have subscribed");
    }
    return frame;
  }
  frame.session = call.text(0, "session", true);
  frame.type = call.text(1, "type");
  frame.data = call.text(2, "data", true);
  return frame;
}

void publish(const Call& call) {
  const Frame frame = publishedFrameOf(call);
  Binding& binding = call.binding();
  const Writing writing(binding.connection());
  const PublishReceipt receipt = binding.publish(frame);
  // A publish without a subscriber is no error: a program does not choose its subscribers.
  if (!receipt.accepted() && receipt.status != PublishStatus::noSubscriber) {
    throw Refusal(std::string(toString(receipt.status)) + ": " + sqlNames(receipt.detail));
  }
  json::Line line;
  line.add("status", toString(receipt.status)).raw("messages", records::listOf(receipt.messages));
  call.give(line.text());
}

void markPlace(const Call& call) {
  const Place place{call.text(0, "source"), call.text(1, "origin"), call.text(2, "session"),
                    call.number(3, "sequence")};
  if (place.sequence < 1) {
    throw Refusal("sequence must be 1 or more; a message outside sessions: ackbox_mark_id(source, id)");
  }
  sqlite3* const connection = call.binding().connection();
  const Writing writing(connection);
  call.give(mark(connection, place));
}

void markMessage(const Call& call) {
  const std::string_view source = call.text(0, "source");
  const std::string_view id = call.text(1, "id");
  sqlite3* const connection = call.binding().connection();
  const Writing writing(connection);
  call.give(markId(connection, source, id, systemClock()->wallNow()));
}

void configure(const Call& call) {
  // The writer ends for a moment, and with it what it has set on the connection.
  if (sqlite3_get_autocommit(call.binding().connection()) == 0) {
    throw Refusal("configure outside a transaction");
  }
  call.binding().configure(call.text(0, "the options"));
  call.giveNull();
}

void stats(const Call& call) {
  call.give(call.binding().stats());
}

void explain(const Call& call) {
  const std::string found = call.binding().explain(call.text(0, "message_id"));
  if (found.empty()) {
    call.giveNull();
  } else {
    call.give(found);
  }
}

void giveVersion(const Call& call) {
  call.give(kVersion);
}

struct Function {
  const char* name;
  int arguments;
  void (*body)(sqlite3_context*, int, sqlite3_value**);
};

constexpr Function kFunctions[] = {
    {"ackbox_enqueue", 1, guarded<enqueue>},     {"ackbox_enqueue", 4, guarded<enqueue>},
    {"ackbox_publish", 1, guarded<publish>},     {"ackbox_publish", 3, guarded<publish>},
    {"ackbox_mark", 4, guarded<markPlace>},      {"ackbox_mark_id", 2, guarded<markMessage>},
    {"ackbox_configure", 1, guarded<configure>}, {"ackbox_stats", 0, guarded<stats>},
    {"ackbox_explain", 1, guarded<explain>},     {"ackbox_version", 0, guarded<giveVersion>},
};

void forget(void* binding) {
  delete static_cast<std::shared_ptr<Binding>*>(binding);
}

int add(sqlite3* connection) {
  const auto binding = std::make_shared<Binding>(connection);
  if (const int failed = addLifetime(connection, binding); failed != SQLITE_OK) {
    return failed;
  }
  for (const Function& one : kFunctions) {
    // Only in SQL that the host itself wrote: a file's views and triggers call none.
    const int failed =
        sqlite3_create_function_v2(connection, one.name, one.arguments, SQLITE_UTF8 | SQLITE_DIRECTONLY,
                                   new std::shared_ptr<Binding>(binding), one.body, nullptr, nullptr, forget);
    if (failed != SQLITE_OK) {
      return failed;
    }
  }
  binding->tryToBind();
  return SQLITE_OK;
}

/// Why this SQLite is not used; empty: it is.
std::string objection(const sqlite3_api_routines* host) {
  const int version = host->libversion_number();
  if (version < kSqliteLeast) {
    return "ackbox needs SQLite 3.40 or newer; this is " + std::to_string(version / 1'000'000) + "." +
           std::to_string(version / 1'000 % 1'000);
  }
  if (sqlite3_api != nullptr && sqlite3_api != host) {
    return "another SQLite of this process has loaded ackbox: two of them on one file drop each other's locks";
  }
  return {};
}

}  // namespace
}  // namespace ackbox::extension

/// What SQLite calls when it loads `ackbox.so`.
// NOLINTNEXTLINE(readability-identifier-naming): SQLite makes the name of the file's.
extern "C" __attribute__((visibility("default"))) int sqlite3_ackbox_init(sqlite3* connection, char** error,
                                                                          const sqlite3_api_routines* host) {
  try {
    if (const std::string why = ackbox::extension::objection(host); !why.empty()) {
      *error = host->mprintf("%s", why.c_str());
      return SQLITE_ERROR;
    }
    SQLITE_EXTENSION_INIT2(host);
    const int result = ackbox::extension::add(connection);
    // Its code outlives the connection: a library that has registered for forks must not be unloaded.
    return result == SQLITE_OK ? SQLITE_OK_LOAD_PERMANENTLY : result;
  } catch (const std::exception&) {
    return SQLITE_NOMEM;
  }
}
