// Goal: a log behind a `LogBuffer` holds what a plain file would hold, wherever that can be seen: by a read, by
// whatever else is done to the file, and in what is committed, the instant that it is. And it takes fewer writes.
// Method: a file in memory that counts and may refuse its writes, beside a plain one, under seeded sequences of what
// SQLite does to a log.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "sqlite/wal/log_buffer.hpp"

namespace log_buffer_test {

using ackbox::sqlite::LogBuffer;

namespace {

constexpr std::size_t kPage = 512;
constexpr std::size_t kLogHeader = 32;
constexpr std::size_t kHeader = 24;

void put(std::string& file, std::size_t offset, std::string_view bytes) {
  file.resize(std::max(file.size(), offset + bytes.size()));
  file.replace(offset, bytes.size(), bytes);
}

struct MemoryFile {
  sqlite3_file base{};
  std::string bytes;
  int writes = 0;
  /// The n-th write from here on fails, having come half way; 0: none.
  int refused = 0;

  static int write(sqlite3_file* file, const void* from, int size, sqlite3_int64 offset) {
    auto& self = *reinterpret_cast<MemoryFile*>(file);
    ++self.writes;
    const bool refuse = self.refused > 0 && --self.refused == 0;
    put(self.bytes, static_cast<std::size_t>(offset),
        {static_cast<const char*>(from), static_cast<std::size_t>(refuse ? size / 2 : size)});
    return refuse ? SQLITE_FULL : SQLITE_OK;
  }
};

// A frame's header: page number, commit mark, salt, checksum.
std::string header(bool commit, char fill) {
  return std::string(4, 'n') + (commit ? std::string("\0\0\1\0", 4) : std::string(4, '\0')) + std::string(8, 's') +
         std::string(8, fill);
}

std::string logHeader() {
  return std::string(8, 'h') + std::string("\0\0\2\0", 4) + std::string(4, 'h') + std::string(8, 's') +
         std::string(8, 'h');
}

struct Log {
  Log() {
    methods.xWrite = &MemoryFile::write;
    buffer.beginTransaction();
  }

  int write(std::string_view bytes, std::size_t offset) {
    return buffer.write(bytes.data(), static_cast<int>(bytes.size()), static_cast<std::int64_t>(offset));
  }

  sqlite3_io_methods methods{};
  MemoryFile file;
  LogBuffer buffer{&file.base, &methods};
};

/// What SQLite does to a log, at random, to a buffered one and to a plain one at once.
class Writer {
public:
  explicit Writer(unsigned seed) : random_(seed) { put(logHeader(), 0); }

  void step() {
    const unsigned kind = draw(20);
    if (kind < 10) {
      append(false);
    } else if (kind < 13) {
      append(true);
    } else if (kind == 13) {
      readSome();
    } else if (kind == 14) {
      rewritePage();
    } else if (kind == 15) {
      undoSome();
    } else if (kind == 16) {
      endTransaction(false);
    } else if (kind == 17) {
      require(log_.buffer.flush());
      CHECK(log_.file.bytes == plain_);
    } else if (kind == 18 && draw(4) == 0) {
      log_.file.refused = static_cast<int>(draw(4)) + 1;
    }
  }

  [[nodiscard]] const char* whyOff() const { return log_.buffer.whyOff(); }

private:
  unsigned draw(unsigned below) { return static_cast<unsigned>(random_()) % below; }
  char letter() { return static_cast<char>('a' + draw(26)); }
  [[nodiscard]] static std::size_t at(std::size_t page) { return kLogHeader + page * (kHeader + kPage); }

  bool put(std::size_t size, std::size_t offset, char fill) { return put(std::string(size, fill), offset); }
  bool put(const std::string& bytes, std::size_t offset) {
    log_buffer_test::put(plain_, offset, bytes);
    return require(log_.write(bytes, offset));
  }

  // As SQLite does: whoever fails is rolled back.
  bool require(int code) {
    if (code != SQLITE_OK) {
      endTransaction(false);
    }
    return code == SQLITE_OK;
  }

  void append(bool commit) {
    if (!put(header(commit, letter()), at(end_)) || !put(kPage, at(end_) + kHeader, letter())) {
      return;
    }
    ++end_;
    if (commit) {
      // Checksums anew, the commit's own last, and nothing after it.
      if (draw(3) == 0 && begin_ < end_) {
        for (std::size_t page = begin_ + draw(static_cast<unsigned>(end_ - begin_)); page < end_; ++page) {
          if (!put(header(page + 1 == end_, letter()), at(page))) {
            return;
          }
        }
      }
      endTransaction(true);
    }
  }

  void readSome() {
    const std::size_t offset = draw(static_cast<unsigned>(at(end_)) + 1);
    const std::size_t size = draw(2 * kPage);
    if (log_.buffer.holds(static_cast<int>(size), static_cast<std::int64_t>(offset)) && !require(log_.buffer.flush())) {
      return;
    }
    if (offset + size <= at(end_)) {
      CHECK(log_.file.bytes.substr(offset, size) == plain_.substr(offset, size));
    }
  }

  void rewritePage() {
    if (begin_ < end_) {
      put(kPage, at(begin_ + draw(static_cast<unsigned>(end_ - begin_))) + kHeader, letter());
    }
  }

  void undoSome() { end_ -= begin_ < end_ ? draw(static_cast<unsigned>(end_ - begin_)) : 0; }

  void endTransaction(bool committed) {
    if (committed) {
      // Nobody flushes here: SQLite tells the other processes of the commit now.
      CHECK(log_.file.bytes.substr(0, at(end_)) == plain_.substr(0, at(end_)));
      begin_ = end_;
    }
    log_.buffer.endTransaction();
    CHECK(log_.buffer.flush() == SQLITE_OK);
    end_ = begin_;
    CHECK(log_.file.bytes.substr(0, at(end_)) == plain_.substr(0, at(end_)));
    // Behind the commits anything may stand, and another process may write there.
    log_.file.bytes.resize(at(end_));
    if (draw(2) == 0) {
      log_buffer_test::put(log_.file.bytes, at(end_), std::string(kHeader + kPage, 'o'));
      begin_ = ++end_;
    }
    plain_ = log_.file.bytes;
    log_.buffer.beginTransaction();
  }

  std::mt19937 random_;
  Log log_;
  std::string plain_;
  // Pages: where the transaction begins and ends.
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace

TEST_CASE("a commit of several pages is one write, made before its last call returns") {
  Log log;
  REQUIRE(log.write(logHeader(), 0) == SQLITE_OK);
  CHECK(log.file.writes == 1);
  std::size_t offset = kLogHeader;
  for (int page = 0; page < 5; ++page) {
    REQUIRE(log.write(header(page == 4, 'd'), offset) == SQLITE_OK);
    CHECK(log.file.writes == 1);
    REQUIRE(log.write(std::string(kPage, 'p'), offset + kHeader) == SQLITE_OK);
    offset += kHeader + kPage;
  }
  CHECK(log.file.writes == 2);
  CHECK(log.file.bytes.size() == offset);
}

TEST_CASE("a long transaction goes out in pieces that every VFS takes") {
  Log log;
  std::size_t offset = kLogHeader;
  for (int page = 0; page < 1'000; ++page) {
    REQUIRE(log.write(header(page == 999, 'd'), offset) == SQLITE_OK);
    REQUIRE(log.write(std::string(kPage, 'p'), offset + kHeader) == SQLITE_OK);
    offset += kHeader + kPage;
  }
  CHECK(log.file.bytes.size() == offset);
  CHECK(log.file.writes == 5);
}

TEST_CASE("a commit whose write fails is told so by its last call; what is rolled back is never written") {
  Log log;
  REQUIRE(log.write(header(false, 'd'), kLogHeader) == SQLITE_OK);
  REQUIRE(log.write(std::string(kPage, 'p'), kLogHeader + kHeader) == SQLITE_OK);
  REQUIRE(log.write(header(true, 'd'), kLogHeader + kHeader + kPage) == SQLITE_OK);
  log.file.refused = 1;
  CHECK(log.write(std::string(kPage, 'p'), kLogHeader + 2 * kHeader + kPage) == SQLITE_FULL);
  log.buffer.endTransaction();
  CHECK(log.buffer.flush() == SQLITE_OK);
  CHECK(log.file.writes == 1);
}

TEST_CASE("what a failed write was to bring is not missing from what is committed later") {
  Log log;
  const std::string page(kPage, 'p');
  REQUIRE(log.write(header(false, 'd'), kLogHeader) == SQLITE_OK);
  REQUIRE(log.write(page, kLogHeader + kHeader) == SQLITE_OK);
  log.file.refused = 1;
  // A full disk may end a statement alone, and the transaction goes on.
  CHECK(log.buffer.flush() == SQLITE_FULL);
  REQUIRE(log.write(header(true, 'd'), kLogHeader + kHeader + kPage) == SQLITE_OK);
  REQUIRE(log.write(page, kLogHeader + 2 * kHeader + kPage) == SQLITE_OK);
  CHECK(log.file.bytes.substr(kLogHeader) == header(false, 'd') + page + header(true, 'd') + page);
}

TEST_CASE("whatever SQLite does to a log, what can be seen of it is what a plain file would show") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    Writer writer(seed);
    for (int step = 0; step < 300; ++step) {
      writer.step();
      REQUIRE(writer.whyOff() == nullptr);
    }
  }
}

namespace {

/// One call of SQLite's.
struct Call {
  std::string bytes;
  std::size_t offset;
};

constexpr std::size_t kSecond = kLogHeader + kHeader + kPage;

/// A frame is held back; then comes what is no habit of SQLite's, and then a usual commit.
void expectOff(const std::vector<Call>& calls) {
  Log log;
  std::string plain;
  const auto put = [&](const std::string& bytes, std::size_t offset) {
    log_buffer_test::put(plain, offset, bytes);
    REQUIRE(log.write(bytes, offset) == SQLITE_OK);
  };
  put(logHeader(), 0);
  put(header(false, 'd'), kLogHeader);
  put(std::string(kPage, 'p'), kLogHeader + kHeader);
  CHECK(log.file.bytes != plain);
  for (const Call& call : calls) {
    put(call.bytes, call.offset);
  }
  CHECK(log.buffer.whyOff() != nullptr);
  CHECK(log.file.bytes == plain);
  const int before = log.file.writes;
  put(header(true, 'd'), plain.size());
  CHECK(log.file.bytes == plain);
  put(std::string(kPage, 'p'), plain.size());
  CHECK(log.file.bytes == plain);
  CHECK(log.file.writes == before + 2);
}

}  // namespace

TEST_CASE("a write that SQLite is not known to make turns the buffer off, and is in the file with all before it") {
  SUBCASE("a frame in one piece") {
    expectOff({{header(false, 'd') + std::string(kPage, 'p'), kSecond}});
  }
  SUBCASE("a page before its header") {
    expectOff({{std::string(kPage, 'p'), kSecond + kHeader}});
  }
  SUBCASE("a page in two pieces") {
    expectOff({{header(false, 'd'), kSecond}, {std::string(kPage / 2, 'p'), kSecond + kHeader}});
  }
  SUBCASE("two headers, then their pages") {
    expectOff({{header(false, 'd'), kSecond}, {header(false, 'd'), kSecond + kHeader + kPage}});
  }
  SUBCASE("a longer header") {
    expectOff({{header(false, 'd') + std::string(8, 'd'), kSecond}});
  }
  SUBCASE("a page of another size") {
    expectOff({{header(false, 'd'), kSecond}, {std::string(2 * kPage, 'p'), kSecond + kHeader}});
  }
  SUBCASE("a frame behind a gap") {
    expectOff({{header(false, 'd'), kSecond + kHeader + kPage}});
  }
  SUBCASE("a header in another place") {
    expectOff({{header(false, 'd'), kLogHeader + 8}});
  }
  SUBCASE("another salt") {
    std::string other = header(false, 'd');
    other[8] = 'x';
    expectOff({{other, kSecond}});
  }
  SUBCASE("no page number") {
    expectOff({{std::string(4, '\0') + header(false, 'd').substr(4), kSecond}});
  }
}

TEST_CASE("a write without the writer lock turns the buffer off") {
  Log log;
  log.buffer.endTransaction();
  REQUIRE(log.write(header(false, 'd'), kLogHeader) == SQLITE_OK);
  CHECK(log.buffer.whyOff() != nullptr);
  CHECK(log.file.bytes.substr(kLogHeader) == header(false, 'd'));
}

TEST_CASE("what is published before it was committed as the format has it is in the file, and turns the buffer off") {
  Log log;
  REQUIRE(log.write(header(false, 'd'), kLogHeader) == SQLITE_OK);
  REQUIRE(log.write(std::string(kPage, 'p'), kLogHeader + kHeader) == SQLITE_OK);
  log.buffer.beforePublish();
  CHECK(log.buffer.whyOff() != nullptr);
  CHECK(log.file.bytes.substr(kLogHeader) == header(false, 'd') + std::string(kPage, 'p'));
}

}  // namespace log_buffer_test
