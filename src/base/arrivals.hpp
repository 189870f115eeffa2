#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "ackbox/inbound_request.hpp"

namespace ackbox {

/// Gathers the requests that arrive in one turn of a single-threaded executor. A lone request may take effect in that
/// thread; several go to the store's thread, where they share commits while the next ones are read.
///
/// Thread-safety: none, the executor's thread alone. Lifetime: the gathered requests belong to the posted work, and are
/// destroyed with it.
class Arrivals {
public:
  using Respond = std::function<void(InboundResponse)>;
  /// Must not throw. `isLone`: the request arrived alone.
  using Handle = std::function<void(InboundRequest&& request, Respond& respond, bool isLone)>;

  Arrivals(boost::asio::any_io_executor executor, Handle handle)
      : executor_(std::move(executor)), handle_(std::make_shared<const Handle>(std::move(handle))) {}

  void add(InboundRequest&& request, Respond&& respond) {
    std::shared_ptr<Requests> gathered = gathered_.lock();
    if (!gathered) {
      gathered = std::make_shared<Requests>();
      gathered_ = gathered;
      boost::asio::post(executor_, [handle = handle_, gathered] {
        const bool isLone = gathered->size() == 1;
        for (auto& [one, answer] : *gathered) {
          (*handle)(std::move(one), answer, isLone);
        }
      });
    }
    gathered->emplace_back(std::move(request), std::move(respond));
  }

private:
  using Requests = std::vector<std::pair<InboundRequest, Respond>>;

  const boost::asio::any_io_executor executor_;
  const std::shared_ptr<const Handle> handle_;
  std::weak_ptr<Requests> gathered_;
};

}  // namespace ackbox
