// Goal: a limit to networks permits exactly the addresses that it names, in whatever form an address comes, and a
// malformed one is refused with a text that helps. Method: tables of entries and addresses.

#include "transport/networks.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "ackbox/error.hpp"

namespace ackbox::transport::networks_test {
namespace {

bool permits(const std::vector<std::string>& entries, const std::string& address) {
  return Networks(entries).permit(boost::asio::ip::make_address(address));
}

std::string refusal(const std::string& entry) {
  try {
    const Networks networks({entry});
  } catch (const OptionError& error) {
    CHECK(error.field() == "networks");
    return error.problem();
  }
  return {};
}

TEST_CASE("P11: public has no address of this machine, of a private network or of a special one, in any form") {
  for (const char* address :
       {"0.0.0.0",    "0.1.2.3",         "10.0.0.0",     "10.255.255.255",  "100.64.0.0",  "100.127.255.255",
        "127.0.0.1",  "127.255.255.255", "169.254.0.1",  "169.254.169.254", "172.16.0.0",  "172.31.255.255",
        "192.0.0.1",  "192.0.0.255",     "192.0.2.1",    "192.88.99.1",     "192.168.0.1", "192.168.255.255",
        "198.18.0.0", "198.19.255.255",  "198.51.100.1", "203.0.113.1",     "224.0.0.1",   "239.255.255.255",
        "240.0.0.1",  "255.255.255.255"}) {
    CAPTURE(address);
    CHECK_FALSE(permits({"public"}, address));
    CHECK_FALSE(permits({"public"}, "::ffff:" + std::string(address)));
    CHECK_FALSE(permits({"public"}, "64:ff9b::" + std::string(address)));
  }
  for (const char* address : {"::",
                              "::1",
                              "::7f00:1",
                              "::8.8.8.8",
                              "fe80::1",
                              "fe80::1%1",
                              "febf::1",
                              "fec0::1",
                              "fc00::1",
                              "fdff::1",
                              "ff02::1",
                              "100::1",
                              "64:ff9b:1::808:808",
                              "2001::1",
                              "2001:0:808:808::1",
                              "2001:2::1",
                              "2001:1ff::1",
                              "2001:db8::1",
                              "2001:db8:ffff::1",
                              "2002:a00:5::1",
                              "2002:7f00:1::",
                              "2002:c0a8:1::1",
                              "3fff::1",
                              "3fff:fff::1",
                              "4000::1",
                              "1fff::1",
                              "5f00::1"}) {
    CAPTURE(address);
    CHECK_FALSE(permits({"public"}, address));
  }
}

TEST_CASE("P11: public has the addresses beside the special ones, in any form") {
  for (const char* address :
       {"1.0.0.0",         "9.255.255.255", "11.0.0.0",        "100.63.255.255",  "100.128.0.0",
        "126.255.255.255", "128.0.0.0",     "169.253.255.255", "169.255.0.0",     "172.15.255.255",
        "172.32.0.0",      "192.0.1.0",     "192.0.3.0",       "192.167.255.255", "192.169.0.0",
        "198.17.255.255",  "198.20.0.0",    "198.51.99.255",   "203.0.114.0",     "223.255.255.255"}) {
    CAPTURE(address);
    CHECK(permits({"public"}, address));
    CHECK(permits({"public"}, "::ffff:" + std::string(address)));
    CHECK(permits({"public"}, "64:ff9b::" + std::string(address)));
  }
  for (const char* address : {"2000::1", "2001:200::1", "2001:db7::1", "2001:db9::1", "2002:808:808::1", "2003::1",
                              "2606:4700:4700::1111", "3ffe::1", "3fff:1000::1"}) {
    CAPTURE(address);
    CHECK(permits({"public"}, address));
  }
}

TEST_CASE("Loopback is this machine, by each of its own addresses, and nothing else") {
  for (const char* address : {"127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"}) {
    CAPTURE(address);
    CHECK(permits({"loopback"}, address));
  }
  for (const char* address : {"0.0.0.0", "::", "::2", "10.0.0.1", "8.8.8.8", "64:ff9b::127.0.0.1", "2002:7f00:1::"}) {
    CAPTURE(address);
    CHECK_FALSE(permits({"loopback"}, address));
  }
}

TEST_CASE("A network has the addresses with its prefix, to the bit, and an address only itself") {
  CHECK(permits({"10.0.0.0/8"}, "10.255.0.1"));
  CHECK_FALSE(permits({"10.0.0.0/8"}, "11.0.0.0"));
  CHECK(permits({"10.1.2.128/25"}, "10.1.2.128"));
  CHECK_FALSE(permits({"10.1.2.128/25"}, "10.1.2.127"));
  CHECK(permits({"10.1.2.3"}, "10.1.2.3"));
  CHECK_FALSE(permits({"10.1.2.3"}, "10.1.2.2"));
  CHECK(permits({"10.1.2.3/32"}, "10.1.2.3"));
  CHECK(permits({"0.0.0.0/0"}, "255.255.255.255"));
  CHECK(permits({"2001:db8::/33"}, "2001:db8:7fff::1"));
  CHECK_FALSE(permits({"2001:db8::/33"}, "2001:db8:8000::1"));
  CHECK(permits({"2001:DB8::9"}, "2001:db8::9"));
  CHECK_FALSE(permits({"2001:db8::9"}, "2001:db8::8"));
  // Several entries together; a peer without entries has no limit.
  CHECK(permits({"public", "10.0.0.0/8", "fd00::/8"}, "fd12::1"));
  CHECK(permits({"public", "10.0.0.0/8", "fd00::/8"}, "8.8.8.8"));
  CHECK_FALSE(permits({"public", "10.0.0.0/8", "fd00::/8"}, "192.168.0.1"));
  CHECK(permits({}, "127.0.0.1"));
}

TEST_CASE("P11: a mapped address is in the IPv4 networks of its address, and in no IPv6 network") {
  CHECK(permits({"10.0.0.0/8"}, "::ffff:10.0.0.5"));
  CHECK(permits({"::ffff:10.0.0.0/104"}, "10.0.0.5"));
  CHECK_FALSE(permits({"::/0"}, "::ffff:127.0.0.1"));
  CHECK_FALSE(permits({"::/0"}, "127.0.0.1"));
  CHECK_FALSE(permits({"0.0.0.0/0"}, "::1"));
}

TEST_CASE("P11: an entry that is malformed is refused with a text that says how") {
  CHECK(refusal("10.0.0.5/8") == "'10.0.0.5/8' has bits behind its prefix; write 10.0.0.0/8");
  CHECK(refusal("2001:db8::1/32") == "'2001:db8::1/32' has bits behind its prefix; write 2001:db8::/32");
  CHECK(refusal("10.0.0.0/33") == "'10.0.0.0/33' has no prefix length from 0 to 32 behind its slash");
  CHECK(refusal("fd00::/129") == "'fd00::/129' has no prefix length from 0 to 128 behind its slash");
  CHECK(refusal("db.example") == "'db.example' is no network; a name cannot be one");
  for (const char* entry : {"",
                            " ",
                            "/",
                            "/8",
                            "10.0.0.0/",
                            "10.0.0.0/ 8",
                            "10.0.0.0/8 ",
                            "10.0.0.0/+8",
                            "10.0.0.0/-1",
                            "10.0.0.0/8/8",
                            "10.0.0.0/4294967304",
                            "10",
                            "10.0/8",
                            "010.0.0.1",
                            "0x7f.0.0.1",
                            "[::1]",
                            "fe80::1%1",
                            "Public",
                            "public ",
                            "public/8",
                            "private",
                            "10.0.0.1:80",
                            "10.0.0.1,10.0.0.2"}) {
    CAPTURE(entry);
    CHECK_FALSE(refusal(entry).empty());
  }
  CHECK_FALSE(refusal(std::string("10.0.0.1\0x", 10)).empty());
  CHECK(refusal(std::string(5'000, 'a')).size() < 200);
}

}  // namespace
}  // namespace ackbox::transport::networks_test
