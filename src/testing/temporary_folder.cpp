#include "testing/temporary_folder.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

namespace ackbox::testing {

namespace {

// No file here outlives the process, so the machine's memory suffices; TMPDIR names another folder.
std::filesystem::path parentFolder() {
  const char* const memory = "/dev/shm";
  return std::getenv("TMPDIR") == nullptr && access(memory, W_OK) == 0 ? memory
                                                                       : std::filesystem::temp_directory_path();
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (parentFolder() / "ackbox-testing-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), "making a folder for temporary files");
  }
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace ackbox::testing
