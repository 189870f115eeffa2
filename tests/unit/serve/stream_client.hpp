#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "transport/answer_stream.hpp"

namespace ackbox::testing {

/// A connection in the test's hands.
class Client final : public transport::AnswerStream {
public:
  void open(InboundResponse head, transport::AnswerWatcher itsWatcher) override {
    status = head.status;
    watcher = std::move(itsWatcher);
  }
  void send(std::string_view bytes) override {
    text += bytes;
    waiting += reads ? 0 : bytes.size();
  }
  [[nodiscard]] std::size_t unread() const noexcept override { return waiting; }
  void finish() override { isFinished = true; }
  void cut() override { isCut = true; }

  [[nodiscard]] std::size_t count(const std::string& part) const {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
      ++found;
    }
    return found;
  }

  int status = 0;
  transport::AnswerWatcher watcher;
  std::string text;
  bool reads = true;
  std::size_t waiting = 0;
  bool isFinished = false;
  bool isCut = false;
};

}  // namespace ackbox::testing
