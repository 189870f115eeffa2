#pragma once

#include <string>

#include "serve/config/config.hpp"

namespace ackbox::serve {

/// Digests of what a configuration's files say, which show which of them have changed.
struct FileStamps {
  std::string tokens = {};
  std::string certificates = {};
  std::string secrets = {};

  /// Reads them as the start does. Throws `Error` with `invalidOption` or `secretsUnreadable` where it would.
  [[nodiscard]] static FileStamps of(const Config& config);

  /// The names of those that `other` has otherwise, joined by commas, or `nothing`.
  [[nodiscard]] std::string differencesFrom(const FileStamps& other) const;
};

}  // namespace ackbox::serve
