#include "bench/floor_link.hpp"

namespace ackbox::bench {

FloorLink::FloorLink(const std::filesystem::path& file, const std::string& port)
    : table_(file), post_(connectLoopback(port)) {}

void FloorLink::deliver(const std::string& messageId, const std::string& session, const std::string& data) {
  table_.insert(messageId, session, data);
  post_(data);
}

int runFloorReceiver(const std::filesystem::path& file) {
  NaiveTable table(file);
  std::uint64_t number = 0;
  serveLoopback([&](const std::string& data) {
    table.insert(std::to_string(++number), "session", data);
    return std::string(R"({"ok":true})");
  });
  return 0;
}

}  // namespace ackbox::bench
