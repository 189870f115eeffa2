#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ackbox/metrics.hpp"

namespace ackbox::protocol {

/// Writes metric families one after the other, in the format of Prometheus or OpenMetrics.
class Exposition {
public:
  /// `info`: one series of the value 1 that carries information in its labels; its name ends with `_info`.
  enum class Type : std::uint8_t { counter, gauge, summary, info };
  using Label = std::pair<std::string_view, std::string_view>;
  using Labels = std::vector<Label>;

  explicit Exposition(MetricsFormat format) : format_(format) {}

  /// Begins a family. A counter's name ends with `_total`.
  void family(std::string_view name, Type type, std::string_view help);
  /// Adds a series to the current family. `suffix`: `_sum` or `_count` of a summary.
  void sample(std::uint64_t value, const Labels& labels = {}, std::string_view suffix = {});
  void sample(double value, const Labels& labels = {}, std::string_view suffix = {});
  /// Writes a family of one series.
  template <typename Number>
  void single(std::string_view name, Type type, std::string_view help, Number value) {
    family(name, type, help);
    sample(value);
  }

  /// Returns the text, with the end marker of OpenMetrics.
  [[nodiscard]] std::string take();

private:
  void line(const std::string& value, const Labels& labels, std::string_view suffix);

  const MetricsFormat format_;
  std::string name_;
  std::string text_;
};

/// Joins `first` and `second` to one text, without the end marker of `first`.
[[nodiscard]] std::string joinExpositions(std::string first, std::string_view second);

}  // namespace ackbox::protocol
