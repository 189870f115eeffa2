#include "store/sqlite/open.hpp"

#include <utility>

#include "store/sqlite/read/reader.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace ackbox::store::sqlite {

std::unique_ptr<store::Store> openStore(const std::filesystem::path& file, const OutboxOptions& options) {
  return std::make_unique<SqliteStore>(StoreOptions{file, options, nullptr});
}

std::unique_ptr<const store::Reader> openReader(const std::filesystem::path& file, const OutboxOptions& options,
                                                PeerLookup peers) {
  return std::make_unique<const SqliteReader>(file, options, std::move(peers));
}

FileRepairReport repairFile(const std::filesystem::path& file, const OutboxOptions& options, bool isRehearsal) {
  return SqliteStore::repairFile(StoreOptions{file, options, nullptr}, isRehearsal);
}

NewStoreReport makeNewStore(const std::filesystem::path& file, const OutboxOptions& options) {
  SqliteStore store(StoreOptions{file, options, nullptr});
  store.begin(true);
  try {
    NewStoreReport report = store.makeNewStore();
    store.commit();
    return report;
  } catch (...) {
    if (store.inTransaction()) {
      store.rollback();
    }
    throw;
  }
}

SQLite::Database& databaseOf(store::Store& store) {
  return dynamic_cast<SqliteStore&>(store).database();
}

}  // namespace ackbox::store::sqlite
