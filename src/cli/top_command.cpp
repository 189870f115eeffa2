#include <array>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <optional>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/open.hpp"
#include "cli/record_table.hpp"
#include "cli/stats_view.hpp"
#include "location/location.hpp"
#include "records/peer.hpp"
#include "records/session.hpp"
#include "records/stats.hpp"
#include "records/text.hpp"

namespace ackbox::cli {
namespace {

constexpr std::size_t kSessionsShown = 10;

/// The totals at an instant, for computing rates between two samples.
struct Sample {
  SteadyTime at;
  Stats stats;
};

double rateOf(std::uint64_t before, std::uint64_t now, double seconds) {
  return now < before ? 0 : static_cast<double>(now - before) / seconds;
}

std::string rateText(double rate) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), rate < 10 ? "%.1f/s" : "%.0f/s", rate);
  return text.data();
}

std::string ratesText(const std::optional<Sample>& before, const Sample& now) {
  if (!before || now.at <= before->at) {
    return "enqueued -, acked -, retries -";
  }
  const double seconds = std::chrono::duration<double>(now.at - before->at).count();
  return "enqueued " + rateText(rateOf(before->stats.enqueued, now.stats.enqueued, seconds)) + ", acked " +
         rateText(rateOf(before->stats.acked, now.stats.acked, seconds)) + ", retries " +
         rateText(rateOf(before->stats.totalRetries, now.stats.totalRetries, seconds));
}

void wait(const World& world, std::chrono::milliseconds interval) {
  if (interval.count() == 0) {
    return;
  }
  boost::asio::io_context context;
  const std::unique_ptr<Alarm> alarm = world.clock->makeAlarm(context.get_executor());
  alarm->set(world.clock->steadyNow() + interval, [] {});
  context.run();
}

}  // namespace

int top(Console& console, const Arguments& arguments) {
  const World& world = console.world();
  const OutboxReader reader = openToRead(world, arguments);
  const bool isLive = world.outIsTerminal && !console.json();
  const std::uint64_t count = arguments.count == 0 && !world.outIsTerminal ? 1 : arguments.count;
  SessionFilter occupied;
  occupied.occupied = true;
  std::optional<Sample> before;
  for (std::uint64_t shown = 0; count == 0 || shown < count; ++shown) {
    if (shown != 0) {
      wait(world, arguments.interval);
    }
    Sample sample{world.clock->steadyNow(), reader.getStats()};
    const std::vector<std::int64_t> processes = reader.processIds();
    if (console.json()) {
      console.line(records::lineOf(sample.stats, processes));
    } else {
      if (isLive) {
        world.out << "\x1b[H\x1b[J";
      }
      console.say(std::filesystem::path(location::shown(arguments.file)).filename().string() + "  " +
                  records::instantText(console.now()));
      console.say(ratesText(before, sample));
      world.out << '\n';
      console.table(statsTable(sample.stats, processes, console.now()));
      world.out << '\n';
      console.table(tableOf(records::readPeers(reader), console.now()));
      const SessionPage sessions = reader.sessions(occupied, kSessionsShown);
      if (!sessions.sessions.empty()) {
        world.out << '\n';
        console.table(tableOf(sessions.sessions, console.now()));
      }
    }
    world.out.flush();
    if (!world.out.good()) {
      break;
    }
    before = sample;
  }
  return kDone;
}

}  // namespace ackbox::cli
