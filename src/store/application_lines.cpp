#include "store/application_lines.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "base/pattern.hpp"

namespace ackbox::store {
namespace {

// Stands for the mailboxes that have no application of their own.
constexpr std::string_view kAnyMailbox = "*";

// Replaces control characters, because they separate lines and parts.
std::string plain(std::string_view text) {
  std::string kept(text);
  std::ranges::replace_if(
      kept, [](char letter) { return static_cast<unsigned char>(letter) < ' '; }, ' ');
  return kept;
}

std::string millisecondsText(WallTime instant) {
  return std::to_string(instant.time_since_epoch().count());
}

/// Takes the text up to the next tab, and removes the tab too.
std::string_view takePart(std::string_view& line) {
  const std::string_view part = line.substr(0, line.find('\t'));
  line.remove_prefix(std::min(line.size(), part.size() + 1));
  return part;
}

template <class Number>
std::optional<Number> takeNumber(std::string_view& line) {
  const std::string_view part = takePart(line);
  Number number{};
  const char* const end = part.data() + part.size();
  const auto [stop, error] = std::from_chars(part.data(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

std::optional<Application> readLine(std::string_view line) {
  const auto parts = std::ranges::count(line, '\t') + 1;
  Application application;
  application.mailbox = takePart(line);
  application.types = takePart(line);
  const auto awaySince = takeNumber<std::int64_t>(line);
  if (parts < 4 || !awaySince) {
    return std::nullopt;
  }
  if (*awaySince != 0) {
    application.awaySince = WallTime(std::chrono::milliseconds(*awaySince));
  }
  application.cause = takePart(line);
  const auto frames = takeNumber<std::uint64_t>(line);
  const auto silentSince = takeNumber<std::int64_t>(line);
  if (frames && silentSince) {
    const WallTime since(std::chrono::milliseconds{*silentSince});
    application.silent = {.name = std::string(line), .frames = *frames, .since = since};
  }
  return application;
}

}  // namespace

std::string applicationLines(std::span<const Application> applications) {
  std::string lines;
  for (const Application& one : applications) {
    lines += plain(one.mailbox) + '\t' + plain(one.types) + '\t' +
             millisecondsText(one.awaySince.value_or(WallTime{})) + '\t' + plain(one.cause);
    if (one.silent) {
      lines += '\t' + std::to_string(one.silent->frames) + '\t' + millisecondsText(one.silent->since) + '\t' +
               plain(one.silent->name);
    }
    lines += '\n';
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

const Application* applicationOf(std::span<const Application> applications, std::string_view mailbox,
                                 std::string_view type) {
  const auto first = std::lower_bound(applications.begin(), applications.end(), mailbox,
                                      [](const Application& one, std::string_view name) { return one.mailbox < name; });
  const auto found = std::find_if(first, applications.end(), [&](const Application& one) {
    return one.mailbox != mailbox || fitsPattern(one.types, type);
  });
  if (found != applications.end() && found->mailbox == mailbox) {
    return &*found;
  }
  return mailbox.empty() || mailbox == kAnyMailbox ? nullptr : applicationOf(applications, kAnyMailbox, type);
}

const Application* awayFrom(std::span<const Application> applications, std::string_view mailbox,
                            std::string_view type) {
  const Application* const found = applicationOf(applications, mailbox, type);
  return found != nullptr && found->awaySince ? found : nullptr;
}

void noteAway(std::span<const Application> applications, InboxInfo& info) {
  const bool mayWait = info.state == InboxState::waiting || info.state == InboxState::running;
  if (const Application* const away = mayWait ? awayFrom(applications, info.mailbox, info.type) : nullptr) {
    info.state = InboxState::unattended;
    info.waitsFor = away->cause;
  }
}

}  // namespace ackbox::store
