#include "serve/config/secrets.hpp"

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "serve/config/checks.hpp"

namespace ackbox::serve {

std::optional<std::string> readSecrets(Section& section, SecretSource& secrets) {
  std::filesystem::path file;
  std::string variable;
  section.path({"secrets_file", "the keys shared with it, a line each"}, file);
  section.filled({"secrets_environment", "the variable of the environment that has them instead"}, variable);
  if (!file.empty() && !variable.empty()) {
    section.problem("secrets_file", "and secrets_environment cannot both be set");
    return std::nullopt;
  }
  const std::string field = variable.empty() ? "secrets_file" : "secrets_environment";
  if (!variable.empty() && !section.reading().isOfCaller && std::getenv(variable.c_str()) == nullptr) {
    section.problem(field, "the environment has no variable '" + variable + "'; set it, or name a secrets_file");
    return std::nullopt;
  }
  if (file.empty() && variable.empty()) {
    return field;
  }
  if (!variable.empty() && section.reading().isOfCaller) {
    section.problem(field, "is for the configuration only; name a secrets_file");
    return std::nullopt;
  }
  SecretSource source = variable.empty() ? SecretSource::file(file) : SecretSource::environment(variable);
  if (section.reading().looksAtFiles && !checkSecrets(section, field, file, source)) {
    return std::nullopt;
  }
  secrets = std::move(source);
  return field;
}

}  // namespace ackbox::serve
