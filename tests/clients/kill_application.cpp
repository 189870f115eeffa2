// The C++ application of kill_test.py, which frames are posted to: each frame's effect is a row, which no constraint
// keeps from being there twice. The row and the mark of docs/clients.md commit together, before the answer.
//
//   kill_application PORT DATABASE [careless]

#include <SQLiteCpp/SQLiteCpp.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iostream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>

namespace {

namespace http = boost::beast::http;
using boost::asio::ip::tcp;
using nlohmann::json;

constexpr int kBusyTimeoutMs = 30000;

class Ledger {
public:
  Ledger(const std::string& file, bool isCareless)
      : db_(file, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, kBusyTimeoutMs), isCareless_(isCareless) {
    db_.exec(R"(
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = FULL;
      CREATE TABLE IF NOT EXISTS effects(session TEXT NOT NULL, n INTEGER NOT NULL);
      CREATE TABLE IF NOT EXISTS refused(id TEXT PRIMARY KEY);
      CREATE TABLE IF NOT EXISTS marks(source TEXT, origin TEXT, session TEXT, sequence INTEGER NOT NULL,
                                       PRIMARY KEY(source, origin, session));
      CREATE TABLE IF NOT EXISTS mark_ids(source TEXT, id TEXT, PRIMARY KEY(source, id));)");
  }

  /// Writes its row, unless it is known. Thread-safe.
  void apply(const json& event) {
    const std::lock_guard lock(mutex_);
    SQLite::Transaction transaction(db_, SQLite::TransactionBehavior::IMMEDIATE);
    // What kill_test.py must find: nothing recognises a repetition.
    if (mark(event) || isCareless_) {
      SQLite::Statement insert(db_, "INSERT INTO effects(session, n) VALUES (?, ?)");
      insert.bind(1, event.value("sessionid", ""));
      insert.bind(2, event.at("data").at("n").get<std::int64_t>());
      insert.exec();
    }
    transaction.commit();
  }

  /// Whether it comes for the first time. Thread-safe.
  bool isFirst(const json& event) {
    const std::lock_guard lock(mutex_);
    SQLite::Statement insert(db_, "INSERT INTO refused VALUES (?) ON CONFLICT DO NOTHING");
    insert.bind(1, event.at("id").get<std::string>());
    return insert.exec() == 1;
  }

private:
  /// True: the message was not marked before.
  bool mark(const json& event) {
    const std::string source = event.at("source");
    if (!event.contains("sessionseq")) {
      SQLite::Statement insert(db_, "INSERT INTO mark_ids VALUES (?, ?) ON CONFLICT DO NOTHING");
      insert.bind(1, source);
      insert.bind(2, event.at("id").get<std::string>());
      return insert.exec() == 1;
    }
    SQLite::Statement insert(db_, R"(
      INSERT INTO marks VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET sequence = excluded.sequence
      WHERE excluded.sequence > marks.sequence)");
    insert.bind(1, source);
    insert.bind(2, event.at("sessionorigin").get<std::string>());
    insert.bind(3, event.value("sessionid", ""));
    insert.bind(4, std::int64_t{std::stoll(event.at("sessionseq").get<std::string>())});
    return insert.exec() == 1;
  }

  std::mutex mutex_;
  SQLite::Database db_;
  bool isCareless_;
};

http::response<http::string_body> answer(Ledger& ledger, const http::request<http::string_body>& request) {
  const json event = json::parse(request.body());
  http::response<http::string_body> response(http::status::ok, request.version());
  if (event.at("data").at("n").get<int>() % 40 == 7 && ledger.isFirst(event)) {
    response.result(http::status::service_unavailable);
    response.set(http::field::retry_after, "0");
  } else {
    ledger.apply(event);
    response.set(http::field::content_type, "application/json");
    response.body() = event.at("data").dump();
  }
  response.keep_alive(request.keep_alive());
  response.prepare_payload();
  return response;
}

void serve(tcp::socket socket, Ledger& ledger) {
  boost::beast::flat_buffer buffer;
  try {
    for (;;) {
      http::request<http::string_body> request;
      http::read(socket, buffer, request);
      http::write(socket, answer(ledger, request));
    }
  } catch (const boost::system::system_error&) {
    // The daemon has closed the connection, or was killed.
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    std::abort();
  }
}

}  // namespace

int main(int count, char** arguments) {
  Ledger ledger(arguments[2], count > 3);
  boost::asio::io_context context;
  tcp::acceptor acceptor(context, {tcp::v4(), static_cast<std::uint16_t>(std::stoi(arguments[1]))});
  for (;;) {
    std::thread(serve, acceptor.accept(), std::ref(ledger)).detach();
  }
}
