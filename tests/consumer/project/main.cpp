// Goal: a program outside the project can use ackbox the way its users do, installed or as a subdirectory.
// Method: include the main header, link, call something that is compiled into the library.

#include <ackbox/options.hpp>
#include <ackbox/outbox_manager.hpp>
#include <ackbox/version.hpp>
#include <iostream>

int main() {
  ackbox::validate(ackbox::OutboxOptions{});
  std::cout << "ackbox " << ackbox::kVersion << '\n';
}
