#include "hostile/campaign/arena.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "bench/rest.hpp"

namespace ackbox::campaign {
namespace {

constexpr auto kMoment = std::chrono::milliseconds(20);

std::vector<std::string> commandOf(const ArenaOptions& options, const std::filesystem::path& file) {
  return {options.agent.string(), file.string(), std::to_string(options.descriptors), options.server};
}

}  // namespace

void Tally::add(const std::string& what) {
  const std::lock_guard lock(mutex_);
  ++counts_[what];
}

std::string Tally::text() const {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const auto& [what, count] : counts_) {
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " x " + what;
  }
  return text;
}

Arena::Arena(const ArenaOptions& options)
    : options_(options),
      target_(std::make_unique<AgentProcess>(commandOf(options, directory_.file("bob.db")))),
      deadline_(in(options.time)) {}

Arena::~Arena() {
  over_ = true;
  if (watcher_.joinable()) {
    watcher_.join();
  }
}

void Arena::addPeers(const std::string& name, int count, const std::string& url) {
  target_->ask("peers " + name + " " + std::to_string(count) + " " + url);
}

void Arena::open() {
  addPeers("honest", 0, neighbour_.url());
  std::istringstream answer(target_->ask("open").value_or("nothing"));
  std::string word;
  if (!(answer >> word >> port_) || word != "port") {
    throw std::runtime_error("the target does not open: " + answer.str());
  }
}

void Arena::begin(const std::string& type, int beats) {
  watcher_ = std::thread([this] { watch(); });
  target_->ask("start");
  target_->ask(beats == 0 ? "beat honest 0 20" : "beat beat " + std::to_string(beats) + " 5");
  caller_ = std::make_unique<HonestCaller>(port_, type);
  static_cast<void>(caller_->isServedWithin(std::chrono::seconds(10)));
  memoryBeforeMiB_ = target_->taken().memoryMiB;
  deadline_ = in(options_.time);
}

void Arena::openAndBegin(const std::string& type) {
  open();
  begin(type);
}

void Arena::idle() {
  while (!isOver() && target_->ending().empty()) {
    bench::rest(kMoment);
  }
}

std::uint64_t Arena::fileBytes() const {
  std::uint64_t bytes = 0;
  for (const char* name : {"bob.db", "bob.db-wal"}) {
    std::error_code missing;
    const std::uint64_t size = std::filesystem::file_size(file(name), missing);
    bytes += missing ? 0 : size;
  }
  return bytes;
}

void Arena::watch() {
  while (!over_) {
    const Taken now = target_->taken();
    {
      const std::lock_guard lock(takenMutex_);
      taken_.memoryMiB = std::max(taken_.memoryMiB, now.memoryMiB);
      taken_.descriptors = std::max(taken_.descriptors, now.descriptors);
      taken_.processorSeconds = std::max(taken_.processorSeconds, now.processorSeconds);
    }
    bench::rest(kMoment);
  }
}

Row Arena::finish() {
  Row row;
  if (caller_) {
    row.isServedAfter = caller_->isServedWithin(std::chrono::seconds(10));
    // Only now: the one that was kept waiting longest counts.
    row.in = caller_->served();
    caller_->stop();
    std::istringstream said(target_->ask("said", std::chrono::seconds(10)).value_or("said 0"));
    std::string word;
    std::uint64_t asked = 0;
    said >> word >> asked;
    row.out = neighbour_.beatsOf(asked, std::chrono::seconds(10));
  }
  row.ending = target_->ending();
  row.memoryBeforeMiB = memoryBeforeMiB_;
  row.fileMiB = fileBytes() / kMib;
  const std::lock_guard lock(takenMutex_);
  row.taken = taken_;
  return row;
}

}  // namespace ackbox::campaign
