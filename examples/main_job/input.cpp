#include "input.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace main_job {
namespace {

// The outbox's own defaults, checked here so that driver and agent agree on what is malformed.
constexpr std::size_t kDataBytesMax = 256 * 1024;
constexpr std::size_t kNameBytesMax = 256;
constexpr std::size_t kDepthMax = 60;

// Before parsing: a line of nothing but brackets must not exhaust the stack.
std::size_t depthOf(std::string_view text) {
  std::size_t depth = 0;
  std::size_t deepest = 0;
  bool quoted = false;
  for (std::size_t index = 0; index < text.size(); ++index) {
    const char character = text[index];
    if (quoted && character == '\\') {
      ++index;
    } else if (character == '"') {
      quoted = !quoted;
    } else if (!quoted && (character == '[' || character == '{')) {
      deepest = std::max(deepest, ++depth);
    } else if (!quoted && depth > 0 && (character == ']' || character == '}')) {
      --depth;
    }
  }
  return deepest;
}

std::string nameFrom(const nlohmann::ordered_json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) {
    throw std::runtime_error(std::string("\"") + key + "\" is missing or no string");
  }
  auto name = found->get<std::string>();
  const bool printable =
      std::none_of(name.begin(), name.end(), [](unsigned char one) { return one < 0x20 || one == 0x7f; });
  if (name.empty() || name.size() > kNameBytesMax || !printable) {
    throw std::runtime_error(std::string("\"") + key + "\" must be 1 to 256 bytes without control characters");
  }
  return name;
}

ackbox::Frame frameFrom(const std::string& text) {
  if (depthOf(text) > kDepthMax) {
    throw std::runtime_error("nested deeper than " + std::to_string(kDepthMax));
  }
  // Ordered: the data stays as its author wrote it.
  const auto parsed = nlohmann::ordered_json::parse(text, nullptr, false);
  if (!parsed.is_object()) {
    throw std::runtime_error(parsed.is_discarded() ? "not JSON" : "not a JSON object");
  }
  const auto data = parsed.find("data");
  if (data == parsed.end()) {
    throw std::runtime_error("\"data\" is missing");
  }
  ackbox::Frame frame;
  frame.session = nameFrom(parsed, "session");
  frame.type = nameFrom(parsed, "type");
  frame.data = data->dump();
  if (frame.data.size() > kDataBytesMax) {
    throw std::runtime_error("\"data\" is larger than 256 KiB");
  }
  return frame;
}

}  // namespace

InputFile::InputFile(std::filesystem::path path) : path_(std::move(path)), stream_(path_) {
  if (!stream_ || !std::filesystem::is_regular_file(path_)) {
    throw std::runtime_error("cannot read " + path_.string() + ": is it there, a file, and readable?");
  }
}

std::optional<InputLine> InputFile::next() {
  std::string text;
  if (!std::getline(stream_, text)) {
    if (stream_.bad()) {
      throw std::runtime_error("reading " + path_.string() + " failed");
    }
    return std::nullopt;
  }
  InputLine line;
  line.number = ++number_;
  if (text.find_first_not_of(" \t\r") == std::string::npos) {
    return line;
  }
  try {
    line.frame = frameFrom(text);
  } catch (const std::exception& problem) {
    line.problem = problem.what();
  }
  return line;
}

std::string complaint(const InputFile& file, const InputLine& line) {
  return file.path().string() + ":" + std::to_string(line.number) + ": " + line.problem;
}

}  // namespace main_job
