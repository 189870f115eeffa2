// Goal: no URL crashes the parser, and what it takes for one names the same place when it is put together again.
// Method: the input is the URL.

#include <string>

#include "check.hpp"
#include "transport/url.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace ackbox::transport;
  const ParsedUrl parsed = parseUrl(ackbox::fuzz::textOf(bytes, size));
  ackbox::fuzz::require(parsed.url.has_value() == parsed.error.empty(), "a URL is neither taken nor refused");
  if (!parsed.url) {
    return 0;
  }
  const Url& url = *parsed.url;
  for (const char character : url.host + url.target) {
    ackbox::fuzz::require(static_cast<unsigned char>(character) > ' ', "a blank or control character gets through");
  }
  const ParsedUrl again = parseUrl((url.isEncrypted ? "https://" : "http://") + url.authority() + url.target);
  ackbox::fuzz::require(again.url && again.url->host == url.host && again.url->port == url.port &&
                            again.url->target == url.target && again.url->isEncrypted == url.isEncrypted,
                        "a URL changes when it is put together again");
  return 0;
}
