#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include "cli/shell_word.hpp"
#include "cli/tool.hpp"
#include "serve/command.hpp"

namespace {

bool wantsNoColor() {
  const char* noColor = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return (noColor != nullptr && *noColor != '\0') || (terminal != nullptr && std::string_view(terminal) == "dumb");
}

// A package of another language starts the tool by its path, and names here what its user has called.
std::string calledAs(const char* program) {
  const char* given = std::getenv("ACKBOX_CALLED_AS");
  if (given != nullptr && *given != '\0') {
    return given;
  }
  return program == nullptr || *program == '\0' ? "ackbox" : ackbox::cli::shellWord(program);
}

// What root makes, the unit's user cannot read.
std::string serviceUser() {
  constexpr const char* kUser = "ackbox";
  return ::geteuid() == 0 && ::getpwnam(kUser) != nullptr ? kUser : "";
}

}  // namespace

int main(int argumentCount, char** argumentValues) {
  // Lets input be read in large pieces.
  std::ios::sync_with_stdio(false);
  const ackbox::cli::World world{.arguments = {argumentValues + 1, argumentValues + argumentCount},
                                 .calledAs = calledAs(argumentValues[0]),
                                 .serviceUser = serviceUser(),
                                 .in = std::cin,
                                 .out = std::cout,
                                 .err = std::cerr,
                                 .outIsTerminal = isatty(STDOUT_FILENO) == 1,
                                 .errIsTerminal = isatty(STDERR_FILENO) == 1,
                                 .noColor = wantsNoColor(),
                                 .clock = ackbox::systemClock(),
                                 .random = ackbox::systemRandom(),
                                 .serve = ackbox::serve::runServe,
                                 .health = ackbox::serve::runHealth,
                                 .readPeer = ackbox::serve::readPeerOfTool};
  return ackbox::cli::run(world);
}
