// Goal: the oracle of the shared outbox detects every forbidden event. Method: lines written by hand.

#include <doctest/doctest.h>

#include <initializer_list>
#include <string>

#include "shared_ledger.hpp"

namespace {

crash::SharedAccount accountOf(std::initializer_list<std::string> lines) {
  crash::SharedAccount account;
  for (const std::string& line : lines) {
    account.take(line);
  }
  return account;
}

}  // namespace

TEST_CASE("effects in order, by whoever it is, are clean") {
  const auto account = accountOf({"B w0.1 s 1", "E w0.1 s 1", "S w0.1 a", "B w1.1 s 2", "E w1.1 s 2", "S w1.1 b"});
  CHECK(account.effects == 2);
  CHECK(account.repeated + account.reordered + account.overlaps + account.settledTwice + account.late == 0);
  CHECK(account.workers.size() == 2);
}

TEST_CASE("a claim of what a living process has is an overlap; of what a killed one had it is none") {
  CHECK(accountOf({"B w0.1 s 1", "B w1.1 s 1"}).overlaps == 1);
  const auto killed = accountOf({"B w0.1 s 1", "K w0.1 -", "B w1.1 s 1"});
  CHECK(killed.overlaps == 0);
  CHECK(killed.repeated == 1);
  CHECK(accountOf({"K w0.1 -", "B w0.2 s 1", "B w1.1 s 1"}).overlaps == 1);
}

TEST_CASE("an effect that goes back, or ahead, is out of order") {
  CHECK(accountOf({"B w0.1 s 1", "E w0.1 s 1", "B w0.1 s 3", "E w0.1 s 3"}).reordered == 1);
  CHECK(accountOf({"B w0.1 s 1", "E w0.1 s 1", "B w0.1 s 2", "E w0.1 s 2", "B w1.1 s 1"}).reordered == 1);
}

TEST_CASE("a batch may begin anew when its life was killed, from anywhere in it, but not from before it") {
  const std::string batch[] = {"B w0.1 s 1", "E w0.1 s 1", "B w0.1 s 2", "B w0.1 s 3", "E w0.1 s 2", "E w0.1 s 3"};
  const auto then = [&](std::initializer_list<std::string> lines) {
    crash::SharedAccount account;
    for (const std::string& line : batch) {
      account.take(line);
    }
    for (const std::string& line : lines) {
      account.take(line);
    }
    return account;
  };
  const auto whole = then({"K w0.1 -", "B w1.1 s 2", "B w1.1 s 3", "B w1.1 s 4"});
  CHECK(whole.reordered == 0);
  CHECK(whole.repeated == 2);
  CHECK(then({"K w0.1 -", "B w1.1 s 4"}).reordered == 0);
  CHECK(then({"K w0.1 -", "B w1.1 s 1"}).reordered == 1);
  CHECK(then({"B w1.1 s 2"}).reordered == 1);
  CHECK(then({"K w0.1 -", "B w1.1 s 2", "B w1.1 s 2"}).reordered == 1);
}

TEST_CASE("a message that is settled twice shows, and so does a settle that came too late") {
  CHECK(accountOf({"S w0.1 a", "S w1.1 a"}).settledTwice == 1);
  CHECK(accountOf({"L w0.1 a"}).late == 1);
}
