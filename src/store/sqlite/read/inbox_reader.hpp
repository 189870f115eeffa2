#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/inbound_frame.hpp"
#include "ackbox/inbox.hpp"
#include "ackbox/options.hpp"
#include "sqlite/statement.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {

/// Reads deferred frames, and why each is in its state. `explain` in a snapshot.
///
/// Thread-safety: that of the connection.
class InboxReader {
public:
  InboxReader(sqlite3* connection, const OutboxOptions& options);

  [[nodiscard]] InboxPage page(const InboxFilter& filter, std::size_t limit, std::int64_t after);
  [[nodiscard]] UnattendedFrames unattended();
  [[nodiscard]] std::optional<InboxInfo> find(std::string_view source, std::string_view messageId, std::int64_t row);
  [[nodiscard]] std::optional<InboundFrame> frame(std::string_view source, std::string_view messageId,
                                                  std::int64_t row);
  [[nodiscard]] std::vector<std::string> sources(std::string_view messageId);
  /// Returns the reasons without the sentence.
  [[nodiscard]] std::optional<InboxExplanation> explain(std::string_view source, std::string_view messageId,
                                                        std::int64_t row);
  /// The applications as live processes know them.
  [[nodiscard]] std::vector<Application> applications();

private:
  [[nodiscard]] Reason runReason(const InboxInfo& frame, std::int64_t owner);
  void explainWaiting(const InboxInfo& frame, std::span<const Application> applications, std::vector<Reason>& reasons);
  /// Adds the reasons that block the first frame of the session.
  void explainFirst(const InboxInfo& first, std::int64_t owner, std::span<const Application> applications,
                    std::vector<Reason>& reasons);
  void explainEnded(const InboxInfo& frame, std::vector<Reason>& reasons);
  [[nodiscard]] bool hasHandler();

  const OutboxOptions options_;
  const std::filesystem::path sidecar_;
  Statement page_;
  Statement row_;
  Statement waiting_;
  Statement find_;
  Statement findResult_;
  Statement refused_;
  Statement frame_;
  Statement sources_;
  Statement before_;
  Statement owner_;
  Statement handlers_;
  Statement applications_;
  Statement peer_;
  Statement ackEvents_;
};

}  // namespace ackbox::store::sqlite
