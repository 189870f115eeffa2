#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/option.hpp"
#include "serve/config/document.hpp"

namespace ackbox::serve {

/// A field of the configuration: its name and meaning.
struct Field {
  std::string_view name;
  std::string_view meaning;
};

/// The documentation of a field.
struct FieldNote {
  /// A path such as `peers[].url`.
  std::string path;
  /// A type such as "duration".
  std::string type;
  /// The default; empty if the field has no default.
  std::string fallback;
  /// The permitted values; empty if the type alone limits them.
  std::string range;
  std::string meaning;
};

/// The state shared by all sections while a configuration is read.
struct ConfigReading {
  std::vector<ConfigProblem>& problems;
  /// The folder in which the file's relative paths are resolved; empty for the working directory.
  std::filesystem::path folder = {};
  /// If set, each field is noted here, including the fields of absent objects.
  std::vector<FieldNote>* notes = nullptr;
  /// The text comes from a caller of the API, or from the outbox's file, and not from the operator of this machine: it
  /// may name files of `folder` only, and nothing of the environment.
  bool isOfCaller = false;
  /// Whether the files that are named are read and checked.
  bool looksAtFiles = true;
};

/// The configuration's name of an option's row, such as `max_retries`.
[[nodiscard]] std::string configName(std::string_view field);

/// An object of a configuration that is being read. Each accessor reads a field if it exists, and otherwise leaves the
/// value unchanged. The destructor reports the fields that no accessor has read, so that a misspelt field is not lost.
class Section {
public:
  Section(const ConfigNode& node, std::string path, ConfigReading& reading);
  ~Section();
  Section(Section&&) = delete;
  Section(const Section&) = delete;

  /// Whether the field exists, with a value of any kind.
  void text(const Field& field, std::string& value);
  /// Like `text`, but refuses an empty value.
  void filled(const Field& field, std::string& value);
  /// Resolves a path from the command line in the working directory.
  void path(const Field& field, std::filesystem::path& value);
  [[nodiscard]] const ConfigReading& reading() const noexcept { return reading_; }
  void texts(const Field& field, std::vector<std::string>& value);
  void flag(const Field& field, bool& value);
  void duration(const Field& field, std::chrono::milliseconds& value, std::chrono::milliseconds least,
                std::chrono::milliseconds most) {
    number(field, &value, OptionUnit::duration, static_cast<std::uint64_t>(least.count()),
           static_cast<std::uint64_t>(most.count()));
  }
  /// Reads the option with this field name in `Options`, with the limits of its row.
  template <typename Options>
  void option(std::span<const Option<Options>> rows, std::string_view field, Options& options) {
    const Option<Options>& row = optionNamed(rows, field);
    number({configName(field), row.meaning}, row.slot(options), row.unit, row.least, row.most);
  }
  /// Reads one of several names.
  template <typename Value>
  void choice(const Field& field, Value& value, const std::vector<std::pair<std::string_view, Value>>& choices) {
    std::string names;
    std::string_view usual;
    for (const auto& [one, meaning] : choices) {
      names += (names.empty() ? "" : ", ") + std::string(one);
      usual = meaning == value ? one : usual;
    }
    note(field, "text", std::string(usual), names);
    const ConfigNode* const node = take(field.name, ConfigNode::Kind::text, "must be a string");
    if (node == nullptr) {
      return;
    }
    for (const auto& [one, meaning] : choices) {
      if (one == node->text) {
        value = meaning;
        return;
      }
    }
    problem(field.name, "must be one of " + names);
  }

  /// Calls `read(section)` for the object of this name, if it exists. Returns whether it exists.
  template <typename Read>
  bool object(std::string_view name, const Read& read) {
    const ConfigNode* const node = noted(take(name, ConfigNode::Kind::object, "must be an object"));
    if (node != nullptr) {
      Section inner(*node, pathOf(name), reading_);
      read(inner);
    }
    return node != nullptr;
  }
  /// Calls `read(section)` for each object in the list of this name.
  template <typename Read>
  void objects(std::string_view name, const Read& read) {
    if (reading_.notes != nullptr) {
      Section inner(*noted(nullptr), pathOf(name) + "[]", reading_);
      read(inner);
      return;
    }
    const ConfigNode* const list = take(name, ConfigNode::Kind::list, "must be a list of objects");
    for (std::size_t index = 0; list != nullptr && index < list->items.size(); ++index) {
      const std::string item = pathOf(name) + "[" + std::to_string(index) + "]";
      if (list->items[index].kind != ConfigNode::Kind::object) {
        reading_.problems.push_back({list->items[index].line, item, "must be an object", list->items[index].option});
        continue;
      }
      Section inner(list->items[index], item, reading_);
      read(inner);
    }
  }

  [[nodiscard]] bool has(std::string_view name) const { return node_.find(name) != nullptr; }

  /// Reports a problem with a field of this section, or with a nested one, such as `peers[0].url`.
  void problem(std::string_view name, std::string what);

private:
  [[nodiscard]] std::string pathOf(std::string_view name) const;
  /// Returns null if the field does not exist, or is of another kind; reports the latter.
  const ConfigNode* take(std::string_view name, ConfigNode::Kind kind, std::string_view otherwise);
  void number(const Field& field, const OptionSlot& slot, OptionUnit unit, std::uint64_t least, std::uint64_t most);
  void note(const Field& field, std::string type, std::string fallback, std::string range = {});
  /// An empty object in place of a missing one, if fields are being noted.
  [[nodiscard]] const ConfigNode* noted(const ConfigNode* node) const;

  const ConfigNode& node_;
  const std::string path_;
  ConfigReading& reading_;
  std::set<std::string, std::less<>> taken_;
};

}  // namespace ackbox::serve
