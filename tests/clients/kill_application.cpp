// The C++ application of kill_test.py, which frames are posted to: each frame's effect is a row, which no constraint
// keeps from being there twice. The request's `webhook-id` is the mark; both are written in one transaction.
//
//   clients_kill_application PORT DATABASE [careless]

#include <SQLiteCpp/SQLiteCpp.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

namespace {

namespace http = boost::beast::http;
using boost::asio::ip::tcp;
using Request = http::request<http::string_body>;
using Response = http::response<http::string_body>;

class Application {
public:
  Application(const std::string& file, bool isCareless)
      : db_(file, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, 30'000), isCareless_(isCareless) {
    db_.exec("PRAGMA journal_mode=WAL");
    db_.exec("PRAGMA synchronous=FULL");
    db_.exec("CREATE TABLE IF NOT EXISTS effects(session TEXT NOT NULL, n INTEGER NOT NULL)");
    db_.exec("CREATE TABLE IF NOT EXISTS marks(id TEXT PRIMARY KEY, runs INTEGER NOT NULL, done INTEGER NOT NULL)");
  }

  Response take(const Request& request) {
    const auto event = nlohmann::json::parse(request.body());
    const std::int64_t n = event.at("data").at("n");
    Response response{http::status::ok, request.version()};
    response.set(http::field::content_type, "application/json");
    response.body() = nlohmann::json({{"n", n}}).dump();
    SQLite::Transaction transaction(db_, SQLite::TransactionBehavior::IMMEDIATE);
    if (isFirst(std::string(request["webhook-id"])) && n % 40 == 7) {
      response.result(http::status::service_unavailable);
    } else if (isNew(std::string(request["webhook-id"]))) {
      SQLite::Statement effect(db_, "INSERT INTO effects(session, n) VALUES (?, ?)");
      effect.bind(1, event.value("session", event.value("sessionid", std::string())));
      effect.bind(2, n);
      effect.exec();
    }
    transaction.commit();
    response.prepare_payload();
    return response;
  }

private:
  bool isFirst(const std::string& id) {
    SQLite::Statement run(
        db_, "INSERT INTO marks VALUES (?, 1, 0) ON CONFLICT DO UPDATE SET runs = runs + 1 RETURNING runs");
    run.bind(1, id);
    run.executeStep();
    const bool isFirstRun = run.getColumn(0).getInt() == 1;
    run.reset();
    return isFirstRun;
  }

  bool isNew(const std::string& id) {
    SQLite::Statement mark(db_, "UPDATE marks SET done = 1 WHERE id = ? AND done = 0");
    mark.bind(1, id);
    return mark.exec() == 1 || isCareless_;
  }

  SQLite::Database db_;
  const bool isCareless_;
};

}  // namespace

int main(int count, char** arguments) {
  try {
    Application application(arguments[2], count > 3);
    boost::asio::io_context context;
    const auto port = static_cast<unsigned short>(std::atoi(arguments[1]));
    tcp::acceptor acceptor(context, {boost::asio::ip::make_address("127.0.0.1"), port});
    while (true) {
      // One request a connection: the others wait for their turn.
      tcp::socket socket = acceptor.accept();
      boost::beast::flat_buffer buffer;
      Request request;
      boost::system::error_code error;
      http::read(socket, buffer, request, error);
      if (error) {
        continue;
      }
      Response response = application.take(request);
      response.keep_alive(false);
      http::write(socket, response, error);
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
