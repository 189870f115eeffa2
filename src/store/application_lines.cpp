#include "store/application_lines.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "base/pattern.hpp"

namespace ackbox::store {
namespace {

// Lines and their parts are kept apart by control characters.
std::string plain(std::string_view text) {
  std::string kept(text);
  std::ranges::replace_if(
      kept, [](char letter) { return static_cast<unsigned char>(letter) < ' '; }, ' ');
  return kept;
}

std::optional<Application> readLine(std::string_view line) {
  const std::size_t first = line.find('\t');
  const std::size_t second = first == std::string_view::npos ? first : line.find('\t', first + 1);
  if (second == std::string_view::npos) {
    return std::nullopt;
  }
  std::int64_t since = 0;
  const char* const end = line.data() + second;
  const auto [stop, error] = std::from_chars(line.data() + first + 1, end, since);
  if (error != std::errc() || stop != end) {
    return std::nullopt;
  }
  Application application;
  application.types = line.substr(0, first);
  if (since != 0) {
    application.awaySince = WallTime(std::chrono::milliseconds(since));
  }
  application.cause = line.substr(second + 1);
  return application;
}

}  // namespace

std::string applicationLines(std::span<const Application> applications) {
  std::string lines;
  for (const Application& one : applications) {
    const auto since = one.awaySince.value_or(WallTime{}).time_since_epoch();
    lines += plain(one.types) + '\t' +
             std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(since).count()) + '\t' +
             plain(one.cause) + '\n';
  }
  return lines;
}

std::vector<Application> readApplicationLines(std::string_view lines) {
  std::vector<Application> applications;
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    std::optional<Application> application =
        end == std::string_view::npos ? std::nullopt : readLine(lines.substr(0, end));
    if (!application) {
      break;
    }
    applications.push_back(*std::move(application));
    lines.remove_prefix(end + 1);
  }
  return applications;
}

const Application* applicationOf(std::span<const Application> applications, std::string_view type) {
  const auto found =
      std::ranges::find_if(applications, [type](const Application& one) { return fitsPattern(one.types, type); });
  return found == applications.end() ? nullptr : &*found;
}

}  // namespace ackbox::store
