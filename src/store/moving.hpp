#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ackbox::store {

/// What an outbox that moves from one store to another is, besides its rows.
struct MovedOutbox {
  /// The identity that its peers know, and how often it was opened.
  std::string origin = {};
  std::uint64_t epoch = 0;
  std::int64_t orders = 0;
  std::int64_t recalls = 0;
  std::int64_t inboxOrders = 0;
  /// The greatest keys that were given out; their rows may have gone.
  std::int64_t lastKey = 0;
  std::int64_t lastInboxKey = 0;
};

/// Takes the rows of an outbox that moves, table by table. Values are text, bytes in the form `\x0aff`; nothing stands
/// for NULL. They are valid during the call.
class MovedRows {
public:
  MovedRows() = default;
  virtual ~MovedRows() = default;
  MovedRows(const MovedRows&) = delete;
  MovedRows& operator=(const MovedRows&) = delete;

  /// The next rows are of this table, and have these columns, with commas between them.
  virtual void begin(std::string_view table, std::string_view columns) = 0;
  virtual void add(std::span<const std::optional<std::string_view>> row) = 0;
};

}  // namespace ackbox::store
