#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <utility>

namespace ackbox::serve {

/// A queue in which callers take turns: what waits of one caller, however much it is, delays another's by one turn.
/// What one caller has put in comes out in its order.
///
/// Thread-safety: none.
template <typename Item>
class Turns {
public:
  void push(const std::string& sharer, Item item) {
    std::deque<Item>& own = items_[sharer];
    if (own.empty()) {
      turns_.push_back(sharer);
    }
    own.push_back(std::move(item));
  }

  /// Precondition: the queue is not empty.
  [[nodiscard]] Item pop() {
    std::string sharer = std::move(turns_.front());
    turns_.pop_front();
    const auto place = items_.find(sharer);
    Item item = std::move(place->second.front());
    place->second.pop_front();
    if (place->second.empty()) {
      items_.erase(place);
    } else {
      turns_.push_back(std::move(sharer));
    }
    return item;
  }

  [[nodiscard]] std::size_t of(const std::string& sharer) const {
    const auto place = items_.find(sharer);
    return place == items_.end() ? 0 : place->second.size();
  }

private:
  // Of callers that have items alone.
  std::map<std::string, std::deque<Item>> items_;
  std::deque<std::string> turns_;
};

}  // namespace ackbox::serve
