#pragma once

// The templates of `Engine` that its sources share.

#include <boost/asio/post.hpp>
#include <exception>
#include <utility>

#include "manager/run/engine.hpp"

namespace ackbox::manager {

template <typename Work>
void Engine::guarded(Work&& work) noexcept {
  try {
    work();
  } catch (...) {
    breakOff(std::current_exception());
  }
}

template <typename Event>
void Engine::on(Event&& event) noexcept {
  if (!core_) {
    return;
  }
  guarded([&] {
    delivery::RunActions actions;
    event(now(), actions);
    perform(std::move(actions));
  });
}

template <typename Work>
void Engine::post(Work work) {
  boost::asio::post(
      strand_, [self = shared_from_this(), call = std::move(work)]() mutable { self->guarded([&call] { call(); }); });
}

}  // namespace ackbox::manager
