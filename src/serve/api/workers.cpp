#include "serve/api/workers.hpp"

#include <boost/asio/post.hpp>
#include <utility>

#include "protocol/wire.hpp"
#include "serve/http/answer.hpp"

namespace ackbox::serve {

Workers::Workers(std::size_t threads, std::size_t waitingMax) : waitingMax_(waitingMax), threads_(threads) {}

Workers::~Workers() {
  join();
}

void Workers::answer(std::function<Response()> work, Respond respond) {
  if (++waiting_ > waitingMax_) {
    --waiting_;
    respond(protocol::unavailable(false, "Too many requests wait for the file."));
    return;
  }
  boost::asio::post(threads_, [this, work = std::move(work), respond = std::move(respond)] {
    --waiting_;
    Response response;
    try {
      response = work();
    } catch (...) {
      response = exceptionAnswer();
    }
    respond(std::move(response));
  });
}

void Workers::run(std::function<void()> work) {
  boost::asio::post(threads_, std::move(work));
}

void Workers::join() {
  threads_.join();
}

}  // namespace ackbox::serve
