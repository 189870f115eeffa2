#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ackbox {

/// The form that errors of one cause share: `#` stands for each word with a digit, such as a number or an id. The
/// status in `HTTP 404` stays.
[[nodiscard]] std::string errorFingerprint(std::string_view error);

/// Whether errors have the form of an example; without an example, all have it.
class ErrorForm {
public:
  explicit ErrorForm(const std::optional<std::string>& example) {
    if (example) {
      form_ = errorFingerprint(*example);
    }
  }

  [[nodiscard]] bool fits(std::string_view error) const { return !form_ || errorFingerprint(error) == *form_; }

private:
  std::optional<std::string> form_;
};

}  // namespace ackbox
