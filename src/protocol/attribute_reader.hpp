#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ackbox/sender.hpp"
#include "json/reader.hpp"

namespace ackbox::protocol {

/// Whether the attribute is required.
enum class Need : bool { optional, required };

/// The result of a frame that is refused by itself, without the rest of its request.
[[nodiscard]] FrameResult refusalOf(std::string code, std::string detail);

/// Reads attributes one by one and keeps the first complaint; later ones are ignored.
///
/// Lifetime: `members` outlives it.
class AttributeReader {
public:
  explicit AttributeReader(json::Members& members) : members_(members) {}

  void text(std::string_view name, Need need, std::size_t bytesMax, std::string& into);
  void time(std::string_view name, std::optional<WallTime>& into);
  void counter(std::string_view name, std::uint64_t& into);
  void complainIf(bool wrong, std::string_view name, std::string_view complaint);

  /// The refusal, with code `malformed`; nothing if there was no complaint.
  [[nodiscard]] const std::optional<FrameResult>& refusal() const noexcept { return refusal_; }

private:
  json::Members& members_;
  std::optional<FrameResult> refusal_;
};

}  // namespace ackbox::protocol
