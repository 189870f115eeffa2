#include "serve/config/own_headers.hpp"

#include <filesystem>
#include <string>
#include <utility>

#include "serve/config/checks.hpp"
#include "transport/url.hpp"

namespace ackbox::serve {
namespace {

void checkTokenUrl(Section& section, const std::string& text) {
  const transport::ParsedUrl parsed = transport::parseUrl(text);
  if (!parsed.url) {
    section.problem("token_url", text.empty() ? std::string("must be set") : parsed.error);
  } else if (!parsed.url->isEncrypted && !parsed.url->isLoopback()) {
    section.problem("token_url", "must be https:// beyond this machine");
  }
}

void readOauth(Section& section, std::shared_ptr<OauthTokens>& tokens) {
  section.object("oauth", [&](Section& inner) {
    OauthRule rule;
    std::filesystem::path file;
    inner.text({"token_url", "where the token server gives tokens: https://, or http:// to this machine"},
               rule.tokenUrl);
    inner.text({"client_id", "of this agent at the token server"}, rule.clientId);
    inner.path({"client_secret_file", "the secret that belongs to client_id"}, file);
    inner.filled({"scope", "what the token is for, as the token server names it; without it the server decides"},
                 rule.scope);
    inner.filled({"audience", "the receiver that the token is for, where the token server asks for it"}, rule.audience);
    checkTokenUrl(inner, rule.tokenUrl);
    if (rule.clientId.empty()) {
      inner.problem("client_id", "must be set");
    }
    if (!inner.has("client_secret_file")) {
      inner.problem("client_secret_file", "must be set");
    }
    if (file.empty()) {
      return;
    }
    rule.clientSecret = SecretSource::file(file);
    if (inner.reading().looksAtFiles) {
      checkHeaders(inner, "client_secret_file", file, SecretSource::bearer(rule.clientSecret));
    }
    if (!rule.clientId.empty() && transport::parseUrl(rule.tokenUrl).url) {
      tokens = std::make_shared<OauthTokens>(std::move(rule));
    }
  });
}

}  // namespace

void readOwnHeaders(Section& section, SecretSource& headers, std::shared_ptr<OauthTokens>& tokens) {
  std::filesystem::path file;
  std::filesystem::path token;
  section.path({"headers_file", "headers that are added to each request, a line each, such as X-API-Key: KEY"}, file);
  section.path({"bearer_token_file", "the token of the header Authorization: Bearer, instead of headers_file"}, token);
  readOauth(section, tokens);
  if (section.has("oauth") && !(file.empty() && token.empty())) {
    section.problem("oauth", "cannot be set beside headers_file or bearer_token_file");
    return;
  }
  if (!file.empty() && !token.empty()) {
    section.problem("headers_file",
                    "and bearer_token_file cannot both be set; write the token as a line of the former");
    return;
  }
  if (file.empty() && token.empty()) {
    return;
  }
  const std::filesystem::path& named = file.empty() ? token : file;
  const SecretSource source = file.empty() ? SecretSource::bearer(SecretSource::file(token)) : SecretSource::file(file);
  if (!section.reading().looksAtFiles ||
      checkHeaders(section, file.empty() ? "bearer_token_file" : "headers_file", named, source)) {
    headers = source;
  }
}

}  // namespace ackbox::serve
