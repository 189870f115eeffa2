#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/inbox.hpp"
#include "ackbox/options.hpp"
#include "postgres/connection.hpp"
#include "store/postgres/names.hpp"
#include "store/reader.hpp"

namespace ackbox::store::postgres {

/// Deferred frames as they are shown. In the caller's transaction, which has one snapshot.
class InboxReader {
public:
  InboxReader(Connection& connection, const OutboxOptions& options) : connection_(connection), options_(options) {}

  [[nodiscard]] InboxPage page(const InboxFilter& filter, std::size_t limit, std::int64_t after);
  [[nodiscard]] UnattendedFrames unattended();
  [[nodiscard]] std::vector<Application> applications();
  [[nodiscard]] std::optional<InboxInfo> find(std::string_view source, std::string_view messageId, std::int64_t row);
  [[nodiscard]] std::optional<InboundFrame> frame(std::string_view source, std::string_view messageId,
                                                  std::int64_t row);
  [[nodiscard]] std::vector<std::string> sources(std::string_view messageId);
  [[nodiscard]] std::optional<InboxExplanation> explain(std::string_view source, std::string_view messageId,
                                                        std::int64_t row);

private:
  /// Fills `page`; the session and the mailbox of `kept` are those of its rows.
  void refused(InboxPage& page, const InboxFilter& kept, std::size_t limit, std::int64_t after);
  [[nodiscard]] Reason runReason(const InboxInfo& frame, std::int64_t owner);
  void explainWaiting(const InboxInfo& frame, std::span<const Application> applications, std::vector<Reason>& reasons);
  void explainFirst(const InboxInfo& first, std::int64_t owner, std::span<const Application> applications,
                    std::vector<Reason>& reasons);
  void explainEnded(const InboxInfo& frame, std::vector<Reason>& reasons);
  [[nodiscard]] bool hasHandler();

  Connection& connection_;
  const OutboxOptions& options_;
};

}  // namespace ackbox::store::postgres
