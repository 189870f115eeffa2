#include "simulation/mail_poster.hpp"

#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>

#include "serve/api/settlements.hpp"
#include "serve/inbox/frame_streams.hpp"

namespace ackbox::simulation {
namespace {

using std::chrono::milliseconds;
using transport::HttpAnswer;
using transport::HttpEnd;

HttpAnswer noAnswer(HttpEnd end, std::string error) {
  HttpAnswer answer;
  answer.end = end;
  answer.error = std::move(error);
  return answer;
}

// The form of `POST /v1/inbox/settle`.
HttpAnswer answerOf(const std::vector<std::string>& receipts, const std::vector<bool>& settled) {
  HttpAnswer answer;
  answer.end = HttpEnd::answered;
  answer.status = 200;
  answer.contentType = "application/json";
  for (std::size_t index = 0; index < receipts.size(); ++index) {
    answer.body += (index == 0 ? "{\"receipt\":\"" : ",{\"receipt\":\"") + receipts[index] + "\",\"status\":\"" +
                   (settled[index] ? "settled\"}" : "gone\"}");
  }
  answer.body = "{\"results\":[" + answer.body + "]}";
  return answer;
}

}  // namespace

MailPoster::MailPoster(testing::SimulatedProcess& process, Common& common, std::string box,
                       boost::asio::any_io_executor executor)
    : process_(process), common_(common), box_(std::move(box)), executor_(std::move(executor)) {}

void MailPoster::asyncPost(transport::HttpPost post, transport::HttpHandler handler) {
  const double lost = common_.healed ? 0 : common_.swarm.mailboxes.reportLost;
  const std::uint64_t number = ++lastCall_;
  Call& call = calls_[number];
  call.handler = std::move(handler);
  call.body = std::move(post.body);
  const bool isLost = drawChance(process_.random(), lost);
  call.isAnswerLost = drawChance(process_.random(), lost);
  call.alarm = process_.clock().makeAlarm(executor_);
  call.timeout = process_.clock().makeAlarm(executor_);
  const SteadyTime now = process_.clock().steadyNow();
  // Some are seen to be lost at once, others by the timeout alone.
  const auto seen = drawChance(process_.random(), 0.5) ? milliseconds(100) : post.timeout;
  if (isLost || call.isAnswerLost) {
    common_.reach.saw(Situation::reportLost);
  }
  call.timeout->set(now + (isLost || call.isAnswerLost ? seen : post.timeout), [weak = weak_from_this(), number] {
    if (const auto self = weak.lock()) {
      self->end(number, noAnswer(HttpEnd::connectionLost, "no answer"));
    }
  });
  if (!isLost) {
    call.alarm->set(now + milliseconds(drawBelow(process_.random(), kDelayMostMs)), [weak = weak_from_this(), number] {
      if (const auto self = weak.lock()) {
        self->arrive(number);
      }
    });
  }
}

void MailPoster::arrive(std::uint64_t number) {
  const auto call = calls_.find(number);
  const Hub::Streams* const hub = common_.hub.listening();
  if (call == calls_.end() || hub == nullptr || hub->streams.expired()) {
    end(number, noAnswer(HttpEnd::unavailable, "connection refused"));
    return;
  }
  auto settle = [weak = weak_from_this(), number, &hubOf = common_.hub, streams = hub->streams, box = box_,
                 settlements = serve::readSettlements(call->second.body)]() mutable {
    const auto open = streams.lock();
    if (!open) {
      return;
    }
    std::vector<std::string> receipts;
    for (const serve::Settlement& one : settlements) {
      receipts.push_back(one.receipt);
      if (one.result && one.result->outcome == Outcome::ack) {
        hubOf.reported(one.receipt);
      }
    }
    const auto done = [weak, number, receipts = std::move(receipts)](const std::vector<bool>& settled) {
      if (const auto self = weak.lock()) {
        self->answered(number, receipts, settled);
      }
    };
    open->settle(std::move(settlements), done, Hub::uriOf(box));
  };
  boost::asio::post(hub->process->executor(), std::move(settle));
}

// Called in the hub's process.
void MailPoster::answered(std::uint64_t number, const std::vector<std::string>& receipts,
                          const std::vector<bool>& settled) {
  const auto call = calls_.find(number);
  if (call != calls_.end() && !call->second.isAnswerLost) {
    call->second.alarm->set(process_.clock().steadyNow() + milliseconds(drawBelow(process_.random(), kDelayMostMs)),
                            [weak = weak_from_this(), number, answer = answerOf(receipts, settled)] {
                              if (const auto self = weak.lock()) {
                                self->end(number, answer);
                              }
                            });
  }
}

void MailPoster::end(std::uint64_t number, transport::HttpAnswer answer) {
  if (const auto call = calls_.extract(number); !call.empty()) {
    call.mapped().handler(std::move(answer));
  }
}

}  // namespace ackbox::simulation
