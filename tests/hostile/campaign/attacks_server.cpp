// What strangers do to a server: none of them has a key.

#include <algorithm>
#include <atomic>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include "bench/rest.hpp"
#include "hostile/campaign/attacks.hpp"
#include "hostile/campaign/keys.hpp"
#include "hostile/campaign/request.hpp"

namespace ackbox::campaign {
namespace {

std::string chunkedWithTrailer(std::size_t bytes) {
  return "POST /inbox HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/cloudevents+json\r\n"
         "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\nX-T: " +
         std::string(bytes, 'a') + "\r\n\r\n";
}

std::string withHeader(std::size_t bytes) {
  return "POST /inbox HTTP/1.1\r\nHost: 127.0.0.1\r\nX-H: " + std::string(bytes, 'a') +
         "\r\nContent-Length: 1\r\n\r\n{";
}

// As those of a signed request, with so many signatures that nobody made.
std::string forgedHeaders(int signatures) {
  std::string headers =
      "webhook-id: forged\r\nwebhook-timestamp: " + std::to_string(std::time(nullptr)) + "\r\nwebhook-signature:";
  for (int number = 0; number < signatures; ++number) {
    headers += " v1," + std::string(1, static_cast<char>('A' + number)) + std::string(42, 'B') + "=";
  }
  return headers + "\r\n";
}

// Runs `work` on so many threads at once, and waits for all.
template <typename Work>
void inParallel(int count, const Work& work) {
  std::vector<std::thread> threads;
  for (int number = 0; number < count; ++number) {
    threads.emplace_back(work);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

}  // namespace

std::string sendOversizedFields(Arena& arena) {
  arena.openAndBegin();
  Tally tally;
  std::atomic<std::size_t> sent = 0;
  inParallel(8, [&] {
    while (!arena.isOver()) {
      const std::size_t number = sent++;
      const std::size_t bytes = 60'000 + number % 11 * 2'000;
      Line line(arena.port());
      const Instant patience = std::min(arena.deadline(), in(std::chrono::seconds(2)));
      line.sendAll(number % 2 == 0 ? chunkedWithTrailer(number % 4 == 0 ? 66'000 : bytes) : withHeader(bytes),
                   patience);
      tally.add(statusOf(line.receiveMessage(patience)));
    }
  });
  return tally.text();
}

std::string holdIdleConnections(Arena& arena) {
  arena.openAndBegin();
  std::vector<Line> lines(static_cast<std::size_t>(arena.scaled(1'100)));
  std::uint64_t opened = 0;
  while (!arena.isOver() && arena.target().ending().empty()) {
    for (Line& line : lines) {
      if (line.hasEnded()) {
        line = Line(arena.port());
        ++opened;
      }
    }
    bench::rest(std::chrono::milliseconds(100));
  }
  const auto held = std::count_if(lines.begin(), lines.end(), [](const Line& line) { return !line.hasEnded(); });
  return std::to_string(opened) + " opened, " + std::to_string(held) + " held at the end";
}

std::string uploadForgedSignatures(Arena& arena) {
  arena.openAndBegin();
  const std::string request =
      requestOf({}, {}, std::string(kMib, ' '), "application/cloudevents+json", forgedHeaders(16));
  Tally tally;
  inParallel(8, [&] {
    while (!arena.isOver()) {
      Line line(arena.port());
      line.sendAll(request, arena.deadline());
      const std::string answer = line.receiveMessage(arena.deadline());
      tally.add(answer.empty() && arena.isOver() ? "not answered in time" : statusOf(answer));
    }
  });
  return tally.text();
}

std::string readSlowly(Arena& arena) {
  arena.openAndBegin();
  // Refused, and the connection is kept.
  std::string requests;
  for (int number = 0; number < 100; ++number) {
    requests += requestOf(kHonest, {}, "{}");
  }
  struct Reader {
    Line line;
    std::size_t sent = 0;
  };
  std::vector<Reader> readers(static_cast<std::size_t>(arena.scaled(1'100)));
  std::uint64_t opened = 0;
  while (!arena.isOver() && arena.target().ending().empty()) {
    for (Reader& reader : readers) {
      if (reader.line.hasEnded()) {
        reader.line = Line(arena.port(), 2'048);
        reader.sent = 0;
        ++opened;
      }
      reader.sent += reader.line.sendSome(std::string_view(requests).substr(reader.sent));
      reader.sent %= requests.size();
    }
    bench::rest(std::chrono::milliseconds(5));
  }
  const auto held =
      std::count_if(readers.begin(), readers.end(), [](const Reader& reader) { return !reader.line.hasEnded(); });
  return std::to_string(opened) + " opened, " + std::to_string(held) + " held at the end";
}

std::string holdHalfBodies(Arena& arena) {
  arena.openAndBegin();
  const std::string request =
      requestOf(kHonest, {}, std::string(kMib, ' '), "application/cloudevents+json", forgedHeaders(1));
  struct Upload {
    Line line;
    std::size_t sent = 0;
  };
  std::vector<Upload> uploads(static_cast<std::size_t>(arena.scaled(1'000)));
  for (Upload& upload : uploads) {
    upload.line = Line(arena.port());
  }
  std::size_t sent = 0;
  while (!arena.isOver() && arena.target().ending().empty()) {
    for (Upload& upload : uploads) {
      // All but the last byte.
      const std::string_view rest = std::string_view(request).substr(upload.sent, request.size() - 1 - upload.sent);
      const std::size_t taken = rest.empty() || upload.line.hasEnded() ? 0 : upload.line.sendSome(rest);
      upload.sent += taken;
      sent += taken;
    }
    bench::rest(std::chrono::milliseconds(1));
  }
  Tally tally;
  for (Upload& upload : uploads) {
    tally.add(upload.line.hasEnded() ? "closed" : "held");
  }
  return std::to_string(sent / kMib) + " MiB taken, " + tally.text();
}

}  // namespace ackbox::campaign
