#pragma once

#include <libpq-fe.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "ackbox/clock.hpp"
#include "postgres/values.hpp"

namespace ackbox::postgres {

/// A row of a result. Valid as long as the result.
class Row {
public:
  Row(const PGresult* result, int row) : result_(result), row_(row) {}

  [[nodiscard]] bool isNull(int column) const noexcept { return PQgetisnull(result_, row_, column) != 0; }
  /// 0 for NULL; of a truth value 0 or 1.
  [[nodiscard]] std::int64_t integer(int column) const noexcept;
  /// Of a column that is no `bytea`.
  [[nodiscard]] std::string_view view(int column) const noexcept;
  [[nodiscard]] std::string text(int column) const;
  template <typename Integer>
  [[nodiscard]] Integer as(int column) const noexcept {
    return static_cast<Integer>(integer(column));
  }
  [[nodiscard]] WallTime instant(int column) const noexcept { return instantOf(integer(column)); }
  [[nodiscard]] std::optional<WallTime> optionalInstant(int column) const noexcept {
    return isNull(column) ? std::nullopt : std::optional(instant(column));
  }

private:
  const PGresult* result_;
  int row_;
};

/// The rows of a statement that has ended.
class Result {
public:
  explicit Result(PGresult* result) : result_(result, PQclear) {}

  class Iterator {
  public:
    Iterator(const PGresult* result, int row) : result_(result), row_(row) {}
    [[nodiscard]] Row operator*() const noexcept { return {result_, row_}; }
    Iterator& operator++() noexcept {
      ++row_;
      return *this;
    }
    bool operator!=(const Iterator& other) const noexcept { return row_ != other.row_; }

  private:
    const PGresult* result_;
    int row_;
  };

  [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(PQntuples(result_.get())); }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] Iterator begin() const noexcept { return {result_.get(), 0}; }
  [[nodiscard]] Iterator end() const noexcept { return {result_.get(), PQntuples(result_.get())}; }
  /// There is a row.
  [[nodiscard]] Row front() const noexcept { return {result_.get(), 0}; }
  [[nodiscard]] Row operator[](std::size_t row) const noexcept { return {result_.get(), static_cast<int>(row)}; }
  /// How many rows an INSERT, UPDATE or DELETE changed.
  [[nodiscard]] std::size_t changed() const noexcept;
  /// The first column of all rows.
  [[nodiscard]] std::vector<std::int64_t> integers() const;

private:
  std::unique_ptr<PGresult, void (*)(PGresult*)> result_;
};

/// Reads a row's columns one after the other, into variables of their types.
class Columns {
public:
  explicit Columns(const Row& row, int first = 0) : row_(row), next_(first) {}

  template <typename Value>
  Columns& operator>>(Value& value) {
    value = read(static_cast<const Value*>(nullptr));
    return *this;
  }
  /// The next column.
  template <typename Value>
  [[nodiscard]] Value next() {
    return read(static_cast<const Value*>(nullptr));
  }

private:
  // The pointer only chooses the type.
  template <typename Integer>
  requires std::is_integral_v<Integer> || std::is_enum_v<Integer> Integer read(const Integer* /*type*/) {
    if constexpr (std::is_same_v<Integer, bool>) {
      return row_.integer(next_++) != 0;
    } else {
      return row_.as<Integer>(next_++);
    }
  }
  std::string read(const std::string* /*type*/) { return row_.text(next_++); }
  WallTime read(const WallTime* /*type*/) { return row_.instant(next_++); }
  template <typename Value>
  std::optional<Value> read(const std::optional<Value>* /*type*/) {
    if (row_.isNull(next_)) {
      ++next_;
      return std::nullopt;
    }
    return read(static_cast<const Value*>(nullptr));
  }

  Row row_;
  int next_;
};

}  // namespace ackbox::postgres
