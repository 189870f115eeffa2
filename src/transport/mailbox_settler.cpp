#include "transport/mailbox_settler.hpp"

#include <boost/asio/post.hpp>
#include <chrono>
#include <iterator>
#include <utility>

#include "protocol/answer_text.hpp"
#include "protocol/mailbox.hpp"

namespace ackbox::transport {
namespace {

constexpr std::chrono::milliseconds kSettlePauseLeast{500};
constexpr std::chrono::milliseconds kSettlePauseMost{10'000};
// Below the hub's limit of one request.
constexpr std::size_t kSettleBytesMax = std::size_t{512} * 1024;

std::string problemIn(const HttpAnswer& answer) {
  if (answer.end != HttpEnd::answered) {
    return answer.error;
  }
  const std::string said = protocol::textOfAnswer(answer.contentType, answer.body);
  return "HTTP " + std::to_string(answer.status) + (said.empty() ? std::string() : ": " + said);
}

}  // namespace

MailboxSettler::MailboxSettler(const boost::asio::any_io_executor& executor, Means means)
    : executor_(executor),
      means_(std::move(means)),
      alarm_(means_.clock->makeAlarm(executor)),
      pause_(kSettlePauseLeast, kSettlePauseMost),
      batchMost_(protocol::kSettlementsMost) {}

void MailboxSettler::add(std::uint64_t stream, std::string settlement) {
  waiting_.push_back({stream, std::move(settlement)});
  go();
}

void MailboxSettler::setStream(std::uint64_t stream) {
  stream_ = stream;
  if (stream != 0) {
    std::erase_if(waiting_, [stream](const Entry& entry) { return entry.stream != stream; });
  }
}

void MailboxSettler::close() {
  isClosed_ = true;
  waiting_.clear();
  alarm_->cancel();
}

std::vector<MailboxSettler::Entry> MailboxSettler::takeBatch() {
  std::vector<Entry> batch;
  std::size_t bytes = 0;
  while (!waiting_.empty() && batch.size() < batchMost_ &&
         (batch.empty() || bytes + waiting_.front().text.size() <= kSettleBytesMax)) {
    bytes += waiting_.front().text.size();
    batch.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  return batch;
}

void MailboxSettler::go() {
  if (isBusy_ || isClosed_ || waiting_.empty()) {
    return;
  }
  isBusy_ = true;
  std::vector<Entry> batch = takeBatch();
  std::vector<std::string> texts;
  texts.reserve(batch.size());
  for (const Entry& entry : batch) {
    texts.push_back(entry.text);
  }
  std::string problem;
  std::optional<HttpPost> post = means_.makePost(protocol::settleBody(texts), problem);
  if (!post) {
    fail(std::move(batch), std::move(problem), false);
    return;
  }
  means_.poster->asyncPost(*std::move(post),
                           [weak = weak_from_this(), batch = std::move(batch)](const HttpAnswer& answer) mutable {
                             if (const auto self = weak.lock(); self && !self->isClosed_) {
                               self->onAnswer(std::move(batch), answer);
                             }
                           });
}

void MailboxSettler::onAnswer(std::vector<Entry>&& batch, const HttpAnswer& answer) {
  const bool isAccepted = answer.end == HttpEnd::answered && answer.status == 200;
  const std::optional<std::size_t> settled =
      isAccepted ? protocol::readSettleAnswer(answer.body, batch.size()) : std::nullopt;
  if (!settled) {
    const bool isOfBatch = answer.status == 400 || answer.status == 413 || answer.status == 422;
    fail(std::move(batch), problemIn(answer), isOfBatch);
    return;
  }
  pause_.begin();
  batchMost_ = waiting_.empty() ? protocol::kSettlementsMost : batchMost_;
  isBusy_ = false;
  means_.onSettled(*settled, batch.size());
  go();
}

void MailboxSettler::fail(std::vector<Entry>&& batch, std::string what, bool isOfBatch) {
  std::erase_if(batch, [this](const Entry& entry) { return entry.stream != stream_; });
  if (isOfBatch && batch.size() == 1) {
    // A hub of an earlier version refuses a member that it does not know.
    batch.front().text = protocol::withoutCode(batch.front().text).value_or(std::move(batch.front().text));
  }
  if (isOfBatch) {
    // One outcome that the hub does not accept must not hold the others back.
    batchMost_ = 1;
    waiting_.insert(waiting_.end(), std::make_move_iterator(batch.begin()), std::make_move_iterator(batch.end()));
  } else {
    waiting_.insert(waiting_.begin(), std::make_move_iterator(batch.begin()), std::make_move_iterator(batch.end()));
  }
  means_.onProblem(std::move(what));
  alarm_->set(means_.clock->steadyNow() + pause_.next(*means_.random), [weak = weak_from_this()] {
    if (const auto self = weak.lock(); self && !self->isClosed_) {
      self->isBusy_ = false;
      self->go();
    }
  });
}

}  // namespace ackbox::transport
