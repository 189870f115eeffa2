#include "protocol/exposition.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace ackbox::protocol {
namespace {

constexpr std::string_view kEnd = "# EOF\n";

/// A label's value, escaped as both formats require.
std::string escapedLabel(std::string_view value) {
  std::string text;
  for (const char letter : value) {
    if (letter == '\n') {
      text += "\\n";
    } else if (letter == '"' || letter == '\\') {
      text += '\\';
      text += letter;
    } else {
      text += letter;
    }
  }
  return text;
}

std::string numberText(double value) {
  if (std::isnan(value)) {
    return "NaN";
  }
  std::array<char, 32> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return error == std::errc() ? std::string(buffer.data(), end) : "0";
}

std::string_view nameOf(Exposition::Type type, MetricsFormat format) {
  switch (type) {
    case Exposition::Type::counter:
      return "counter";
    case Exposition::Type::summary:
      return "summary";
    case Exposition::Type::info:
      return format == MetricsFormat::openMetrics ? "info" : "gauge";
    case Exposition::Type::gauge:
      break;
  }
  return "gauge";
}

/// In OpenMetrics a family's name lacks the suffix of its series' names.
std::string_view familyName(std::string_view name, Exposition::Type type, MetricsFormat format) {
  if (format == MetricsFormat::openMetrics && type == Exposition::Type::counter) {
    name.remove_suffix(std::string_view("_total").size());
  } else if (format == MetricsFormat::openMetrics && type == Exposition::Type::info) {
    name.remove_suffix(std::string_view("_info").size());
  }
  return name;
}

}  // namespace

void Exposition::family(std::string_view name, Type type, std::string_view help) {
  name_ = name;
  const std::string_view family = familyName(name, type, format_);
  text_.append("# HELP ").append(family).append(" ").append(help).append("\n# TYPE ");
  text_.append(family).append(" ").append(nameOf(type, format_)).append("\n");
}

void Exposition::sample(std::uint64_t value, const Labels& labels, std::string_view suffix) {
  line(std::to_string(value), labels, suffix);
}

void Exposition::sample(double value, const Labels& labels, std::string_view suffix) {
  line(numberText(value), labels, suffix);
}

std::string Exposition::take() {
  if (format_ == MetricsFormat::openMetrics) {
    text_ += kEnd;
  }
  return std::move(text_);
}

void Exposition::line(const std::string& value, const Labels& labels, std::string_view suffix) {
  text_.append(name_).append(suffix);
  if (!labels.empty()) {
    char before = '{';
    for (const auto& [label, text] : labels) {
      text_.append(1, before).append(label).append("=\"").append(escapedLabel(text)).append("\"");
      before = ',';
    }
    text_.append("}");
  }
  text_.append(" ").append(value).append("\n");
}

std::string joinExpositions(std::string first, std::string_view second) {
  if (first.ends_with(kEnd)) {
    first.resize(first.size() - kEnd.size());
  }
  return first.append(second);
}

}  // namespace ackbox::protocol
