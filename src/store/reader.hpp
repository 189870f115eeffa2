#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

#include "ackbox/options.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/stats.hpp"

namespace ackbox::store {

/// Reads the file on a connection of its own, so that no reader waits for the writer.
///
/// Throws `Error`. Thread-safety: all members may be called from any thread.
class Reader {
public:
  /// The file must have been opened by a `Store` before.
  Reader(const std::filesystem::path& file, const OutboxOptions& options);
  ~Reader();

  [[nodiscard]] Stats stats() const;
  [[nodiscard]] std::optional<MessageInfo> find(std::string_view messageId) const;

private:
  struct Body;
  std::unique_ptr<Body> body_;
};

}  // namespace ackbox::store
