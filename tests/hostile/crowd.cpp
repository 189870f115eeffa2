#include "hostile/crowd.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <exception>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "unit/transport/raw_peer.hpp"

namespace ackbox::testing {
namespace {

// Then all are closed, before others connect.
constexpr std::size_t kHeldMost = 2000;

struct Order {
  std::uint64_t connections = 0;
  std::uint64_t bytes = 0;
  std::uint16_t port = 0;
};

void writeAll(int descriptor, const void* bytes, std::size_t size) {
  const char* from = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t written = ::write(descriptor, from, size);
    if (written < 0) {
      throw std::system_error(errno, std::generic_category(), "write to the crowd");
    }
    from += written;
    size -= static_cast<std::size_t>(written);
  }
}

bool readAll(int descriptor, void* bytes, std::size_t size) {
  char* into = static_cast<char*>(bytes);
  while (size > 0) {
    const ssize_t got = ::read(descriptor, into, size);
    if (got <= 0) {
      return false;
    }
    into += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

void tell(int descriptor, std::string_view text) {
  const std::uint64_t size = text.size();
  writeAll(descriptor, &size, sizeof(size));
  writeAll(descriptor, text.data(), text.size());
}

std::string hear(int descriptor) {
  std::uint64_t size = 0;
  if (!readAll(descriptor, &size, sizeof(size))) {
    throw std::runtime_error("the crowd is gone");
  }
  std::string text(size, '\0');
  return readAll(descriptor, text.data(), size) ? text : std::string();
}

std::string follow(const Order& order, const std::string& bytes, std::vector<RawConnection>& held) {
  try {
    if (order.connections == 0) {
      RawConnection one(order.port);
      one.sendWhileTaken(bytes);
      return one.receiveAll();
    }
    if (held.size() > kHeldMost) {
      held.clear();
    }
    for (std::uint64_t count = 0; count < order.connections; ++count) {
      held.emplace_back(order.port).sendWhileTaken(bytes);
    }
  } catch (const std::exception&) {
    // Kept waiting: what came is what it has.
  }
  return {};
}

[[noreturn]] void live(int orders, int answers) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  std::vector<RawConnection> held;
  Order order;
  while (readAll(orders, &order, sizeof(order))) {
    std::string bytes(order.bytes, '\0');
    if (!readAll(orders, bytes.data(), bytes.size())) {
      break;
    }
    tell(answers, follow(order, bytes, held));
  }
  ::_exit(0);
}

}  // namespace

Crowd::Crowd() {
  std::array<int, 2> orders{};
  std::array<int, 2> answers{};
  if (::pipe(orders.data()) != 0 || ::pipe(answers.data()) != 0) {
    throw std::system_error(errno, std::generic_category(), "pipe");
  }
  process_ = ::fork();
  if (process_ < 0) {
    throw std::system_error(errno, std::generic_category(), "fork");
  }
  if (process_ == 0) {
    ::close(orders[1]);
    ::close(answers[0]);
    live(orders[0], answers[1]);
  }
  ::close(orders[0]);
  ::close(answers[1]);
  orders_ = orders[1];
  answers_ = answers[0];
}

Crowd::~Crowd() {
  ::close(orders_);
  ::close(answers_);
  ::waitpid(process_, nullptr, 0);
}

void Crowd::connect(std::uint16_t port, std::size_t count, std::string_view bytes) {
  const Order order{.connections = count, .bytes = bytes.size(), .port = port};
  writeAll(orders_, &order, sizeof(order));
  writeAll(orders_, bytes.data(), bytes.size());
  static_cast<void>(hear(answers_));
}

std::string Crowd::ask(std::uint16_t port, std::string_view bytes) {
  const Order order{.connections = 0, .bytes = bytes.size(), .port = port};
  writeAll(orders_, &order, sizeof(order));
  writeAll(orders_, bytes.data(), bytes.size());
  return hear(answers_);
}

}  // namespace ackbox::testing
