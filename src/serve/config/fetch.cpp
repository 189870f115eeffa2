#include "serve/config/fetch.hpp"

#include <utility>

#include "serve/config/checks.hpp"
#include "transport/option_rows.hpp"

namespace ackbox::serve {

void readFetch(Section& section, const TlsClientOptions& tls, const std::string& agent, std::vector<FetchRule>& rules) {
  section.objects("fetch", [&](Section& inner) {
    FetchRule rule;
    rule.options.agent = agent;
    rule.options.tls = tls;
    inner.text({"url", "of the hub's API, such as https://hub.example.com:7070"}, rule.options.url);
    inner.flag({"allow_plain_http", "whether url may be http:// to another machine"}, rule.options.allowPlainHttp);
    inner.path({"token_file", "the hub's token of this agent"}, rule.tokenFile);
    inner.text({"agent", "whose mailbox it is; without it that of agent; empty: the hub's own inbox"},
               rule.options.agent);
    inner.option(transport::mailboxOptionRows(), "window", rule.options);
    if (!rule.tokenFile.empty()) {
      rule.options.token = SecretSource::file(rule.tokenFile);
    }
    checkFetch(inner, rule);
    rules.push_back(std::move(rule));
  });
}

}  // namespace ackbox::serve
