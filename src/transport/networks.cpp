#include "transport/networks.hpp"

#include <algorithm>
#include <boost/asio/ip/address_v4.hpp>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>

#include "ackbox/error.hpp"

namespace ackbox::transport {

namespace ip = boost::asio::ip;

namespace {

constexpr unsigned kBits = 128;
constexpr unsigned kMappedBits = 96;

Network::Bytes bytesOf(const ip::address& address) {
  return (address.is_v4() ? ip::make_address_v6(ip::v4_mapped, address.to_v4()) : address.to_v6()).to_bytes();
}

/// The IPv4 address that stands in an IPv6 address from this byte on, in the mapped form.
Network::Bytes insideOf(const Network::Bytes& address, std::size_t place) {
  return bytesOf(
      ip::address_v4({address.at(place), address.at(place + 1), address.at(place + 2), address.at(place + 3)}));
}

bool isIpv4(const Network::Bytes& address) {
  return ip::address_v6(address).is_v4_mapped();
}

Network::Bytes withoutHost(Network::Bytes address, unsigned prefix) {
  for (std::size_t place = 0; place < address.size(); ++place) {
    const std::size_t kept = std::clamp<std::size_t>(prefix, place * 8, (place + 1) * 8) - place * 8;
    address.at(place) = static_cast<std::uint8_t>(address.at(place) & (0xff00U >> kept));
  }
  return address;
}

[[noreturn]] void refuseEntry(std::string_view entry, const std::string& why, const std::string& allowed = {}) {
  constexpr std::size_t kShownBytes = 100;
  throw OptionError("networks", "'" + std::string(entry.substr(0, kShownBytes)) + "' " + why, allowed);
}

Network parseNetwork(std::string_view entry) {
  const std::size_t slash = std::min(entry.find('/'), entry.size());
  const std::string_view host = entry.substr(0, slash);
  boost::system::error_code notNumeric;
  const ip::address address = ip::make_address(std::string(host), notNumeric);
  // `make_address` takes zones, and ignores what follows a zero byte.
  if (notNumeric || host.find_first_not_of("0123456789abcdefABCDEF.:") != std::string_view::npos) {
    refuseEntry(entry, "is no network; a name cannot be one",
                "networks such as 10.0.0.0/8 or 2001:db8::/32, addresses, public, loopback");
  }
  const unsigned most = address.is_v4() ? kBits - kMappedBits : kBits;
  unsigned prefix = most;
  if (slash < entry.size()) {
    const std::string_view digits = entry.substr(slash + 1);
    const char* const end = digits.data() + digits.size();
    const auto [stopped, error] = std::from_chars(digits.data(), end, prefix);
    if (error != std::errc() || stopped != end || prefix > most) {
      refuseEntry(entry, "has no prefix length from 0 to " + std::to_string(most) + " behind its slash");
    }
  }
  Network network{.first = bytesOf(address), .prefix = prefix + (kBits - most)};
  const Network::Bytes first = withoutHost(network.first, network.prefix);
  if (network.first != first) {
    const std::string begin = address.is_v4() ? ip::make_address_v4(ip::v4_mapped, ip::address_v6(first)).to_string()
                                              : ip::address_v6(first).to_string();
    refuseEntry(entry, "has bits behind its prefix; write " + begin + "/" + std::to_string(prefix));
  }
  return network;
}

std::vector<Network> parseNetworks(const std::vector<std::string_view>& entries) {
  std::vector<Network> networks;
  networks.reserve(entries.size());
  for (const std::string_view entry : entries) {
    networks.push_back(parseNetwork(entry));
  }
  return networks;
}

// The special addresses of the registries of IANA. All of IPv6 outside 2000::/3 is special.
bool isPublic(const Network::Bytes& address) {
  static const Network nat64 = parseNetwork("64:ff9b::/96");
  static const Network sixToFour = parseNetwork("2002::/16");
  static const std::vector<Network> global = parseNetworks({"0.0.0.0/0", "2000::/3"});
  static const std::vector<Network> special =
      parseNetworks({"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
                     "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",
                     "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3", "2001::/23", "2001:db8::/32", "3fff::/20"});
  const Network::Bytes judged = nat64.has(address)       ? insideOf(address, 12)
                                : sixToFour.has(address) ? insideOf(address, 2)
                                                         : address;
  const auto has = [&judged](const Network& network) { return network.has(judged); };
  return std::ranges::any_of(global, has) && std::ranges::none_of(special, has);
}

}  // namespace

bool Network::has(const Bytes& address) const {
  return isIpv4(address) == isIpv4(first) && withoutHost(address, prefix) == first;
}

Networks::Networks(const std::vector<std::string>& entries) {
  for (const std::string& entry : entries) {
    if (entry == "public") {
      hasPublic_ = true;
    } else if (entry == "loopback") {
      networks_.push_back(parseNetwork("127.0.0.0/8"));
      networks_.push_back(parseNetwork("::1"));
    } else {
      networks_.push_back(parseNetwork(entry));
    }
    text_.append(text_.empty() ? "" : ",").append(entry);
  }
}

bool Networks::permit(const ip::address& address) const {
  const Network::Bytes bytes = bytesOf(address);
  const auto has = [&bytes](const Network& network) { return network.has(bytes); };
  return text_.empty() || std::ranges::any_of(networks_, has) || (hasPublic_ && isPublic(bytes));
}

}  // namespace ackbox::transport
