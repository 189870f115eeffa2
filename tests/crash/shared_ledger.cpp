#include "shared_ledger.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace crash {
namespace {

std::string line(char kind, std::string_view life, std::string_view name) {
  std::string text(1, kind);
  text.append(" ").append(life).append(" ").append(name);
  return text;
}

}  // namespace

SharedLedger::SharedLedger(const std::filesystem::path& file)
    : file_(open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {
  if (file_ < 0) {
    throw std::system_error(errno, std::generic_category(), "cannot open the ledger");
  }
}

SharedLedger::~SharedLedger() {
  close(file_);
}

void SharedLedger::begin(std::string_view life, std::string_view session, std::uint64_t sequence) const {
  append(line('B', life, session) + " " + std::to_string(sequence));
}

void SharedLedger::end(std::string_view life, std::string_view session, std::uint64_t sequence) const {
  append(line('E', life, session) + " " + std::to_string(sequence));
}

void SharedLedger::settled(std::string_view life, std::string_view message) const {
  append(line('S', life, message));
}

void SharedLedger::late(std::string_view life, std::string_view message) const {
  append(line('L', life, message));
}

void SharedLedger::killing(std::string_view life) const {
  append(line('K', life, "-"));
}

// One write for each line: the kernel appends it as a whole.
void SharedLedger::append(const std::string& text) const {
  const std::string whole = text + "\n";
  if (write(file_, whole.data(), whole.size()) != static_cast<ssize_t>(whole.size())) {
    throw std::system_error(errno, std::generic_category(), "cannot append to the ledger");
  }
}

void SharedAccount::read(const std::filesystem::path& file) {
  std::ifstream lines(file);
  for (std::string text; std::getline(lines, text);) {
    take(text);
  }
}

void SharedAccount::take(const std::string& text) {
  std::istringstream words(text);
  std::string kind;
  std::string life;
  std::string name;
  std::uint64_t sequence = 0;
  words >> kind >> life >> name >> sequence;
  if (kind == "B") {
    begin(life, name, sequence);
  } else if (kind == "E") {
    lanes_[name].held = false;
  } else if (kind == "S") {
    ++settled;
    settledTwice += settledMessages_.insert(name).second ? 0U : 1U;
  } else if (kind == "L") {
    ++late;
  } else if (kind == "K") {
    killed_.insert(life);
  } else {
    throw std::runtime_error("the ledger has a line of no kind: " + text);
  }
}

void SharedAccount::begin(const std::string& life, const std::string& session, std::uint64_t sequence) {
  Lane& lane = lanes_[session];
  const bool killed = killed_.contains(lane.holder);
  const bool startsBatch = !lane.held || lane.holder != life;
  const bool startsAnew = startsBatch && killed && sequence >= lane.first && sequence <= lane.last;
  ++effects;
  workers.insert(life.substr(0, life.find('.')));
  overlaps += lane.held && lane.holder != life && !killed ? 1U : 0U;
  reordered += sequence != lane.last + 1 && !startsAnew ? 1U : 0U;
  std::uint64_t& highest = reached[session];
  repeated += sequence <= highest ? 1U : 0U;
  highest = std::max(highest, sequence);
  lane = {life, true, startsBatch ? sequence : lane.first, sequence};
}

}  // namespace crash
