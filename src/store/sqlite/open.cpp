#include "store/sqlite/open.hpp"

#include <utility>

#include "base/home_process.hpp"
#include "base/options.hpp"
#include "store/sqlite/read/reader.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace ackbox::store::sqlite {
namespace {

class File final : public store::Place {
public:
  explicit File(const std::filesystem::path& file)
      : given_(named(file)), file_(std::filesystem::absolute(file)), openFile_(file_), name_(file_.native()) {}

  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] std::unique_ptr<store::Store> open(const OutboxOptions& options) const override {
    return openStore(given_, options);
  }
  [[nodiscard]] std::unique_ptr<const store::Reader> read(const OutboxOptions& options,
                                                          PeerLookup peers) const override {
    return openReader(file_, options, std::move(peers));
  }
  void require(const OutboxOptions& options) const override { requireOutbox(given_, options); }

private:
  // As the caller wrote it, which errors repeat.
  const std::filesystem::path given_;
  const std::filesystem::path file_;
  const OpenFile openFile_;
  const std::string name_;
};

}  // namespace

std::unique_ptr<const store::Place> placeOf(const std::filesystem::path& file) {
  return std::make_unique<const File>(file);
}

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
