#include "serve/config/section.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "cli/duration.hpp"

namespace ackbox::serve {

namespace {

/// How many letters must be changed, added or left out to make one text of the other (Levenshtein 1966).
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

Section::Section(const ConfigNode& node, std::string path, std::vector<ConfigProblem>& problems,
                 std::filesystem::path folder)
    : node_(node), path_(std::move(path)), problems_(problems), folder_(std::move(folder)) {}

Section::~Section() {
  for (const auto& [name, value] : node_.members) {
    if (!taken_.contains(name)) {
      problems_.push_back(
          {value.line, pathOf(name), "there is no such field" + suggestionFor(name, taken_), value.option});
    }
  }
}

std::string Section::pathOf(std::string_view name) const {
  return path_.empty() ? std::string(name) : path_ + "." + std::string(name);
}

void Section::problem(std::string_view name, std::string what) {
  const ConfigNode& node = node_.nearest(name);
  problems_.push_back({node.line, pathOf(name), std::move(what), node.option});
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

void Section::text(std::string_view name, std::string& value) {
  if (const ConfigNode* const node = take(name, ConfigNode::Kind::text, "must be a string")) {
    value = node->text;
  }
}

void Section::filled(std::string_view name, std::string& value) {
  const ConfigNode* const node = take(name, ConfigNode::Kind::text, "must be a string");
  if (node != nullptr && node->text.empty()) {
    // As where a variable of a template was not set: without tokens, for one, everybody would have all roles.
    problem(name, "is empty: set it, or leave the field out");
  } else if (node != nullptr) {
    value = node->text;
  }
}

void Section::path(std::string_view name, std::filesystem::path& value) {
  std::string file;
  filled(name, file);
  if (const ConfigNode* const node = node_.find(name); !file.empty() && node != nullptr) {
    value = node->option.empty() ? folder_ / file : std::filesystem::path(file);
  }
}

void Section::texts(std::string_view name, std::vector<std::string>& value) {
  const ConfigNode* const list = take(name, ConfigNode::Kind::list, "must be a list of strings");
  if (list == nullptr) {
    return;
  }
  value.clear();
  for (const ConfigNode& item : list->items) {
    if (item.kind != ConfigNode::Kind::text) {
      problem(name, "must be a list of strings");
      return;
    }
    value.push_back(item.text);
  }
}

void Section::flag(std::string_view name, bool& value) {
  if (const ConfigNode* const node = take(name, ConfigNode::Kind::boolean, "must be true or false")) {
    value = node->text == "true";
  }
}

void Section::duration(std::string_view name, std::chrono::milliseconds& value, std::chrono::milliseconds least,
                       std::chrono::milliseconds most) {
  constexpr const char* kWanted = "must be a duration in quotes, such as \"500ms\", \"10s\", \"5m\" or \"7d\"";
  const ConfigNode* const node = take(name, ConfigNode::Kind::text, kWanted);
  if (node == nullptr) {
    return;
  }
  const auto parsed = cli::parseDuration(node->text);
  if (!parsed) {
    problem(name, kWanted);
  } else if (*parsed < least || *parsed > most) {
    problem(name, "must be from " + std::to_string(least.count()) + " ms to " + std::to_string(most.count()) + " ms");
  } else {
    value = *parsed;
  }
}

void Section::readCount(std::string_view name, std::uint64_t& value, std::uint64_t least, std::uint64_t most) {
  const std::string range = "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  const ConfigNode* const node = take(name, ConfigNode::Kind::number, range);
  if (node == nullptr) {
    return;
  }
  std::uint64_t number = 0;
  const char* const last = node->text.data() + node->text.size();
  const auto [end, error] = std::from_chars(node->text.data(), last, number);
  if (error != std::errc() || end != last || number < least || number > most) {
    problem(name, range);
  } else {
    value = number;
  }
}

}  // namespace ackbox::serve
