// For those that watch the process: `GET /healthz`, `/readyz`, `/metrics`.

#include <utility>

#include "ackbox/metrics.hpp"
#include "protocol/wire.hpp"
#include "serve/api/operations.hpp"
#include "serve/api/service.hpp"
#include "serve/http/answer.hpp"

namespace ackbox::serve {

// Of the process alone: one that answers is not to be killed because its disk is full.
void isAlive(Service& /*service*/, Request&& request, Respond respond) {
  request.query.finish();
  std::move(respond)(textAnswer(200, "ok\n"));
}

void isReady(Service& service, Request&& request, Respond respond) {
  request.query.finish();
  if (service.isDraining()) {
    respond(protocol::unavailable(false, "The server is being stopped."));
    return;
  }
  service.workers().answer(
      [&service] {
        // Throws where the file cannot be read, or was replaced.
        static_cast<void>(service.manager().getStats());
        return textAnswer(200, "ready\n");
      },
      std::move(respond));
}

void showMetrics(Service& service, Request&& request, Respond respond) {
  request.query.finish();
  service.workers().answer(
      [&service] { return textAnswer(200, prometheusText(service.manager()), kPrometheusContentType); },
      std::move(respond));
}

}  // namespace ackbox::serve
