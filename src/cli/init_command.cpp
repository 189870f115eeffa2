// `init`: the files for a first group of agents. Their contents are decided first; they are written if none of them
// exists.

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/file_steps.hpp"
#include "cli/shell_word.hpp"

namespace ackbox::cli {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr std::size_t kNameLengthMax = 64;
constexpr std::size_t kKeyBytes = 32;
constexpr std::size_t kTokenBytes = 24;
// The offset of an agent's inbox port from its own port. At most this many agents have consecutive ports.
constexpr std::uint16_t kInboxOffset = 10;

struct NewFile {
  fs::path path;
  std::string text;
  bool isSecret = false;
};

/// One of the agents.
struct Agent {
  std::string name;
  std::uint16_t port = 0;

  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port); }
  [[nodiscard]] std::string inboxAddress() const { return "127.0.0.1:" + std::to_string(port + kInboxOffset); }
  [[nodiscard]] std::string uri() const { return "urn:agent:" + name; }
  [[nodiscard]] std::string tokens() const { return name + ".tokens"; }
};

/// Why the names cannot be agents, files and peers, or the port cannot be used; empty if both can.
std::string problemOf(const std::vector<std::string>& names, std::uint64_t port) {
  constexpr std::string_view kCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  for (const std::string& name : names) {
    if (name.empty() || name.size() > kNameLengthMax || name.find_first_not_of(kCharacters) != std::string::npos ||
        std::string_view("._-").find(name.front()) != std::string_view::npos) {
      return "'" + name + "' cannot be an agent's name here: 1 to " + std::to_string(kNameLengthMax) +
             " letters, digits, dots, dashes and underscores, the first a letter or digit";
    }
    if (std::ranges::count(names, name) > 1) {
      return "the agents need different names, and " + name + " is there twice";
    }
  }
  if (names.size() < 2 || names.size() > kInboxOffset) {
    return "name 2 to " + std::to_string(kInboxOffset) + " agents, such as: ackbox init alice bob";
  }
  constexpr std::uint64_t kPortMax = 65'535;
  const std::uint64_t most = kPortMax - kInboxOffset - names.size() + 1;
  return port == 0 || port > most ? "--port must be from 1 to " + std::to_string(most) : std::string();
}

std::string randomText(std::size_t bytes, bool isHex) {
  std::array<unsigned char, kKeyBytes> drawn{};
  if (RAND_bytes(drawn.data(), static_cast<int>(bytes)) != 1) {
    throw std::runtime_error("the system has no randomness for a key");
  }
  std::string text;
  if (isHex) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    for (std::size_t place = 0; place < bytes; ++place) {
      text.append({kDigits[drawn.at(place) >> 4U], kDigits[drawn.at(place) & 15U]});
    }
  } else {
    // Base64: four characters for each three bytes, and a terminating zero.
    std::array<unsigned char, (kKeyBytes + 2) / 3 * 4 + 1> encoded{};
    const int length = EVP_EncodeBlock(encoded.data(), drawn.data(), static_cast<int>(bytes));
    text.assign(encoded.begin(), encoded.begin() + length);
  }
  OPENSSL_cleanse(drawn.data(), drawn.size());
  return text;
}

/// The name of the key that both agents share.
std::string keyName(const Agent& one, const Agent& other) {
  return std::min(one.name, other.name) + "-" + std::max(one.name, other.name) + ".key";
}

std::string configOf(const Agent& agent, const std::vector<Agent>& all) {
  Json peers = Json::array();
  Json senders = Json::array();
  for (const Agent& other : all) {
    if (other.name != agent.name) {
      peers.push_back(Json{{"name", other.name},
                           {"url", "http://" + other.inboxAddress() + "/inbox"},
                           {"agent", other.uri()},
                           {"secrets_file", keyName(agent, other)}});
      senders.push_back(Json{{"agents", Json::array({other.uri()})}, {"secrets_file", keyName(agent, other)}});
    }
  }
  const Json config{
      {"agent", agent.uri()},
      {"listen", agent.address()},
      {"tokens_file", agent.tokens()},
      {"peers", peers},
      {"inbox",
       Json{{"listen", agent.inboxAddress()}, {"path", "/inbox"}, {"peers", senders}, {"pull", Json::array({"*"})}}}};
  return config.dump(2) + "\n";
}

std::vector<NewFile> filesOf(const std::vector<Agent>& agents, const fs::path& folder) {
  std::vector<NewFile> files;
  for (const Agent& agent : agents) {
    files.push_back({folder / (agent.name + ".json"), configOf(agent, agents)});
    files.push_back({folder / agent.tokens(),
                     "app send,receive,read " + randomText(kTokenBytes, true) + "\nops read,operate " +
                         randomText(kTokenBytes, true) + "\n",
                     true});
    for (const Agent& other : agents) {
      if (agent.name < other.name) {
        files.push_back({folder / keyName(agent, other), "whsec_" + randomText(kKeyBytes, false) + "\n", true});
      }
    }
  }
  return files;
}

/// A name that two of the files share, such as the key of a-b with c and of a with b-c; empty if all names differ.
std::string repeatedName(const std::vector<NewFile>& files) {
  for (const NewFile& file : files) {
    if (std::ranges::count(files, file.path, &NewFile::path) > 1) {
      return file.path.filename().string();
    }
  }
  return {};
}

/// Writes the file. Returns what went wrong; empty on success.
std::string write(const NewFile& file) {
  const mode_t mode = file.isSecret ? S_IRUSR | S_IWUSR : S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH;
  const int descriptor = ::open(file.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
  const auto problem = [&] { return file.path.string() + ": " + std::generic_category().message(errno); };
  if (descriptor < 0) {
    return problem();
  }
  std::string why;
  for (std::string_view left = file.text; !left.empty() && why.empty();) {
    const ssize_t written = ::write(descriptor, left.data(), left.size());
    if (written >= 0) {
      left.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      why = problem();
    }
  }
  if (::fsync(descriptor) != 0 && why.empty()) {
    why = problem();
  }
  ::close(descriptor);
  if (!why.empty()) {
    ::unlink(file.path.c_str());
  }
  return why;
}

/// Writes all files or none. Returns what went wrong; empty on success.
std::string writeAll(const std::vector<NewFile>& files) {
  for (std::size_t index = 0; index < files.size(); ++index) {
    if (std::string why = write(files[index]); !why.empty()) {
      for (std::size_t written = 0; written < index; ++written) {
        ::unlink(files[written].path.c_str());
      }
      return why;
    }
  }
  syncFolderOf(files.front().path);
  return {};
}

std::string wordOf(const fs::path& path) {
  return shellWord(path.string());
}

std::string tokenOf(const fs::path& folder, const Agent& agent) {
  return "-H \"Authorization: Bearer $(awk '/^app/ {print $3}' " + wordOf(folder / agent.tokens()) + ")\"";
}

/// The commands that let the unit's user read what root has made.
void printRights(Console& console, const std::vector<NewFile>& files) {
  const std::string& user = console.world().serviceUser;
  if (user.empty()) {
    return;
  }
  std::string secrets;
  for (const NewFile& file : files) {
    secrets += file.isSecret ? " " + wordOf(file.path) : "";
  }
  console.say("");
  console.say("The unit ackbox@NAME runs as " + user + ", which cannot read keys and tokens of root. To let it:");
  console.say("  chgrp " + user + secrets + " && chmod 0640" + secrets);
}

void printNext(Console& console, const fs::path& folder, const std::vector<Agent>& agents) {
  console.say("");
  console.say("Start them, each in a terminal of its own:");
  for (const Agent& agent : agents) {
    console.say("  " + console.world().calledAs + " serve " + wordOf(folder / (agent.name + ".db")) + " --config " +
                wordOf(folder / (agent.name + ".json")));
  }
  const Agent& from = agents[0];
  const Agent& to = agents[1];
  console.say("Send a message from " + from.name + " to " + to.name + ":");
  console.say("  curl http://" + from.address() + "/v1/messages " + tokenOf(folder, from) +
              " -H 'Content-Type: application/json' -d '{\"peer\":\"" + to.name +
              "\",\"type\":\"greeting\",\"data\":{\"text\":\"hello\"}}'");
  console.say("Take it at " + to.name + "; it is acknowledged by POST /v1/inbox/settle, or by a client:");
  console.say("  curl -N http://" + to.address() + "/v1/inbox/stream " + tokenOf(folder, to));
  console.say("See both on their pages, with the token of ops in the .tokens files: http://" + from.address() +
              " and http://" + to.address());
}

}  // namespace

int init(Console& console, const Arguments& arguments) {
  if (const std::string problem = problemOf(arguments.names, arguments.port); !problem.empty()) {
    return console.fail(kUsage, problem);
  }
  const fs::path folder = arguments.folder.lexically_normal() == "." ? fs::path() : arguments.folder;
  std::vector<Agent> agents;
  for (const std::string& name : arguments.names) {
    agents.push_back({name, static_cast<std::uint16_t>(arguments.port + agents.size())});
  }
  const std::vector<NewFile> files = filesOf(agents, folder);
  if (const std::string name = repeatedName(files); !name.empty()) {
    return console.fail(kUsage, "two keys would have the name " + name + ": choose names without dashes");
  }
  for (const NewFile& file : files) {
    if (isThere(file.path)) {
      return console.fail(kNothing, file.path.string() + ": is there; nothing was made. Name another --folder");
    }
  }
  if (std::error_code failure; !folder.empty() && !fs::is_directory(folder, failure)) {
    return console.fail(kCannot, folder.string() + ": there is no such folder");
  }
  if (const std::string problem = writeAll(files); !problem.empty()) {
    return console.fail(kCannot, problem + "; nothing was made");
  }
  for (const NewFile& file : files) {
    if (console.json()) {
      console.line(json::Line().add("file", file.path.string()).add("secret", file.isSecret));
    } else {
      console.say("made " + file.path.string() + (file.isSecret ? ", which only you can read" : ""));
    }
  }
  if (!console.json()) {
    printRights(console, files);
    printNext(console, folder, agents);
  }
  return kDone;
}

}  // namespace ackbox::cli
