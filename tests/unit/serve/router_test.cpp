// Goal: a path leads to one operation or to none, whatever is written in its names; a parameter that is misspelt, of
// the wrong kind or there twice is refused. Method: tables of two or three operations, and texts.

#include "serve/http/router.hpp"

#include <doctest/doctest.h>

#include <array>

#include "serve/http/query.hpp"

namespace ackbox::serve::router_test {
namespace {

constexpr std::array kTable = std::to_array<Operation>({
    {"GET", "/v1/messages", {}, 0, nullptr},
    {"POST", "/v1/messages", {}, 0, nullptr},
    {"GET", "/v1/messages/{id}", {}, 0, nullptr},
    {"POST", "/v1/peers/{peer}:pause", {}, 0, nullptr},
    {"POST", "/v1/sessions/{peer}/{session}:pause", {}, 0, nullptr},
});

std::string_view pathOf(const Route& route) {
  return route.operation == nullptr ? "none" : route.operation->path;
}

using Values = std::vector<std::string>;

}  // namespace

TEST_CASE("A path and a method lead to an operation") {
  CHECK(findRoute(kTable, "POST", "/v1/messages").operation == &kTable[1]);
  const Route one = findRoute(kTable, "GET", "/v1/messages/a-1");
  CHECK(pathOf(one) == "/v1/messages/{id}");
  CHECK(one.path == Values{"a-1"});
  const Route session = findRoute(kTable, "POST", "/v1/sessions/bob/orders:pause");
  CHECK(pathOf(session) == "/v1/sessions/{peer}/{session}:pause");
  CHECK(session.path == Values{"bob", "orders"});
}

TEST_CASE("Names are decoded: a slash or a colon in them is written so that it is none of the path's") {
  CHECK(findRoute(kTable, "POST", "/v1/peers/a%3Ab%2Fc:pause").path == Values{"a:b/c"});
  CHECK(pathOf(findRoute(kTable, "POST", "/v1/peers/a:b:pause")) == "none");
  CHECK(pathOf(findRoute(kTable, "POST", "/v1/peers/a%zz:pause")) == "none");
  CHECK(pathOf(findRoute(kTable, "POST", "/v1/peers/a%3:pause")) == "none");
}

TEST_CASE("Other paths lead nowhere, and other methods say which there are") {
  for (const char* path : {"/", "", "/v1", "/v1/messages/", "/v1/messages/a/b", "/v1/peers/:pause", "/v1/peers/bob",
                           "//v1/messages", "/v1/MESSAGES", "/v1/peers/bob:pause:pause"}) {
    const Route route = findRoute(kTable, "POST", path);
    CHECK_MESSAGE(pathOf(route) == "none", path);
    CHECK_MESSAGE((route.allowed.empty() || std::string_view(path) == "/v1/messages/a/b"), path);
  }
  CHECK(findRoute(kTable, "PUT", "/v1/messages").allowed == "GET, POST");
  CHECK(findRoute(kTable, "", "/v1/peers/bob:pause").allowed == "POST");
}

TEST_CASE("Parameters are decoded and taken by name") {
  Query query = Query::parse("peer=a%26b+c&limit=7&wait=2s&all&quiet=false").value();
  CHECK(query.text("peer") == "a&b c");
  CHECK(query.count("limit", 10) == 7);
  CHECK(query.duration("wait") == std::chrono::seconds(2));
  CHECK(query.flag("all"));
  CHECK_FALSE(query.flag("quiet"));
  CHECK_FALSE(query.flag("absent"));
  CHECK_FALSE(query.text("absent").has_value());
  CHECK_NOTHROW(query.finish());
}

TEST_CASE("Parameters that are wrong or unknown are refused") {
  CHECK_FALSE(Query::parse("a=1&a=2").has_value());
  CHECK_FALSE(Query::parse("a=%4").has_value());
  for (const char* text : {"limit=11", "limit=-1", "limit=", "limit=1x", "limit=99999999999999999999"}) {
    Query query = Query::parse(text).value();
    CHECK_THROWS_AS(static_cast<void>(query.count("limit", 10)), InvalidRequest);
  }
  Query query = Query::parse("wait=soon&all=yes&peeer=bob").value();
  CHECK_THROWS_AS(static_cast<void>(query.duration("wait")), InvalidRequest);
  CHECK_THROWS_AS(static_cast<void>(query.flag("all")), InvalidRequest);
  CHECK_THROWS_WITH_AS(query.finish(), "this operation has no parameter 'peeer'", InvalidRequest);
}

}  // namespace ackbox::serve::router_test
