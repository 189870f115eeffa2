#pragma once

#include <cstddef>

namespace ackbox::testing {

/// While it lives, a connection is accepted only while this process has fewer than so many descriptors open; `accept`
/// fails with `EMFILE` otherwise. Everything else goes on: a sanitizer that has no descriptor left takes sound objects
/// for broken ones. Whoever links descriptor_limit.cpp has its `accept` replaced. One at a time.
class DescriptorLimit {
public:
  explicit DescriptorLimit(std::size_t count);
  ~DescriptorLimit();
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;

  /// How often a connection was not accepted.
  [[nodiscard]] std::size_t failures() const;
};

/// How many descriptors this process has open.
[[nodiscard]] std::size_t openDescriptors();

}  // namespace ackbox::testing
