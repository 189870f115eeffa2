#include "serve/config/section.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>

#include "base/duration.hpp"

namespace ackbox::serve {

namespace {

/// The number of letters to change, add or remove to turn one text into the other (Levenshtein 1966).
std::size_t differences(std::string_view one, std::string_view other) {
  std::vector<std::size_t> row(other.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t line = 1; line <= one.size(); ++line) {
    std::size_t diagonal = row.front();
    row.front() = line;
    for (std::size_t column = 1; column <= other.size(); ++column) {
      const std::size_t changed = diagonal + (one[line - 1] == other[column - 1] ? 0 : 1);
      diagonal = row[column];
      row[column] = std::min({row[column] + 1, row[column - 1] + 1, changed});
    }
  }
  return row.back();
}

/// The known name closest to `name`; empty if none is close.
std::string suggestionFor(std::string_view name, const std::set<std::string, std::less<>>& names) {
  constexpr std::size_t kNamesBytesMost = 40;
  if (names.empty() || name.size() > kNamesBytesMost) {
    return {};
  }
  const auto nearest =
      std::ranges::min_element(names, {}, [&](const std::string& one) { return differences(name, one); });
  const std::size_t near = name.size() < 6 ? 1 : 2;
  return differences(name, *nearest) <= near ? "; did you mean '" + *nearest + "'?" : std::string();
}

}  // namespace

std::string configName(std::string_view field) {
  std::string made;
  for (const char letter : field.substr(field.rfind('.') + 1)) {
    const bool isCapital = letter >= 'A' && letter <= 'Z';
    made += isCapital ? std::string{'_', static_cast<char>(letter - 'A' + 'a')} : std::string(1, letter);
  }
  return made;
}

namespace {

/// The suggestion, or the fields that there are, unless they are many.
std::string orNames(std::string suggestion, const std::set<std::string, std::less<>>& names) {
  constexpr std::size_t kNamesMost = 15;
  if (!suggestion.empty() || names.empty() || names.size() > kNamesMost) {
    return suggestion;
  }
  for (const std::string& name : names) {
    suggestion += (suggestion.empty() ? "; the fields are " : ", ") + name;
  }
  return suggestion;
}

}  // namespace

Section::Section(const ConfigNode& node, std::string path, ConfigReading& reading)
    : node_(node), path_(std::move(path)), reading_(reading) {}

Section::~Section() {
  for (const auto& [name, value] : node_.members) {
    if (!taken_.contains(name)) {
      reading_.problems.push_back({value.line, pathOf(name),
                                   "there is no such field" + orNames(suggestionFor(name, taken_), taken_),
                                   value.option});
    }
  }
}

std::string Section::pathOf(std::string_view name) const {
  return path_.empty() ? std::string(name) : path_ + "." + std::string(name);
}

void Section::problem(std::string_view name, std::string what) {
  const ConfigNode& node = node_.nearest(name);
  reading_.problems.push_back({node.line, pathOf(name), std::move(what), node.option});
}

const ConfigNode* Section::take(std::string_view name, ConfigNode::Kind kind, std::string_view otherwise) {
  taken_.emplace(name);
  const ConfigNode* const node = node_.find(name);
  if (node != nullptr && node->kind != kind) {
    problem(name, std::string(otherwise));
    return nullptr;
  }
  return node;
}

void Section::note(const Field& field, std::string type, std::string fallback, std::string range) {
  if (reading_.notes != nullptr) {
    reading_.notes->push_back(
        {pathOf(field.name), std::move(type), std::move(fallback), std::move(range), std::string(field.meaning)});
  }
}

const ConfigNode* Section::noted(const ConfigNode* node) const {
  static const ConfigNode empty{.kind = ConfigNode::Kind::object};
  return node == nullptr && reading_.notes != nullptr ? &empty : node;
}

void Section::text(const Field& field, std::string& value) {
  note(field, "text", value);
  if (const ConfigNode* const node = take(field.name, ConfigNode::Kind::text, "must be a string")) {
    value = node->text;
  }
}

void Section::filled(const Field& field, std::string& value) {
  note(field, "text", value);
  const ConfigNode* const node = take(field.name, ConfigNode::Kind::text, "must be a string");
  if (node != nullptr && node->text.empty()) {
    // As when a template's variable was not set: without tokens, for example, every caller would have all roles.
    problem(field.name, "is empty: set it, or leave the field out");
  } else if (node != nullptr) {
    value = node->text;
  }
}

void Section::path(const Field& field, std::filesystem::path& value) {
  std::string file;
  filled(field, file);
  if (reading_.notes != nullptr) {
    reading_.notes->back().type = "file";
  }
  if (reading_.isOfCaller && !file.empty()) {
    // A name would end at a zero byte.
    const bool isName =
        file.find_first_of(std::string_view("/\0", 2)) == std::string::npos && file != "." && file != "..";
    if (!isName || reading_.folder.empty()) {
      problem(field.name, isName ? "needs added_peers.secrets_folder in the configuration of the daemon"
                                 : "must be the name of a file in added_peers.secrets_folder, without a folder");
      return;
    }
  }
  if (const ConfigNode* const node = node_.find(field.name); !file.empty() && node != nullptr) {
    value = node->option.empty() ? reading_.folder / file : std::filesystem::path(file);
  }
}

void Section::texts(const Field& field, std::vector<std::string>& value) {
  constexpr const char* kWanted = "must be a list of strings";
  note(field, "list of texts", {});
  const ConfigNode* const list = take(field.name, ConfigNode::Kind::list, kWanted);
  if (list == nullptr) {
    return;
  }
  value.clear();
  for (const ConfigNode& item : list->items) {
    if (item.kind != ConfigNode::Kind::text) {
      problem(field.name, kWanted);
      return;
    }
    value.push_back(item.text);
  }
}

void Section::flag(const Field& field, bool& value) {
  note(field, "boolean", value ? "true" : "false");
  if (const ConfigNode* const node = take(field.name, ConfigNode::Kind::boolean, "must be true or false")) {
    value = node->text == "true";
  }
}

void Section::number(const Field& field, const OptionSlot& slot, OptionUnit unit, std::uint64_t least,
                     std::uint64_t most) {
  const bool isDuration = unit == OptionUnit::duration;
  const std::string range = rangeText(least, most, unit);
  note(field,
       isDuration                  ? "duration"
       : unit == OptionUnit::bytes ? "bytes"
                                   : "number",
       optionText(valueOf(slot), unit), range);
  const std::string wanted =
      isDuration ? "must be a duration in quotes, such as \"500ms\", \"10s\", \"5m\" or \"7d\", " + range
                 : std::string("must be a whole number") + (unit == OptionUnit::bytes ? " of bytes, " : ", ") +
                       rangeText(least, most, OptionUnit::count);
  const ConfigNode* const node =
      take(field.name, isDuration ? ConfigNode::Kind::text : ConfigNode::Kind::number, wanted);
  if (node == nullptr) {
    return;
  }
  std::optional<std::uint64_t> number;
  if (isDuration) {
    if (const auto duration = parseDuration(node->text)) {
      number = static_cast<std::uint64_t>(duration->count());
    }
  } else {
    std::uint64_t whole = 0;
    const char* const last = node->text.data() + node->text.size();
    const auto [end, error] = std::from_chars(node->text.data(), last, whole);
    number = error == std::errc() && end == last ? std::optional(whole) : std::nullopt;
  }
  if (!number || *number < least || *number > most) {
    problem(field.name, wanted);
  } else {
    setValue(slot, *number);
  }
}

}  // namespace ackbox::serve
