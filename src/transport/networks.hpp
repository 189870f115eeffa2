#pragma once

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/address_v6.hpp>
#include <string>
#include <vector>

namespace ackbox::transport {

/// The addresses with one prefix. An IPv4 address is kept in its mapped form (::ffff:0:0/96).
struct Network {
  using Bytes = boost::asio::ip::address_v6::bytes_type;

  /// The bits behind the prefix are 0.
  Bytes first{};
  unsigned prefix = 0;

  /// An IPv6 network such as ::/0 has no mapped address: connecting to one uses IPv4.
  [[nodiscard]] bool has(const Bytes& address) const;
};

/// The networks that connections may lead to. `PeerOptions::networks` describes the entries.
///
/// Thread-safety: immutable.
class Networks {
public:
  /// Throws `OptionError` with the field `networks` for a malformed entry.
  explicit Networks(const std::vector<std::string>& entries);

  /// Whether an entry has the address; true without entries.
  [[nodiscard]] bool permit(const boost::asio::ip::address& address) const;

  /// All entries; objects with equal texts permit the same addresses.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

private:
  std::vector<Network> networks_;
  bool hasPublic_ = false;
  std::string text_;
};

}  // namespace ackbox::transport
