#pragma once

#include <span>

#include "ackbox/http_sender.hpp"
#include "ackbox/inbound_server.hpp"
#include "ackbox/mailbox_fetcher.hpp"
#include "base/option.hpp"

namespace ackbox::transport {

/// The numbers among the options, each with its range.
[[nodiscard]] std::span<const Option<InboundServerOptions>> serverOptionRows();
[[nodiscard]] std::span<const Option<HttpSenderOptions>> senderOptionRows();
[[nodiscard]] std::span<const Option<MailboxFetcherOptions>> mailboxOptionRows();

}  // namespace ackbox::transport
