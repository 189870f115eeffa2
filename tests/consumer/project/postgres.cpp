// Goal: a program outside the project can use the component postgres, installed or as a subdirectory.
// Method: link what the component has, and name a server that is not there.

#include <ackbox/error.hpp>
#include <ackbox/outbox_manager.hpp>
#include <ackbox/postgres.hpp>
#include <iostream>

int main() {
  try {
    static_cast<void>(ackbox::OutboxManager::open(ackbox::PostgresLocation{"host=/nonexistent dbname=orders"}));
  } catch (const ackbox::Error& error) {
    std::cout << error.what() << '\n';
    return error.code() == ackbox::Errc::cannotOpen ? 0 : 1;
  }
  return 1;
}
