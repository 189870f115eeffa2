#include "ackbox/router.hpp"

#include <map>
#include <variant>

#include "ackbox/error.hpp"
#include "manager/facade/function_sender.hpp"
#include "manager/inbound/inbound_scope.hpp"

namespace ackbox {
namespace {

/// Handlers by pattern.
template <typename Handler>
class Patterns {
public:
  void set(std::string pattern, Handler handler) {
    if (pattern.empty() || !handler) {
      throw OptionError("pattern", "must be set, and its handler");
    }
    const std::size_t star = pattern.find('*');
    if (star != std::string::npos && star + 1 != pattern.size()) {
      throw OptionError("pattern", "'" + pattern + "' has a star that is not at its end");
    }
    if (star == std::string::npos) {
      exact_.insert_or_assign(std::move(pattern), std::move(handler));
    } else {
      pattern.pop_back();
      beginnings_.insert_or_assign(std::move(pattern), std::move(handler));
    }
  }

  [[nodiscard]] const Handler* find(std::string_view type) const {
    if (const auto found = exact_.find(type); found != exact_.end()) {
      return &found->second;
    }
    // The longest prefix first: the number of prefixes depends on the type's length, not on the number of patterns.
    for (std::size_t length = type.size() + 1; !beginnings_.empty() && length > 0; --length) {
      if (const auto found = beginnings_.find(type.substr(0, length - 1)); found != beginnings_.end()) {
        return &found->second;
      }
    }
    return nullptr;
  }

  [[nodiscard]] bool empty() const noexcept { return exact_.empty() && beginnings_.empty(); }

private:
  std::map<std::string, Handler, std::less<>> exact_;
  std::map<std::string, Handler, std::less<>> beginnings_;
};

using InboundEntry = std::variant<FrameHandler, DeferredHandler>;

/// An entry is empty if its handler is.
struct Entry {
  InboundEntry handler;
  explicit operator bool() const {
    return std::visit([](const auto& one) { return static_cast<bool>(one); }, handler);
  }
};

}  // namespace

struct Router::Table {
  Patterns<Entry> inbound;
  Patterns<LocalHandler> local;
  bool defers = false;
  std::function<HandlerResult(std::string_view)> unknown = [](std::string_view) {
    return HandlerResult::reject("no handler here takes frames of this type", "unknown-type");
  };
  std::function<HandlerResult(std::string_view, std::string_view)> undecodable = [](std::string_view,
                                                                                    std::string_view) {
    return HandlerResult::reject("the payload could not be read", "undecodable");
  };

  HandlerResult handle(const InboundFrame& frame, InboundTransaction& transaction) const {
    const Entry* const entry = inbound.find(frame.type);
    if (entry == nullptr) {
      return unknown(frame.type);
    }
    const auto* const handler = std::get_if<FrameHandler>(&entry->handler);
    if (handler == nullptr) {
      return HandlerResult::defer();
    }
    try {
      return (*handler)(frame, transaction);
    } catch (const Undecodable& problem) {
      return undecodable(frame.type, problem.what());
    }
  }

  void handleLater(DeferredFrame frame) const {
    const Entry* const entry = inbound.find(frame.frame().type);
    const auto* const handler = entry == nullptr ? nullptr : std::get_if<DeferredHandler>(&entry->handler);
    if (handler == nullptr) {
      // An earlier version of this program, with other handlers, deferred the frame.
      frame.commit([this, frame](InboundTransaction& transaction) { return handle(frame.frame(), transaction); });
      return;
    }
    try {
      (*handler)(frame);
    } catch (const Undecodable& problem) {
      frame.finish(undecodable(frame.frame().type, problem.what()));
    }
  }

  HandlerResult handleLocal(const OutboundFrame& frame) const {
    const LocalHandler* const handler = local.find(frame.type);
    if (handler == nullptr) {
      return unknown(frame.type);
    }
    try {
      return (*handler)(frame);
    } catch (const Undecodable& problem) {
      return undecodable(frame.type, problem.what());
    }
  }
};

Router::Router() : table_(std::make_unique<Table>()) {}
Router::Router(const Router& other) : table_(std::make_unique<Table>(*other.table_)) {}
Router::Router(Router&&) noexcept = default;
Router& Router::operator=(Router other) noexcept {
  table_ = std::move(other.table_);
  return *this;
}
Router::~Router() = default;

Router& Router::on(std::string pattern, FrameHandler handler) {
  table_->inbound.set(std::move(pattern), Entry{std::move(handler)});
  return *this;
}

Router& Router::onDeferred(std::string pattern, DeferredHandler handler) {
  table_->inbound.set(std::move(pattern), Entry{std::move(handler)});
  table_->defers = true;
  return *this;
}

Router& Router::onLocal(std::string pattern, LocalHandler handler) {
  table_->local.set(std::move(pattern), std::move(handler));
  return *this;
}

Router& Router::onUnknown(std::function<HandlerResult(std::string_view)> answer) {
  table_->unknown = std::move(answer);
  return *this;
}

Router& Router::onUndecodable(std::function<HandlerResult(std::string_view, std::string_view)> answer) {
  table_->undecodable = std::move(answer);
  return *this;
}

FrameHandler Router::frameHandler() const {
  return [table = std::make_shared<const Table>(*table_)](const InboundFrame& frame, InboundTransaction& transaction) {
    return table->handle(frame, transaction);
  };
}

DeferredHandler Router::deferredHandler() const {
  if (!table_->defers) {
    return {};
  }
  return
      [table = std::make_shared<const Table>(*table_)](DeferredFrame frame) { table->handleLater(std::move(frame)); };
}

std::shared_ptr<Sender> Router::sender() const {
  return manager::makeFrameSender([table = std::make_shared<const Table>(*table_)](const OutboundFrame& frame) {
    HandlerResult answer = table->handleLocal(frame);
    if (answer.outcome == Outcome::defer) {
      answer = HandlerResult::notNow("a local sink cannot defer");
    }
    return manager::toFrameResult(std::move(answer));
  });
}

}  // namespace ackbox
