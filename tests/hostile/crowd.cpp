#include "hostile/crowd.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <exception>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "unit/transport/raw_peer.hpp"

namespace ackbox::testing {
namespace {

// Then all are closed, before others connect.
constexpr std::size_t kHeldMost = 2000;
// Of the descriptors of the crowd, those that are no connections.
constexpr std::size_t kOtherDescriptors = 64;

enum class Task : std::uint64_t { connect, ask, answers };

struct Order {
  Task task = Task::connect;
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

/// The status of what came first; 0: the end.
int statusOf(RawConnection& connection) {
  constexpr std::size_t kBeforeStatus = 9;
  constexpr std::size_t kStatusDigits = 3;
  try {
    return std::stoi(connection.receiveExactly(kBeforeStatus + kStatusDigits).substr(kBeforeStatus));
  } catch (const std::exception&) {
    if (!connection.hasNewsWithin(std::chrono::milliseconds(0))) {
      throw;
    }
    return 0;
  }
}

/// A line of a status and a number for each.
std::string answersOf(std::vector<RawConnection>& held) {
  std::map<int, std::size_t> counts;
  for (RawConnection& connection : held) {
    ++counts[statusOf(connection)];
  }
  std::string text;
  for (const auto& [status, count] : counts) {
    text += std::to_string(status) + " " + std::to_string(count) + "\n";
  }
  return text;
}

std::string connectAll(const Order& order, const std::string& bytes, std::vector<RawConnection>& held) {
  if (held.size() > kHeldMost) {
    held.clear();
  }
  std::uint64_t count = 0;
  try {
    for (; count < order.connections; ++count) {
      held.emplace_back(order.port).sendWhileTaken(bytes);
    }
  } catch (const std::exception&) {
    // Kept waiting: those are all that could.
  }
  return std::to_string(count);
}

std::string follow(const Order& order, const std::string& bytes, std::vector<RawConnection>& held) {
  try {
    switch (order.task) {
      case Task::connect:
        return connectAll(order, bytes, held);
      case Task::answers:
        return answersOf(held);
      case Task::ask:
        RawConnection one(order.port);
        one.sendWhileTaken(bytes);
        return one.receiveAll();
    }
  } catch (const std::exception&) {
    // Kept waiting: nothing came.
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

std::size_t Crowd::connect(std::uint16_t port, std::size_t count, std::string_view bytes) {
  const Order order{.task = Task::connect, .connections = count, .bytes = bytes.size(), .port = port};
  writeAll(orders_, &order, sizeof(order));
  writeAll(orders_, bytes.data(), bytes.size());
  return std::stoul(hear(answers_));
}

std::map<int, std::size_t> Crowd::answers() {
  const Order order{.task = Task::answers};
  writeAll(orders_, &order, sizeof(order));
  std::istringstream lines(hear(answers_));
  std::map<int, std::size_t> counts;
  int status = 0;
  std::size_t count = 0;
  while (lines >> status >> count) {
    counts[status] = count;
  }
  return counts;
}

std::size_t Crowd::most() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_max - kOtherDescriptors;
}

std::string Crowd::ask(std::uint16_t port, std::string_view bytes) {
  const Order order{.task = Task::ask, .bytes = bytes.size(), .port = port};
  writeAll(orders_, &order, sizeof(order));
  writeAll(orders_, bytes.data(), bytes.size());
  return hear(answers_);
}

}  // namespace ackbox::testing
