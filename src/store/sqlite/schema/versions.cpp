#include "store/sqlite/schema/versions.hpp"

#include <atomic>

#include "store/sqlite/schema/tables.hpp"

namespace ackbox::store::sqlite {
namespace {

// A released schema never changes. A new version changes `kTablesSql`, gets its migration here, and a golden file of
// the version before it stays in the tests.
constexpr std::span<const Migration> kMigrations{};

std::atomic<const Schema*> inPlace = nullptr;

}  // namespace

const Schema& currentSchema() noexcept {
  static const Schema kReleased{1, kTablesSql, kMigrations};
  const Schema* const other = inPlace.load();
  return other == nullptr ? kReleased : *other;
}

SchemaInPlace::SchemaInPlace(const Schema& schema) noexcept {
  inPlace = &schema;
}

SchemaInPlace::~SchemaInPlace() {
  inPlace = nullptr;
}

}  // namespace ackbox::store::sqlite
