#include "cli/progress_line.hpp"

#include "ackbox/visible.hpp"

namespace ackbox::cli {
namespace {

constexpr std::chrono::milliseconds kInterval{200};
constexpr const char* kEraseLine = "\r\x1b[K";

}  // namespace

void ProgressLine::show(std::string_view text) {
  const World& world = console_.world();
  const SteadyTime now = world.clock->steadyNow();
  if (!world.errIsTerminal || console_.json() || now - shownAt_ < kInterval) {
    return;
  }
  shownAt_ = now;
  isShown_ = true;
  world.err << kEraseLine << visible(text) << std::flush;
}

void ProgressLine::clear() {
  if (isShown_) {
    console_.world().err << kEraseLine << std::flush;
    isShown_ = false;
  }
}

}  // namespace ackbox::cli
