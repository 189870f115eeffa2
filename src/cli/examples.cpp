#include "cli/examples.hpp"

#include <algorithm>
#include <array>

namespace ackbox::cli {
namespace {

struct Example {
  std::string_view command;
  std::string_view line;
};

constexpr std::array kExamples = std::to_array<Example>({
    {"init", "ackbox init alice bob"},
    {"stats", "ackbox stats agent.db --json"},
    {"top", "ackbox top agent.db --interval 1s"},
    {"peers", "ackbox peers agent.db"},
    {"sessions", "ackbox sessions agent.db --peer bob"},
    {"blocked", "ackbox blocked agent.db"},
    {"list", "ackbox list agent.db --state failed --peer bob"},
    {"show", "ackbox show agent.db order-17"},
    {"explain", "ackbox explain agent.db order-17"},
    {"verify", "ackbox verify agent.db"},
    {"senders", "ackbox senders agent.db urn:agent:alice"},
    {"inbox", "ackbox inbox agent.db --state backoff"},
    {"inbox-show", "ackbox inbox-show agent.db print-1 --source urn:agent:alice"},
    {"inbox-explain", "ackbox inbox-explain agent.db print-1"},
    {"inbox-retry", "ackbox inbox-retry agent.db --state backoff"},
    {"inbox-discard", "ackbox inbox-discard agent.db print-1 --reason out-of-paper"},
    {"export", "ackbox export agent.db --state failed > dead.jsonl"},
    {"enqueue", "ackbox enqueue agent.db --peer bob --type order.placed < frames.jsonl"},
    {"retry", "ackbox retry agent.db --peer bob --older-than 1h"},
    {"resend", "ackbox resend agent.db --peer bob --since 2h --yes"},
    {"discard", "ackbox discard agent.db --reason expired --yes"},
    {"mark-failed", "ackbox mark-failed agent.db order-17 --reason cancelled"},
    {"pause", "ackbox pause agent.db bob --session orders"},
    {"resume", "ackbox resume agent.db bob"},
    {"unblock", "ackbox unblock agent.db bob orders"},
    {"add-peer", "ackbox add-peer agent.db carol '{\"url\":\"https://carol.example.com/inbox\"}'"},
    {"remove-peer", "ackbox remove-peer agent.db carol"},
    {"subscribe", "ackbox subscribe agent.db audit carol --type 'order.*'"},
    {"unsubscribe", "ackbox unsubscribe agent.db audit"},
    {"subscriptions", "ackbox subscriptions agent.db"},
    {"vacuum", "ackbox vacuum agent.db"},
    {"forget", "ackbox forget agent.db urn:agent:alice --yes"},
    {"repair", "ackbox repair agent.db --dry-run"},
    {"backup", "ackbox backup agent.db /backup/agent.db --overwrite"},
    {"restore", "ackbox restore /backup/agent.db agent.db --identity new"},
    {"check", "ackbox check agent.db --oldest-age 5m,30m --failed 1,100"},
    {"doctor", "ackbox doctor agent.db --certificate server.pem"},
    {"migrate", "ackbox migrate agent.db"},
    {"move", "ackbox move agent.db postgres://agent@db.example/orders"},
    {"serve", "ackbox serve agent.db --listen unix:/run/agent/ackbox.sock --config serve.json"},
    {"health", "ackbox health --url unix:/run/agent/ackbox.sock"},
});

}  // namespace

std::string_view exampleOf(std::string_view command) noexcept {
  const auto* const found =
      std::find_if(kExamples.begin(), kExamples.end(), [&](const Example& one) { return one.command == command; });
  return found == kExamples.end() ? std::string_view() : found->line;
}

}  // namespace ackbox::cli
