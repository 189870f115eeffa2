// Goal: a mistake in a configuration is named with its line and field, before anything is made, and nothing unsafe
// begins to listen. Method: texts and the files that they name in, problems out.

#include "serve/config/config.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "integration/test_certificates.hpp"
#include "serve/config/checks.hpp"
#include "serve/config/connections.hpp"
#include "serve/config/regular_file.hpp"
#include "serve/http/host.hpp"
#include "serve/http/places.hpp"
#include "support/temp_dir.hpp"
#include "transport/listener.hpp"
#include "unit/serve/serve_stage.hpp"

namespace ackbox::serve::config_test {
namespace {

using Overrides = std::vector<ConfigOverride>;

/// The problems of a text, as they are printed.
std::vector<std::string> problemsOf(const std::string& text, const Overrides& overrides = {}) {
  std::vector<ConfigProblem> problems;
  static_cast<void>(readConfig(text, overrides, problems));
  std::vector<std::string> printed;
  for (const ConfigProblem& problem : problems) {
    printed.push_back(describe(problem, "f"));
  }
  return printed;
}

Config read(const std::string& text, const Overrides& overrides = {}) {
  std::vector<ConfigProblem> problems;
  Config config = readConfig(text, overrides, problems);
  for (const ConfigProblem& problem : problems) {
    FAIL(describe(problem, "f"));
  }
  return config;
}

using Lines = std::vector<std::string>;
using testing::TempDir;
using testing::TestAuthority;
using testing::writePrivateFile;

const std::string kToken = "0123456789abcdef01234567";
const std::string kSecret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
// Verifies, and signs nothing.
const std::string kPublic = "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";

std::string inQuotes(const std::filesystem::path& path) {
  return "\"" + path.string() + "\"";
}

/// A folder with what a configuration may name.
struct Files {
  Files() {
    writePrivateFile(tokens, "ops read " + kToken + "\n");
    writePrivateFile(secrets, kSecret + "\n");
    writePrivateFile(publics, kPublic + "\n");
    writePrivateFile(nonsense, "nonsense\n");
    writePrivateFile(headers, "X-Key: hidden\n");
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  }

  TempDir dir;
  std::string tokens = dir.file("tokens").string();
  std::string secrets = dir.file("secrets").string();
  std::string publics = dir.file("publics").string();
  std::string headers = dir.file("headers").string();
  std::string nonsense = dir.file("nonsense").string();
  std::string pipe = dir.file("pipe").string();
  std::string missing = dir.file("missing").string();
  TestAuthority authority{dir.file("").string(), "authority"};
  testing::CertificateFiles server = authority.issue("server");
  testing::CertificateFiles other = authority.issue("other");
  std::string tls = R"("tls": {"certificate_file": )" + inQuotes(server.certificate) + R"(, "key_file": )" +
                    inQuotes(server.key) + "}";
};

bool has(const Lines& lines, const std::string& beginning, const std::string& part = {}) {
  return std::ranges::any_of(lines, [&](const std::string& line) {
    return line.starts_with(beginning) && line.find(part) != std::string::npos;
  });
}

/// The only problem of a text with one.
std::string problemOf(const std::string& text, const Overrides& overrides = {}) {
  const Lines problems = problemsOf(text, overrides);
  REQUIRE_MESSAGE(problems.size() == 1, text);
  return problems[0];
}

}  // namespace

TEST_CASE("Without a file everything has its default, and acknowledged messages are kept for a while") {
  const Config config = read({});
  CHECK(config.api.address == "127.0.0.1");
  CHECK(config.api.port == 7070);
  CHECK(config.outbox.ackedRetention == std::chrono::minutes(10));
  CHECK(config.outbox.adoptPeers);
}

TEST_CASE("A file sets fields by the names of the options, and may have comments") {
  const Config config = read(R"({
    // people read this
    "listen": "unix:/run/a.sock",
    "agent": "urn:agent:alice",
    "outbox": {"max_pending": 7, "ack_timeout": "90s", "gap": "block", "retry": {"max_retries": 3}},
    "peers": [{"name": "bob", "url": "http://127.0.0.1:1/inbox", "profile": "webhook"}],
    "log": {"format": "json", "level": "warning"}
  })");
  CHECK(config.api.address == "unix:/run/a.sock");
  CHECK(config.outbox.agent == "urn:agent:alice");
  CHECK(config.outbox.maxPending == 7);
  CHECK(config.outbox.ackTimeout == std::chrono::seconds(90));
  CHECK(config.outbox.gap == GapPolicy::block);
  CHECK(config.outbox.retry.maxRetries == 3);
  REQUIRE(config.outbox.peers.size() == 1);
  CHECK(config.outbox.peers[0].profile == PeerProfile::webhook);
  CHECK_FALSE(config.outbox.adoptPeers);
  CHECK(config.logFormat == LogFormat::json);
  CHECK(config.outbox.logLevel == LogLevel::warning);
}

TEST_CASE("Each profile of a peer has its name, and limits of answers and connections are fields of the sender") {
  const auto profile = [](const std::string& name) {
    return read(R"({"peers": [{"url": "http://127.0.0.1:1/", "profile": ")" + name + R"("}]})")
        .outbox.peers.at(0)
        .profile;
  };
  CHECK(profile("native") == PeerProfile::native);
  CHECK(profile("webhook") == PeerProfile::webhook);
  CHECK(profile("cloudevents") == PeerProfile::cloudevents);
  CHECK(profile("cloudevents_binary") == PeerProfile::cloudeventsBinary);
  CHECK(problemsOf(R"({"peers": [{"url": "http://127.0.0.1:1/", "profile": "cloud"}]})") ==
        Lines{"f:1: peers[0].profile: must be one of native, webhook, cloudevents, cloudevents_binary"});
  const HttpSenderOptions sender =
      read(R"({"sender": {"connection_age": "90s", "idle_timeout": "7s", "header_bytes_max": 2048,)"
           R"( "response_bytes_max": 5000}})")
          .sender;
  CHECK(sender.connectionAge == std::chrono::seconds(90));
  CHECK(sender.idleTimeout == std::chrono::seconds(7));
  CHECK(sender.headerBytesMax == 2'048);
  CHECK(sender.responseBytesMax == 5'000);
  CHECK(read({}).sender.connectionAge == std::chrono::minutes(10));
  CHECK(problemsOf(R"({"sender": {"header_bytes_max": 1023, "connection_age": "0s"}})").size() == 2);
}

TEST_CASE("The command line counts before the file, for any field") {
  const Config config = read(R"({"listen": "127.0.0.1:1", "outbox": {"max_pending": 7}})",
                             {{"outbox.max_pending", "8"}, {"listen", "[::1]:2"}, {"agent", "urn:a"}});
  CHECK(config.outbox.maxPending == 8);
  CHECK(config.api.address == "::1");
  CHECK(config.api.port == 2);
  CHECK(config.outbox.agent == "urn:a");
  CHECK(problemsOf("{}", {{"agent", "urn:y"}, {"agent.name", "x"}}).size() == 1);
}

TEST_CASE("All problems are named at once, each with its line and field") {
  CHECK(problemsOf(
            "{\n \"outbox\": {\n  \"max_pendin\": 1,\n  \"ack_timeout\": 5\n },\n \"peers\": [{\n  \"url\": 3}]}") ==
        Lines{"f:3: outbox.max_pendin: there is no such field; did you mean 'max_pending'?",
              "f:4: outbox.ack_timeout: must be a duration in quotes, such as \"500ms\", \"10s\", \"5m\" or \"7d\", "
              "at least 1ms",
              "f:7: peers[0].url: must be a string", "f:7: peers[0].url: must be set"});
  CHECK(problemsOf("{\"outbox\": {\"batch_frames\": 0}}") ==
        Lines{"f:1: outbox.batch_frames: must be a whole number, 1 to 256"});
  CHECK(problemsOf("{\"log\": {\"level\": \"loud\"}}") ==
        Lines{"f:1: log.level: must be one of debug, info, warning, error"});
  CHECK(problemsOf("{\"agent\": \"a\",\n\"agent\": \"b\"}") == Lines{"f:2: agent: occurs twice"});
}

TEST_CASE("A misspelt field is told the nearest one, if one is near") {
  CHECK(problemsOf(R"({"lisen": "127.0.0.1:1", "outbox": {"ack_timout": "5s", "maxpending": 1, "gop": "skip"}})") ==
        Lines{"f:1: outbox.ack_timout: there is no such field; did you mean 'ack_timeout'?",
              "f:1: outbox.maxpending: there is no such field; did you mean 'max_pending'?",
              "f:1: outbox.gop: there is no such field; did you mean 'gap'?",
              "f:1: lisen: there is no such field; did you mean 'listen'?"});
  CHECK(problemsOf(R"({"l": 1, "colour": 2})") ==
        Lines{"f:1: l: there is no such field", "f:1: colour: there is no such field"});
  CHECK(problemOf("{\"" + std::string(100'000, 'a') + "\": 1}").ends_with(": there is no such field"));
}

TEST_CASE("The inbox listens elsewhere than the API") {
  const std::string pulls = R"("allow_anonymous": true, "pull": ["*"])";
  const auto both = [&](const std::string& api, const std::string& inbox) {
    return problemsOf("{\"listen\": \"" + api + "\",\n\"inbox\": {\"listen\": \"" + inbox + "\", " + pulls + "}}");
  };
  const Lines same{
      "f:2: inbox.listen: must be another one than listen: peers and callers of the API have each their own"};
  CHECK(both("127.0.0.1:7070", "127.0.0.1:7070") == same);
  CHECK(both("unix:/run/a", "unix:/run/a") == same);
  // However it is spelt.
  using transport::ListenAddress;
  CHECK(ListenAddress("10.0.0.1", 7).collidesWith(ListenAddress("::ffff:10.0.0.1", 7)));
  CHECK(ListenAddress("10.0.0.1", 7).collidesWith(ListenAddress("0.0.0.0", 7)));
  CHECK_FALSE(ListenAddress("10.0.0.1", 7).collidesWith(ListenAddress("10.0.0.2", 7)));
  CHECK(both("[::1]:7070", "[0:0:0:0:0:0:0:1]:7070") == same);
  CHECK(both("unix:/run/a", "unix:/run/./b/../a") == same);
  CHECK(both("unix:/run/a", "unix:/run/b").empty());
  CHECK(both("127.0.0.1:7070", "127.0.0.1:7071").empty());
  CHECK(both("127.0.0.1:7070", "[::1]:7070").empty());
  CHECK(both("127.0.0.1:0", "127.0.0.1:0").empty());
}

TEST_CASE("A text that is no JSON is a problem with a line") {
  const Lines problems = problemsOf("{\n\"agent\": \"a\"\n\"b\"}");
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].starts_with("f:3: syntax error"));
  CHECK(problemsOf("[]") == Lines{"f:1: must be a JSON object"});
  CHECK(problemsOf("{} {}").size() == 1);
  CHECK(problemsOf(std::string("{\n}\0{\"agent\": \"b\"}", 19)) == Lines{"f:2: contains a NUL byte"});
  CHECK(problemsOf(std::string(10'000, '[')).size() == 1);
}

TEST_CASE("What only the library knows to be wrong is a problem, too") {
  CHECK(problemOf("{\"outbox\": {\n\"peer_reset\": \"resend\", \"acked_retention\": \"0s\"}}") ==
        "f:2: outbox.peer_reset: is resend while acked_retention is 0, so no acknowledged message is kept to be sent, "
        "allowed: proceed, or resend with an acked_retention above 0");
  CHECK(problemOf("{\"outbox\": {\n\"table_prefix\": \"a-b\"}}").starts_with("f:2: outbox.table_prefix: "));
  CHECK(problemOf("{\"outbox\": {\"ack_timeout\": \"0s\"}}").find("outbox.ack_timeout: must be a duration in quotes") !=
        std::string::npos);
}

TEST_CASE("The agent must be a URI") {
  for (const char* wrong : {"alice", "urn:", ":alice", "1:a", "urn:agent alice", "urn:<a>", "\xc3\xa4:b"}) {
    CHECK_MESSAGE(problemOf("{\"agent\":\n\"" + std::string(wrong) + "\"}").starts_with("f:2: agent: '"), wrong);
  }
  CHECK(problemsOf("{\"agent\": \"https://alice.example/a?b#c\"}").empty());
}

TEST_CASE("A mistake of the command line is not said to be the file's") {
  CHECK(problemOf("{}", {{"outbox.max_pendin", "1"}}) ==
        "--set: outbox.max_pendin: there is no such field; did you mean 'max_pending'?");
  CHECK(problemOf("{}", {{"peers", R"([{"name": "a"}])"}}) == "--set: peers[0].url: must be set");
  CHECK(problemOf("{\"log\": {}}", {{"log.level", "loud"}}).starts_with("--set: log.level: must be one of"));
  CHECK(problemOf("{}", {{"listen", "here", "--listen"}}).starts_with("--listen: must be unix:PATH"));
  const Lines unknown = problemsOf("{\"outbox\": {\"x\": 1}}", {{"y", "1"}});
  REQUIRE(unknown.size() == 2);
  CHECK(unknown[0].starts_with("f:1: outbox.x: there is no such field; the fields are "));
  CHECK(unknown[1] == "--set: y: there is no such field");
}

TEST_CASE("The files that a configuration names are read, and what is wrong with them has the field's line") {
  const Files files;
  CHECK(problemsOf("{\"tokens_file\": " + inQuotes(files.tokens) + "," + files.tls + "}").empty());
  const std::vector<std::string> fields = {
      "{\n\"tokens_file\": $}",
      "{\"tls\": {\"key_file\": " + inQuotes(files.server.key) + ",\n\"certificate_file\": $}}",
      "{\"sender\": {\n\"authority_file\": $}}",
      "{\"peers\": [{\"name\": \"bob\", \"url\": \"http://127.0.0.1:1/\",\n\"secrets_file\": $}]}",
      "{\"peers\": [{\"name\": \"bob\", \"url\": \"http://127.0.0.1:1/\",\n\"headers_file\": $}]}",
      "{\"inbox\": {\"pull\": [\"*\"], \"peers\": [{\"agents\": [\"urn:b\"],\n\"secrets_file\": $}]}}",
      "{\"inbox\": {\"allow_anonymous\": true, \"deliver\": [{\"url\": \"http://127.0.0.1:1/\",\n\"headers_file\": "
      "$}]}}",
      "{\"inbox\": {\"allow_anonymous\": true, \"deliver\": [{\"url\": \"http://127.0.0.1:1/\",\n\"secrets_file\": "
      "$}]}}"};
  for (const std::string& field : fields) {
    for (const std::string& file :
         {files.missing, files.nonsense, files.pipe, std::string("/dev/zero"), files.dir.file("").string()}) {
      std::string text = field;
      text.replace(text.find('$'), 1, inQuotes(file));
      CHECK_MESSAGE(has(problemsOf(text), "f:2: ", file), text);
    }
  }
}

TEST_CASE("P11: every file with secrets that others can read is a problem of its field") {
  const Files files;
  const std::vector<std::pair<std::string, std::string>> fields = {
      {"{\n\"tokens_file\": $}", files.tokens},
      {"{\"tls\": {\"certificate_file\": " + inQuotes(files.server.certificate) + ",\n\"key_file\": $}}",
       files.server.key.string()},
      {"{\"sender\": {\"certificate_file\": " + inQuotes(files.server.certificate) + ",\n\"key_file\": $}}",
       files.server.key.string()},
      {"{\"peers\": [{\"name\": \"bob\", \"url\": \"http://127.0.0.1:1/\",\n\"secrets_file\": $}]}", files.secrets},
      {"{\"peers\": [{\"name\": \"bob\", \"url\": \"http://127.0.0.1:1/\",\n\"headers_file\": $}]}", files.headers},
      {"{\"peers\": [{\"name\": \"bob\", \"url\": \"http://127.0.0.1:1/\",\n\"bearer_token_file\": $}]}",
       files.nonsense},
      {"{\"inbox\": {\"pull\": [\"*\"], \"peers\": [{\"agents\": [\"urn:b\"],\n\"secrets_file\": $}]}}", files.secrets},
      {"{\"inbox\": {\"allow_anonymous\": true, \"deliver\": [{\"url\": \"http://127.0.0.1:1/\",\n\"secrets_file\": "
       "$}]}}",
       files.secrets}};
  for (const auto& [field, file] : fields) {
    std::string text = field;
    text.replace(text.find('$'), 1, inQuotes(file));
    REQUIRE(::chmod(file.c_str(), 0644) == 0);
    CHECK_MESSAGE(has(problemsOf(text), "f:2: ", "others can read it"), text);
    REQUIRE(::chmod(file.c_str(), 0600) == 0);
    CHECK_MESSAGE(problemsOf(text).empty(), text);
  }
}

TEST_CASE("A mark of UTF-8 before tokens or secrets is passed over") {
  const Files files;
  const std::string mark = "\xEF\xBB\xBF";
  writePrivateFile(files.tokens, mark + "ops read " + kToken + "\n");
  writePrivateFile(files.secrets, mark + kSecret + "\n");
  CHECK(problemsOf("{\"tokens_file\": " + inQuotes(files.tokens) + "}").empty());
  CHECK(problemsOf("{\"peers\": [{\"name\": \"bob\", \"url\": \"http://127.0.0.1:1/\", \"secrets_file\": " +
                   inQuotes(files.secrets) + "}]}")
            .empty());
}

TEST_CASE("A certificate and a key that do not belong together, or are none, are problems of their fields") {
  const Files files;
  const auto tls = [&](const std::filesystem::path& certificate, const std::filesystem::path& key,
                       const std::string& more = {}) {
    return "{\"tls\": {\"certificate_file\": " + inQuotes(certificate) + ",\n\"key_file\": " + inQuotes(key) + more +
           "}}";
  };
  CHECK(has(problemsOf(tls(files.server.certificate, files.other.key)),
            "f:2: tls.key_file: '" + files.other.key.string(), "mismatch"));
  CHECK(has(problemsOf(tls(files.nonsense, files.server.key)), "f:1: tls.certificate_file: '" + files.nonsense));
  CHECK(has(problemsOf(tls(files.server.certificate, files.server.key, ",\n\"crl_file\": \"x\"")),
            "f:3: tls.crl_file: needs client_authority_file"));
}

TEST_CASE("Secrets that cannot do what they are for are a problem of the field that they come from") {
  const Files files;
  const auto peer = [&](const std::string& file, const std::string& more = {}) {
    return "{\"peers\": [{\"name\": \"bob\", \"url\": \"http://127.0.0.1:1/\",\n\"secrets_file\": " + inQuotes(file) +
           more + "}]}";
  };
  CHECK(problemsOf(peer(files.secrets)).empty());
  CHECK(has(problemsOf(peer(files.publics, ", \"profile\": \"webhook\"")), "f:2: peers[0].secrets_file: ", "can sign"));
  CHECK(has(problemsOf("{\"peers\": [{\"name\": \"bob\", \"url\": \"http://127.0.0.1:1/\",\n"
                       "\"secrets_environment\": \"ACKBOX_NO_SUCH_VARIABLE\"}]}"),
            "f:2: peers[0].secrets_environment: the environment has no variable"));
  CHECK(has(problemsOf("{\"inbox\": {\"allow_anonymous\": true, \"deliver\": [{\"url\": \"http://127.0.0.1:1/\",\n"
                       "\"secrets_file\": " +
                       inQuotes(files.publics) + "}]}}"),
            "f:2: inbox.deliver[0].secrets_file: ", "can sign"));
}

TEST_CASE("Headers of one's own come from a file of lines or of a token, and what is wrong with either has its field") {
  const Files files;
  writePrivateFile(files.dir.file("token"), "abc\n");
  writePrivateFile(files.dir.file("tokens2"), "abc\ndef\n");
  writePrivateFile(files.dir.file("none"), "# none\n");
  const auto peer = [](const std::string& fields) {
    return "{\"peers\": [{\"name\": \"bob\", \"url\": \"http://127.0.0.1:1/\",\n" + fields + "}]}";
  };
  const auto linesOf = [](const SecretSource& source) {
    const std::vector<Secret> lines = source.load();
    return lines.size() == 1 ? std::string(lines.front().reveal()) : std::to_string(lines.size());
  };
  const Config lines = read(peer("\"headers_file\": " + inQuotes(files.headers)));
  CHECK(linesOf(lines.outbox.peers.at(0).headers) == "X-Key: hidden");
  const Config token = read(
      "{\"inbox\": {\"allow_anonymous\": true, \"deliver\": [{\"url\": \"http://127.0.0.1:1/\", "
      "\"bearer_token_file\": " +
      inQuotes(files.dir.file("token")) + "}]}}");
  CHECK(linesOf(token.inbox.value().deliver.at(0).headers) == "Authorization: Bearer abc");
  CHECK(has(problemsOf(peer("\"headers_file\": " + inQuotes(files.headers) +
                            ", \"bearer_token_file\": " + inQuotes(files.dir.file("token")))),
            "f:2: peers[0].headers_file: and bearer_token_file cannot both be set"));
  CHECK(has(problemsOf(peer("\"headers_file\": " + inQuotes(files.dir.file("none")))),
            "f:2: peers[0].headers_file: ", "there is no header; add one"));
  CHECK(has(problemsOf(peer("\"bearer_token_file\": " + inQuotes(files.dir.file("tokens2")))),
            "f:2: peers[0].bearer_token_file: ", "needs one token, and the source has 2"));
  CHECK(has(problemsOf(peer("\"bearer_token_file\": " + inQuotes(files.headers))),
            "f:2: peers[0].bearer_token_file: ", "cannot contain a blank"));
}

TEST_CASE("Addresses that the start would refuse are refused, in the configuration's names") {
  const auto peer = [](const std::string& url) {
    return "{\"peers\": [{\"name\": \"bob\",\n\"url\": \"" + url + "\"}]}";
  };
  CHECK(problemOf(peer("ftp://x")).starts_with("f:2: peers[0].url: URL 'ftp://x': it does not begin"));
  CHECK(problemOf(peer("http://bob.example/")) ==
        "f:2: peers[0].url: http:// to another machine must be asked for with allow_plain_http");
  CHECK(problemOf("{\"peers\": [{\"name\": \"a\", \"url\": \"http://127.0.0.1:1/\"},\n{\"name\": \"b\", \"url\": "
                  "\"http://127.0.0.1:1/\"}]}")
            .starts_with("f:2: peers[1].url: peers 'a' and 'b' lead to the same URL"));
  CHECK(problemOf("{\"peers\": [{\"name\": \"a\", \"url\": \"http://127.0.0.1:1/\"},\n{\"name\": \"a\", \"url\": "
                  "\"http://127.0.0.1:2/\"}]}")
            .starts_with("f:2: peers[1].name: 'a' is used twice"));
  const auto inbox = [](const std::string& more) { return "{\"inbox\": {\"pull\": [\"*\"],\n" + more + "}}"; };
  CHECK(problemOf(inbox(R"("allow_anonymous": true, "path": "inbox")")) == "f:2: inbox.path: must begin with '/'");
  CHECK(problemOf(inbox(R"("allow_anonymous": true, "listen": "0.0.0.0:1")"))
            .starts_with("f:2: inbox.listen: plain HTTP beyond loopback must be asked for with allow_plain_http"));
  CHECK(problemOf("{\"inbox\": {\"pull\": [\"*\"]}}") ==
        "f:1: inbox.peers: nobody may send to it; list who may, or set allow_anonymous");
  const Lines peers =
      problemsOf(inbox("\"peers\": [{\"agents\": []},\n{\"agents\": [\"urn:b\"], \"by_certificate\": "
                       "true, \"may_send\": false, \"may_ack\": false},\n{\"agents\": [\"urn:c\"]}]"));
  CHECK(peers.size() == 3);
  CHECK(has(peers, "f:2: inbox.peers[0].agents: must have at least one"));
  CHECK(has(peers, "f:3: inbox.peers[1].may_send: this peer may do nothing; set may_send, may_ack or both"));
  CHECK(has(peers, "f:4: inbox.peers[2].secrets_file: there is no way to know this peer", "by_certificate"));
  CHECK(has(problemsOf(inbox(R"("allow_anonymous": true, "deliver": [{"url": "http://far.example/"}])")),
            "f:2: inbox.deliver[0].url: beyond this machine it must be https://, or allow_plain_http be true"));
  CHECK(problemsOf(
            inbox(R"("allow_anonymous": true, "deliver": [{"url": "http://far.example/", "allow_plain_http": true}])"))
            .empty());
  for (const char* host : {"http://x", "a b", "x/", "127.0.0.1:99@evil", "*", ""}) {
    CHECK_MESSAGE(
        problemOf(R"({"allowed_hosts": [")" + std::string(host) + R"("]})").starts_with("f:1: allowed_hosts: '"), host);
  }
}

TEST_CASE("What the library refuses is said in the names of the configuration") {
  const auto said = [](const Error& error) { return inConfigWords(error); };
  CHECK(said(OptionError("peers[1].maySend", "set `maySend`")) == "peers[1].may_send: set may_send");
  CHECK(said(OptionError("tls.keyFile", "'/a/keyFile': gone")) == "tls.key_file: '/a/keyFile': gone");
  CHECK(said(OptionError("address", "no `allowPlainHttp`")) == "listen: no allow_plain_http");
  CHECK(said(OptionError("deferred.framesMax", "is 0", "at least 1, `deferred.bytesMax` too")) ==
        "frames_max: is 0, allowed: at least 1, bytes_max too");
  CHECK(said(OptionError("requestBytesMax", "twice `InboundOptions::bodyBytesMax`")) ==
        "request_bytes_max: twice body_bytes_max");
  // Only names in backquotes are changed, and a lone backquote is one.
  CHECK(said(OptionError("agent", "the KiB of 'aB' ` c")) == "agent: the KiB of 'aB' ` c");
  CHECK(said(Error(Errc::ioError, "/etc/myTokens:3: a line")) == "/etc/myTokens:3: a line");
}

TEST_CASE("A file of people's is read only if it is one, and up to a limit") {
  const Files files;
  CHECK(readRegularFile(files.nonsense, 9).text == "nonsense\n");
  CHECK(readRegularFile(files.nonsense, 8).problem.find("is larger than") != std::string::npos);
  CHECK(readRegularFile(files.pipe, 9).problem == files.pipe + ": is no regular file, but a pipe or a device");
  CHECK(readRegularFile("/dev/zero", 9).problem == "/dev/zero: is no regular file, but a pipe or a device");
  CHECK(readRegularFile(files.dir.file(""), 9).problem.find("is a folder") != std::string::npos);
  CHECK(readRegularFile(files.missing, 9).problem == files.missing + ": cannot be read: No such file or directory");
}

TEST_CASE("Paths in a file begin in its folder, and those of the command line where the process was started") {
  const TempDir dir;
  writePrivateFile(dir.file("tokens"), "app send " + kToken + "\n");
  const std::string text = R"({"tokens_file":"tokens"})";
  std::vector<ConfigProblem> problems;
  CHECK(readConfig(text, {}, problems, dir.file("")).api.tokensFile == dir.file("tokens"));
  CHECK(problems.empty());
  static_cast<void>(readConfig(text, {{"tokens_file", "no-tokens"}}, problems, dir.file("")));
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].what.starts_with("no-tokens: "));
  problems.clear();
  CHECK(
      readConfig("{\"tokens_file\":" + inQuotes(dir.file("tokens")) + "}", {}, problems, "elsewhere").api.tokensFile ==
      dir.file("tokens"));
}

TEST_CASE("A host is a name or an address, perhaps with a port, and nothing else") {
  CHECK(hostNameOf("LocalHost:80") == "localhost");
  CHECK(hostNameOf("[::1]:65535") == "[::1]");
  CHECK(hostNameOf("127.0.0.1") == "127.0.0.1");
  for (const char* wrong : {"", ":80", "127.0.0.1:99@evil", "a:65536", "a:", "a:+1", "a:1:2", "[::1", "[]", "[::1]x",
                            "a@b", "a/b", "a b", "a,b", "[::1]:80:1"}) {
    CHECK_MESSAGE(!hostNameOf(wrong), wrong);
  }
}

TEST_CASE("Beyond this machine it listens only with TLS and tokens") {
  const std::string refusal =
      "f:1: listen: beyond this machine the server listens only with TLS (tls.certificate_file, tls.key_file) and "
      "tokens "
      "(tokens_file)";
  const Files files;
  const std::string& tls = files.tls;
  const std::string tokens = R"("tokens_file": )" + inQuotes(files.tokens);
  CHECK(problemsOf(R"({"listen": "0.0.0.0:1"})") == Lines{refusal});
  CHECK(problemsOf(R"({"listen": "10.0.0.1:1", )" + tokens + "}") == Lines{refusal});
  CHECK(problemsOf(R"({"listen": "[::]:1", )" + tls + "}") == Lines{refusal});
  CHECK(problemsOf(R"({"listen": "0.0.0.0:1", )" + tokens + ", " + tls + "}").empty());
  for (const char* local : {"127.0.0.1:1", "[::1]:1", "unix:/x"}) {
    CHECK(problemsOf("{}", {{"listen", local}}).empty());
  }
}

TEST_CASE("A file's name that is empty is not the same as none") {
  CHECK(problemsOf(R"({"tokens_file": ""})") == Lines{"f:1: tokens_file: is empty: set it, or leave the field out"});
  CHECK(problemsOf(R"({"listen": ""})") == Lines{"f:1: listen: is empty: set it, or leave the field out"});
  CHECK(problemsOf(R"({"log": {"level": ""}})") == Lines{"f:1: log.level: must be one of debug, info, warning, error"});
  CHECK(problemsOf(R"({"peers": [{"name": "b", "url": "http://127.0.0.1:1/", "secrets_environment": ""}]})") ==
        Lines{"f:1: peers[0].secrets_environment: is empty: set it, or leave the field out"});
}

TEST_CASE("The limit of a request that an inbox takes follows that of a frame") {
  const auto sizes = [](const std::string& frames) {
    const Config config = read("{\"inbox\": {\"allow_anonymous\": true, \"pull\": [\"*\"]" + frames + "}}");
    REQUIRE(config.inbox);
    return std::pair(config.inbox->handler.frameBytesMax, config.inbox->handler.bodyBytesMax);
  };
  constexpr std::size_t kMebi = std::size_t{1024} * 1024;
  CHECK(sizes("") == std::pair(kMebi / 4, kMebi));
  CHECK(sizes(R"(, "frame_bytes_max": 1024)") == std::pair(std::size_t{1024}, kMebi));
  CHECK(sizes(R"(, "frame_bytes_max": 4194304)") == std::pair(4 * kMebi, 4 * kMebi + 64 * 1024));
  CHECK(problemsOf(R"({"inbox": {"allow_anonymous": true, "pull": ["*"], "frame_bytes_max": 67108865}})") ==
        Lines{"f:1: inbox.frame_bytes_max: must be a whole number of bytes, 1 to 67108864"});
}

TEST_CASE("An inbox posts its frames, or gives them to streams, or both") {
  CHECK(problemsOf(R"({"inbox": {"allow_anonymous": true}})") ==
        Lines{"f:1: inbox.deliver: must name the applications that frames go to, or pull the types that they ask for; "
              "where only acknowledgements come, pull is []"});
  CHECK(
      problemsOf(
          R"({"inbox": {"allow_anonymous": true, "pull": ["a*b", "c*"], "deliver": [{"types": "*.x", "url": "http://127.0.0.1/"}]}})") ==
      Lines{"f:1: inbox.deliver[0].types: may have a * at its end only",
            "f:1: inbox.pull: may have a * at its end only"});
  const Config config =
      read(R"({"inbox": {"allow_anonymous": true, "pull": ["order.*", "job"], "retry": {"max_retries": 40}}})");
  REQUIRE(config.inbox);
  CHECK(config.inbox->pull == Lines{"order.*", "job"});
  CHECK(config.inbox->handler.deferred.retry.maxRetries == 40);
  CHECK(problemsOf(R"({"inbox": {"allow_anonymous": true, "deliver": [{"url": "http://127.0.0.1:1/"}]}})").empty());
}

TEST_CASE("A default daemon has places for 1,000 mailboxes and leaves half of its connections to requests") {
  const Places places = Places::of(read("{}").api.connectionsMax);
  CHECK(places.frameStreams == 1'024);
  CHECK(places.waits == 512);
  CHECK(places.work == 256);
  CHECK(places.eventStreams == 32);
  // However few connections are configured, some are for requests that end at once.
  for (std::size_t connections = 32; connections < 5'000; ++connections) {
    for (const std::size_t streams : {std::size_t{0}, Places::frameStreamsMost(connections)}) {
      const Places some = Places::of(connections, streams);
      const std::size_t taken = some.waits + some.frameStreams + some.work + some.eventStreams;
      REQUIRE(taken < connections);
    }
  }
}

TEST_CASE("Connections and streams are limited as configured, and as the process may open files") {
  const std::string text =
      R"({"connections_max": 4000, "streams_max": 3000, "inbox": {"listen": "127.0.0.1:0", "connections_max": 1000,
          "allow_anonymous": true, "pull": []}})";
  const Config config = read(text);
  CHECK(Places::of(config.api.connectionsMax, config.api.streamsMax).frameStreams == 3'000);
  const Connections all = Connections::within(5'000 + 256, config);
  CHECK(all.api == 4'000);
  CHECK(all.inbox == 1'000);
  CHECK_FALSE(all.isReduced);
  const Connections few = Connections::within(500 + 166, config);
  CHECK(few.api == 400);
  CHECK(few.inbox == 100);
  CHECK(few.isReduced);
  CHECK(Places::of(few.api, config.api.streamsMax).frameStreams == 300);
  CHECK(Connections::within(0, config).api == 1);
  CHECK(Connections::within(100, read("{}")).inbox == 0);
  CHECK(
      problemsOf(R"({"connections_max": 100, "streams_max": 76})") ==
      Lines{"f:1: streams_max: must be at most three quarters of connections_max, here 75, which leaves the others to "
            "requests"});
  CHECK(problemsOf(R"({"connections_max": 31})").size() == 1);
}

TEST_CASE("An inbox that fetches from a mailbox needs no address, and what is wrong with the mailbox has its field") {
  const std::string peer = R"("pull": ["*"], "peers": [{"agents": ["urn:b"], "by_mailbox": true}])";
  const Config config = read(R"({"agent": "urn:agent:carol", "inbox": {)" + peer +
                             R"(, "fetch": [{"url": "https://hub.example.com/out/", "window": 8}]}})");
  REQUIRE(config.inbox);
  CHECK_FALSE(config.inbox->isListening);
  CHECK(config.inbox->handler.peers.at(0).byMailbox);
  CHECK(config.inbox->fetch.at(0).options.agent == "urn:agent:carol");
  CHECK(config.inbox->fetch.at(0).options.window == 8);
  const Config both = read(R"({"inbox": {)" + peer +
                           R"(, "listen": "127.0.0.1:0", "fetch": [{"url": "http://127.0.0.1:1", "agent": ""}]}})");
  CHECK(both.inbox->isListening);
  CHECK(both.inbox->fetch.at(0).options.agent.empty());
  const auto fetching = [&](const std::string& entry) {
    return problemsOf(R"({"inbox": {)" + peer + ",\n\"fetch\": [{" + entry + "}]}}");
  };
  CHECK(fetching("") == Lines{"f:2: inbox.fetch[0].url: must be set"});
  CHECK(has(fetching(R"("url": "http://hub.example.com")"),
            "f:2: inbox.fetch[0].url: http:// to another machine must be asked for with allow_plain_http"));
  CHECK(fetching(R"("url": "http://hub.example.com", "allow_plain_http": true)").empty());
  CHECK(has(fetching(R"("url": "https://hub.example.com/?a=b")"), "f:2: inbox.fetch[0].url: must have no query"));
  CHECK(has(fetching(R"("url": "https://hub.example.com", "token_file": "/nowhere/token")"),
            "f:2: inbox.fetch[0].token_file: ", "/nowhere/token"));
}

TEST_CASE("Where it listens must be an address with a port, or a socket file") {
  for (const char* wrong : {"127.0.0.1", "127.0.0.1:", ":80", "127.0.0.1:70000", "127.0.0.1:8x"}) {
    CHECK_MESSAGE(!problemsOf("{}", {{"listen", wrong}}).empty(), wrong);
  }
  CHECK(problemOf("{\n\"listen\": \"localhost:7070\"}") ==
        "f:2: listen: 'localhost' is no numeric address; write unix:PATH, or an address and a port, such as "
        "127.0.0.1:7070");
  CHECK(problemOf("{\"listen\": \"127.evil:7070\"}").find("is no numeric address") != std::string::npos);
  CHECK(problemOf("{\"listen\": \"unix:" + std::string(108, 'x') + "\"}").find("1 to 107 bytes") != std::string::npos);
  CHECK(problemOf("{\"listen\": \"unix:\"}").find("1 to 107 bytes") != std::string::npos);
}

}  // namespace ackbox::serve::config_test
