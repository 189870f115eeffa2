"""A tree in small, for the campaign's own test: a library with one source, a test that is good and one that is weak."""

FILES = {
    "CMakeLists.txt": """cmake_minimum_required(VERSION 3.25)
project(sample LANGUAGES CXX)
add_library(ackbox)
add_subdirectory(src)
add_executable(unit_good tests/unit/store/good.cpp)
add_executable(unit_weak tests/unit/store/weak.cpp)
set_target_properties(unit_good unit_weak PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/unit/store)
target_link_libraries(unit_good PRIVATE ackbox)
target_link_libraries(unit_weak PRIVATE ackbox)
target_include_directories(ackbox PUBLIC src)
""",
    "src/CMakeLists.txt": "target_sources(ackbox PRIVATE store/shelf.cpp)\n",
    "src/store/shelf.hpp": """#pragma once

class Shelf {
public:
  bool put(int item);
  bool isFull() const { return count_ == kMax; }
  void clear();
  void drain();
  int sum() const;
  int unused() const;

private:
  static constexpr int kMax = 3;
  int items_[kMax + 1] = {};
  int count_ = 0;
  int news_ = 0;
  void notify();
};

template <int number, bool isSmall = (number < 10)>
constexpr int twice(int other = number + 1) {
  return number < other ? number + 1 : 0;
}

struct Rank {
  int place;
  bool operator<(const Rank& other) const { return place < other.place; }
};

int better(Rank left, Rank right);
""",
    "src/store/shelf.cpp": """#include "store/shelf.hpp"

// In a comment, a < b && notify(); is nothing.
bool Shelf::put(int item) {
  static_assert(kMax < 4, "a < b");
  if (count_ >= kMax) {
    return false;
  }
  items_[count_] = item;  // kept
  ++count_;
  notify();
  return true;
}

void Shelf::notify() { ++news_; }

void Shelf::clear() {
  count_ = 0;
}

int Shelf::sum() const {
  int total = 0;
  for (int place = 0;
       place < count_;  // each
       ++place) {
    total += items_[place];
  }
  return total;
}

int Shelf::unused() const {
  return news_ + 1;
}

void Shelf::drain() {
  while (count_ > 0) {
    --count_;
  }
}

int better(Rank left, Rank right) {
  return left < right ? right.place : left.place;
}
""",
    "tests/unit/store/good.cpp": """#include "store/shelf.hpp"

int main() {
  Shelf drained;
  drained.put(1);
  drained.drain();
  Shelf shelf;
  if (shelf.isFull() || !shelf.put(1) || !shelf.put(2) || !shelf.put(3) || shelf.put(4)) {
    return 1;
  }
  return shelf.isFull() && shelf.sum() == 6 && better({1}, {2}) == 2 ? 0 : 1;
}
""",
    "tests/unit/store/weak.cpp": """#include "store/shelf.hpp"

int main() {
  Shelf shelf;
  shelf.put(1);
  shelf.clear();
  return 0;
}
""",
}

# (line, kind, written, defect, verdict), of shelf.hpp and shelf.cpp.
EXPECTED = [
    (6, "relation", "count_ == kMax", "count_ != kMax", "caught"),
    (27, "relation", "place < other.place", "place <= other.place", "survived"),
    (6, "condition", "count_ >= kMax", "negated", "caught"),
    (6, "relation", "count_ >= kMax", "count_ > kMax", "caught"),
    (6, "boundary", "count_ >= kMax", "count_ >= kMax - 1", "caught"),
    (7, "condition", "return false", "return true", "caught"),
    (9, "statement", "items_[count_] = item;", "dropped", "caught"),
    (10, "statement", "++count_;", "dropped", "caught"),
    (11, "wake", "notify();", "dropped", "survived"),
    (12, "condition", "return true", "return false", "caught"),
    (15, "statement", "++news_;", "dropped", "survived"),
    (18, "statement", "count_ = 0;", "dropped", "survived"),
    (24, "relation", "place < count_", "place <= count_", "survived"),
    (24, "boundary", "place < count_", "place < count_ - 1", "caught"),
    (26, "statement", "total += items_[place];", "dropped", "caught"),
    (32, "boundary", "news_ + 1", "news_ + 0", "not reached"),
    (36, "relation", "count_ > 0", "count_ >= 0", "survived"),
    (36, "boundary", "count_ > 0", "count_ > 0 + 1", "survived"),
    (37, "statement", "--count_;", "dropped", "caught"),
]
# What is found, too, and does not compile: a Rank has one relation.
NOT_COMPILED = (42, "relation", "left < right", "left <= right")
