#include "serve/traces/traces.hpp"

#include <algorithm>
#include <utility>

#include "serve/traces/span_exporter.hpp"
#include "serve/traces/span_recorder.hpp"

namespace ackbox::serve {
namespace {

// A quick shutdown is worth more than the last spans.
constexpr std::chrono::milliseconds kDrainMax{5'000};

}  // namespace

Traces Traces::open(const boost::asio::any_io_executor& executor, const Config& config) {
  Traces traces;
  if (config.traces.url.empty()) {
    traces.counts = std::make_shared<SpanCounts>();
    return traces;
  }
  TracesConfig named = config.traces;
  if (named.serviceName.empty()) {
    named.serviceName = config.outbox.agent.empty() ? "ackbox" : config.outbox.agent;
  }
  traces.exporter = std::make_shared<SpanExporter>(executor, named, config.sender, config.outbox.log);
  traces.counts = traces.exporter->counts();
  traces.hooks =
      std::make_shared<SpanRecorder>(traces.exporter, config.outbox.clock ? config.outbox.clock : systemClock(),
                                     config.outbox.random ? config.outbox.random : systemRandom());
  return traces;
}

void Traces::drain(std::chrono::milliseconds time) const {
  if (exporter) {
    exporter->drain(std::min(time, kDrainMax));
  }
}

}  // namespace ackbox::serve
