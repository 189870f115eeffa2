#include "store/postgres/schema/versions.hpp"

#include <atomic>

#include "store/postgres/schema/tables.hpp"

namespace ackbox::store::postgres {
namespace {

// A released schema never changes, in its tables or its functions. A new version changes them, and gets its migration
// here.
constexpr std::span<const Migration> kMigrations{};

std::atomic<const Schema*> inPlace = nullptr;

}  // namespace

const Schema& currentSchema() noexcept {
  static const Schema kReleased{1, 1, kTablesSql, kFunctionsSql, kMigrations};
  const Schema* const other = inPlace.load();
  return other == nullptr ? kReleased : *other;
}

SchemaInPlace::SchemaInPlace(const Schema& schema) noexcept : former_(inPlace.exchange(&schema)) {}

SchemaInPlace::~SchemaInPlace() {
  inPlace = former_;
}

}  // namespace ackbox::store::postgres
