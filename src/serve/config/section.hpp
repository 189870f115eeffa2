#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serve/config/document.hpp"

namespace ackbox::serve {

/// An object of a configuration that is being read. Each accessor takes a field, if it is there, and leaves the value
/// as it is otherwise; its end reports the fields that none has taken, so that a misspelt one is not lost.
class Section {
public:
  /// Far below where an instant in nanoseconds overflows 64 bits, as `validate` wants it.
  static constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 365 * 100);

  /// `folder`: where the paths begin that the file names; empty: where the process was started.
  Section(const ConfigNode& node, std::string path, std::vector<ConfigProblem>& problems,
          std::filesystem::path folder = {});
  ~Section();
  Section(Section&&) = delete;
  Section(const Section&) = delete;

  /// Whether the field is there, of whatever kind.
  [[nodiscard]] bool has(std::string_view name) const { return node_.find(name) != nullptr; }

  void text(std::string_view name, std::string& value);
  /// The same, where an empty one is no value.
  void filled(std::string_view name, std::string& value);
  /// The command line's paths begin where the process was started.
  void path(std::string_view name, std::filesystem::path& value);
  void texts(std::string_view name, std::vector<std::string>& value);
  void flag(std::string_view name, bool& value);
  void duration(std::string_view name, std::chrono::milliseconds& value,
                std::chrono::milliseconds least = std::chrono::milliseconds(0),
                std::chrono::milliseconds most = kLongest);
  template <typename Integer>
  void count(std::string_view name, Integer& value, std::uint64_t least = 0,
             std::uint64_t most = std::numeric_limits<Integer>::max()) {
    std::uint64_t number = value;
    readCount(name, number, least, most);
    value = static_cast<Integer>(number);
  }
  /// One of some names.
  template <typename Value>
  void choice(std::string_view name, Value& value, const std::vector<std::pair<std::string_view, Value>>& choices) {
    const ConfigNode* const node = take(name, ConfigNode::Kind::text, "must be a string");
    if (node == nullptr) {
      return;
    }
    std::string names;
    for (const auto& [one, meaning] : choices) {
      if (one == node->text) {
        value = meaning;
        return;
      }
      names += (names.empty() ? "" : ", ") + std::string(one);
    }
    problem(name, "must be one of " + names);
  }

  /// Calls `read(section)` for the object of this name, if it is there. Returns whether it is.
  template <typename Read>
  bool object(std::string_view name, const Read& read) {
    const ConfigNode* const node = take(name, ConfigNode::Kind::object, "must be an object");
    if (node != nullptr) {
      Section inner(*node, pathOf(name), problems_, folder_);
      read(inner);
    }
    return node != nullptr;
  }
  /// Calls `read(section)` for each object of the list of this name.
  template <typename Read>
  void objects(std::string_view name, const Read& read) {
    const ConfigNode* const list = take(name, ConfigNode::Kind::list, "must be a list of objects");
    for (std::size_t index = 0; list != nullptr && index < list->items.size(); ++index) {
      const std::string item = pathOf(name) + "[" + std::to_string(index) + "]";
      if (list->items[index].kind != ConfigNode::Kind::object) {
        problems_.push_back({list->items[index].line, item, "must be an object", list->items[index].option});
        continue;
      }
      Section inner(list->items[index], item, problems_, folder_);
      read(inner);
    }
  }

  /// Reports something about a field of this section, or of what is in it, such as `peers[0].url`.
  void problem(std::string_view name, std::string what);

private:
  [[nodiscard]] std::string pathOf(std::string_view name) const;
  /// Null: it is not there, or of another kind, which is reported.
  const ConfigNode* take(std::string_view name, ConfigNode::Kind kind, std::string_view otherwise);
  void readCount(std::string_view name, std::uint64_t& value, std::uint64_t least, std::uint64_t most);

  const ConfigNode& node_;
  const std::string path_;
  std::vector<ConfigProblem>& problems_;
  const std::filesystem::path folder_;
  std::set<std::string, std::less<>> taken_;
};

}  // namespace ackbox::serve
