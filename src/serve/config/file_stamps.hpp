#pragma once

#include <string>

#include "serve/config/config.hpp"

namespace ackbox::serve {

/// Digests of the contents of a configuration's files, which show which of them have changed.
struct FileStamps {
  std::string tokens = {};
  std::string certificates = {};
  std::string secrets = {};

  /// Reads the files. Throws `Error` with `invalidOption` or `secretsUnreadable` where the start would.
  [[nodiscard]] static FileStamps of(const Config& config);

  /// The names of the digests that differ in `other`, joined by commas, or `nothing`.
  [[nodiscard]] std::string differencesFrom(const FileStamps& other) const;
};

}  // namespace ackbox::serve
