#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "store/sqlite/context.hpp"
#include "store/store.hpp"

namespace ackbox::store::sqlite {

/// The peers of this process's configuration, or only `default`; without those that it adopts from the file.
[[nodiscard]] std::vector<PeerOptions> configuredPeers(const OutboxOptions& options);

/// The rows of the configured peers. Peers of earlier configurations keep their rows and messages, but are included
/// only with `OutboxOptions::adoptPeers`.
class Peers final : public store::Peers {
public:
  explicit Peers(Context& context);

  /// Writes the configuration to the file and reads the keys. In a transaction.
  void configure();
  [[nodiscard]] std::span<const PeerRow> rows() const noexcept override { return rows_; }
  [[nodiscard]] const PeerRow* find(delivery::PeerKey key) const noexcept override;
  [[nodiscard]] const PeerRow* find(std::string_view name) const noexcept;
  void record(const delivery::PeerRecord& record) override;
  [[nodiscard]] std::vector<PeerRow> current() override;

private:
  void countEach(std::int64_t lone);
  void add(PeerRow row);

  Context& context_;
  Statement upsert_;
  Statement selectAll_;
  Statement disabling_;
  Statement record_;
  std::vector<PeerRow> rows_;
  // Indexes into `rows_`.
  std::map<std::string, std::size_t, std::less<>> byName_;
};

/// `text` cut to the length of a stored error, between two UTF-8 characters.
[[nodiscard]] std::string_view truncatedError(std::string_view text, std::size_t bytesMax = 1'000) noexcept;

}  // namespace ackbox::store::sqlite
