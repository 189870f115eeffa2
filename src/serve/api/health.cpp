// For supervisors and monitoring of the process: `GET /healthz`, `/readyz`, `/metrics`.

#include <string>
#include <system_error>
#include <utility>

#include "ackbox/error.hpp"
#include "ackbox/metrics.hpp"
#include "protocol/exposition.hpp"
#include "protocol/wire.hpp"
#include "serve/api/operations.hpp"
#include "serve/api/service.hpp"
#include "serve/http/answer.hpp"

namespace ackbox::serve {

// Reports on the process alone: a process that answers is not to be killed because its disk is full.
void isAlive(Service& /*service*/, Request&& request, Respond&& respond) {
  request.query.finish();
  std::move(respond)(textAnswer(200, "ok\n"));
}

void isReady(Service& service, Request&& request, Respond&& respond) {
  request.query.finish();
  if (service.isDraining()) {
    respond(protocol::unavailable(false, "The server is being stopped."));
    return;
  }
  service.workers().answer(
      request.sharer(),
      [&service] {
        try {
          if (!service.isOfDatabase()) {
            // In a database, a lock could keep this waiting, and the delivery reads it many times a second.
            static_cast<void>(service.manager().getStats());
          }
          if (!service.runWatch().isWell()) {
            return protocol::unavailable(false, "The delivery has ended by itself; it begins again in a moment.");
          }
          if (const std::string trouble = service.manager().fileTrouble(); !trouble.empty()) {
            return protocol::unavailable(false, trouble);
          }
          if (const std::string problem = service.writeHealth().problem(); !problem.empty()) {
            return protocol::unavailable(false, problem);
          }
        } catch (const Error& error) {
          return protocol::unavailable(false, error.what());
        }
        return textAnswer(200, "ready\n");
      },
      std::move(respond));
}

void showMetrics(Service& service, Request&& request, Respond&& respond) {
  request.query.finish();
  const bool isOpenMetrics = request.accept.find("application/openmetrics-text") != std::string::npos;
  const MetricsFormat format = isOpenMetrics ? MetricsFormat::openMetrics : MetricsFormat::prometheus;
  service.workers().answer(
      request.sharer(),
      [&service, format, waits = service.frameWaits()] {
        protocol::Exposition own(format);
        service.ownFigures().write(own, service.reader().peerStats(), waits, service.reader().unattendedFrames(),
                                   systemClock()->wallNow());
        service.secretWatch().write(own);
        Fetchers::write(service.fetchers(), own);
        return textAnswer(200, protocol::joinExpositions(prometheusText(service.manager(), format), own.take()),
                          format == MetricsFormat::openMetrics ? kOpenMetricsContentType : kPrometheusContentType);
      },
      std::move(respond));
}

}  // namespace ackbox::serve
