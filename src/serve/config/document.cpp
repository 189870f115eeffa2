#include "serve/config/document.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>

namespace ackbox::serve {
namespace {

constexpr std::size_t kDepthMax = 16;

/// Marks the node and all its descendants as set by this option.
void markOption(ConfigNode& node, const std::string& option) {
  node.option = option;
  for (ConfigNode& item : node.items) {
    markOption(item, option);
  }
  for (auto& [name, value] : node.members) {
    markOption(value, option);
  }
}

/// How much of a text was read.
struct ReadLines {
  std::size_t line = 1;
  char last = '\0';
};

/// Iterates over the text and counts its lines, because nlohmann's parser does not report the line of a value.
class LineIterator {
public:
  // NOLINTBEGIN(readability-identifier-naming): the standard library's own
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;
  // NOLINTEND(readability-identifier-naming)

  LineIterator(const char* at, ReadLines* read) : at_(at), read_(read) {}

  reference operator*() const { return *at_; }
  LineIterator& operator++() {
    read_->line += *at_ == '\n' ? 1 : 0;
    read_->last = *at_;
    ++at_;
    return *this;
  }
  LineIterator operator++(int) {
    LineIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const LineIterator& other) const { return at_ == other.at_; }
  bool operator!=(const LineIterator& other) const { return at_ != other.at_; }

private:
  const char* at_;
  ReadLines* read_;
};

/// Builds the tree. nlohmann's SAX interface defines the names.
class TreeBuilder {
public:
  using Json = nlohmann::json;

  TreeBuilder(ConfigNode& root, const ReadLines& read, std::vector<ConfigProblem>& problems)
      : read_(read), problems_(problems), open_{&root} {}

  // NOLINTBEGIN(readability-identifier-naming)
  bool null() { return value(ConfigNode::Kind::null, {}); }
  bool boolean(bool flag) { return value(ConfigNode::Kind::boolean, flag ? "true" : "false"); }
  bool number_integer(Json::number_integer_t number) { return value(ConfigNode::Kind::number, std::to_string(number)); }
  bool number_unsigned(Json::number_unsigned_t number) {
    return value(ConfigNode::Kind::number, std::to_string(number));
  }
  bool number_float(Json::number_float_t /*number*/, const std::string& text) {
    return value(ConfigNode::Kind::number, text);
  }
  bool string(std::string& text) { return value(ConfigNode::Kind::text, std::move(text)); }
  bool binary(Json::binary_t& /*bytes*/) { return false; }
  bool start_object(std::size_t /*elements*/) { return begin(ConfigNode::Kind::object); }
  bool start_array(std::size_t /*elements*/) { return begin(ConfigNode::Kind::list); }
  bool end_object() { return end(); }
  bool end_array() { return end(); }
  bool key(std::string& name) {
    if (open_.back()->find(name) != nullptr) {
      problems_.push_back({read_.line, name, "occurs twice"});
      return false;
    }
    open_.back()->members.emplace_back(std::move(name), ConfigNode{});
    return true;
  }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/, const Json::exception& problem) {
    // The text after nlohmann's own number and position, which count differently.
    const std::string_view what = problem.what();
    const std::size_t text = what.find("syntax error");
    problems_.push_back({read_.line, {}, std::string(what.substr(text == std::string_view::npos ? 0 : text))});
    return false;
  }
  // NOLINTEND(readability-identifier-naming)

private:
  ConfigNode& place() {
    ConfigNode& parent = *open_.back();
    if (parent.kind == ConfigNode::Kind::list) {
      return parent.items.emplace_back();
    }
    // The empty root, or the value of the last key.
    return parent.kind == ConfigNode::Kind::object ? parent.members.back().second : parent;
  }
  bool value(ConfigNode::Kind kind, std::string text) {
    ConfigNode& node = place();
    node.kind = kind;
    // The parser ends a number at the next character, which was read already.
    const bool isBehind = kind == ConfigNode::Kind::number && read_.last == '\n';
    node.line = read_.line - (isBehind ? 1 : 0);
    node.text = std::move(text);
    return true;
  }
  bool begin(ConfigNode::Kind kind) {
    if (open_.size() > kDepthMax) {
      problems_.push_back({read_.line, {}, "is nested too deeply"});
      return false;
    }
    ConfigNode& node = place();
    node.kind = kind;
    node.line = read_.line;
    open_.push_back(&node);
    return true;
  }
  bool end() {
    open_.pop_back();
    return true;
  }

  const ReadLines& read_;
  std::vector<ConfigProblem>& problems_;
  // The root, and the objects and lists that are still open. A parent grows only after its last child was closed.
  std::vector<ConfigNode*> open_;
};

}  // namespace

const ConfigNode* ConfigNode::find(std::string_view name) const {
  const auto found = std::ranges::find_if(members, [&](const auto& member) { return member.first == name; });
  return found == members.end() ? nullptr : &found->second;
}

const ConfigNode& ConfigNode::nearest(std::string_view path) const {
  const ConfigNode* node = this;
  while (!path.empty()) {
    const std::string_view step = path.substr(0, path.find('.'));
    path.remove_prefix(std::min(step.size() + 1, path.size()));
    const std::size_t bracket = std::min(step.find('['), step.size());
    const ConfigNode* const member = node->find(step.substr(0, bracket));
    if (member == nullptr) {
      return *node;
    }
    node = member;
    std::size_t index = 0;
    if (bracket < step.size()) {
      const auto [end, error] = std::from_chars(step.data() + bracket + 1, step.data() + step.size(), index);
      if (error != std::errc() || index >= node->items.size()) {
        return *node;
      }
      node = &node->items[index];
    }
  }
  return *node;
}

ConfigNode parseConfig(std::string_view text, std::vector<ConfigProblem>& problems) {
  ConfigNode root;
  // The parser takes a NUL byte for the end of the text.
  if (const std::size_t at = text.find('\0'); at != std::string_view::npos) {
    const auto line = 1 + std::ranges::count(text.substr(0, at), '\n');
    problems.push_back({static_cast<std::size_t>(line), {}, "contains a NUL byte"});
    return root;
  }
  ReadLines read;
  TreeBuilder builder(root, read, problems);
  const LineIterator begin(text.data(), &read);
  const LineIterator end(text.data() + text.size(), &read);
  nlohmann::json::sax_parse(begin, end, &builder, nlohmann::json::input_format_t::json, true, true);
  if (problems.empty() && root.kind != ConfigNode::Kind::object) {
    problems.push_back({1, {}, "must be a JSON object"});
  }
  return root;
}

std::string withoutComments(std::string_view text) {
  return nlohmann::json::parse(text, nullptr, true, true).dump();
}

void overrideField(ConfigNode& root, const ConfigOverride& override, std::vector<ConfigProblem>& problems) {
  ConfigNode* node = &root;
  for (std::string_view rest = override.field; !rest.empty();) {
    const std::string_view name = rest.substr(0, rest.find('.'));
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
    if (node->kind != ConfigNode::Kind::object && node->kind != ConfigNode::Kind::null) {
      problems.push_back({0, override.field, "cannot be set: what it is in is no object", override.option});
      return;
    }
    node->kind = ConfigNode::Kind::object;
    const auto found = std::ranges::find_if(node->members, [&](const auto& member) { return member.first == name; });
    node = found == node->members.end()
               ? &node->members.emplace_back(std::string(name), ConfigNode{.option = override.option}).second
               : &found->second;
  }
  std::vector<ConfigProblem> notJson;
  ConfigNode parsed;
  const ReadLines nowhere{.line = 0};
  TreeBuilder builder(parsed, nowhere, notJson);
  const bool isJson = nlohmann::json::sax_parse(override.value, &builder);
  if (!isJson) {
    parsed = ConfigNode{.kind = ConfigNode::Kind::text, .text = override.value};
  }
  markOption(parsed, override.option);
  *node = std::move(parsed);
}

}  // namespace ackbox::serve
