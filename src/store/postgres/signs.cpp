#include "store/postgres/signs.hpp"

#include <exception>

namespace ackbox::store::postgres {
namespace {

constexpr int kRest = 1'000;

}  // namespace

void Notifier::notify(const Connection& store) noexcept {
  if (rest_ > 0) {
    --rest_;
    return;
  }
  try {
    if (!connection_ || connection_->isLost()) {
      connection_.reset();
      connection_ = std::make_unique<Connection>(location_, store);
      // It writes nothing that could be lost.
      connection_->execute("SET synchronous_commit=off");
    }
    PGconn* const handle = connection_->handle();
    if (PQconsumeInput(handle) == 0 || PQisBusy(handle) != 0) {
      return;
    }
    while (PGresult* const ended = PQgetResult(handle)) {
      PQclear(ended);
    }
    PQsendQuery(handle, ("NOTIFY ackbox,'" + token_ + "'").c_str());
  } catch (const std::exception&) {
    connection_.reset();
    rest_ = kRest;
  }
}

NotifiedSigns::NotifiedSigns(const std::string& location, std::string token)
    : connection_(location), token_(std::move(token)) {
  connection_.execute("LISTEN ackbox");
}

int NotifiedSigns::descriptor() const noexcept {
  return PQsocket(connection_.handle());
}

store::Signs::Heard NotifiedSigns::take() noexcept {
  PGconn* const handle = connection_.handle();
  if (PQconsumeInput(handle) == 0) {
    return Heard::end;
  }
  bool isOthers = false;
  while (const std::unique_ptr<PGnotify, void (*)(void*)> sign{PQnotifies(handle), PQfreemem}) {
    isOthers = isOthers || sign->extra != token_;
  }
  return isOthers ? Heard::sign : Heard::nothing;
}

}  // namespace ackbox::store::postgres
