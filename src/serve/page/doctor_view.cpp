#include <cctype>

#include "cli/symptoms.hpp"
#include "cli/text.hpp"
#include "serve/page/views.hpp"

namespace ackbox::serve::page {
namespace {

std::string joined(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const std::int64_t number : numbers) {
    text += (text.empty() ? "" : ", ") + std::to_string(number);
  }
  return text;
}

/// As a label.
std::string titleOf(std::string about) {
  if (about == "sqlite") {
    return "SQLite";
  }
  about.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(about.front())));
  return about;
}

Html findings(const std::vector<cli::Symptom>& symptoms) {
  Html html;
  for (const cli::Symptom& symptom : symptoms) {
    html.raw("<li data-level=\"").text(cli::nameOf(symptom.weight)).raw("\"><strong>").text(titleOf(symptom.about));
    html.raw("</strong> <span>");
    if (symptom.weight != cli::Weight::ok) {
      html.add(badge(cli::nameOf(symptom.weight))).raw(" ");
    }
    html.text(symptom.text).raw("</span>");
    if (!symptom.advice.empty()) {
      html.raw("<span class=\"advice\">").text(symptom.advice).raw("</span>");
    }
    html.raw("</li>\n");
  }
  return html;
}

}  // namespace

Html doctorView(const View& /*view*/, const Checkup& checkup) {
  const Stats& stats = checkup.contents.stats;
  std::vector<cli::Symptom> symptoms = {
      {"file",
       cli::Weight::ok,
       cli::bytesText(stats.fileBytes) + ", of which " + cli::bytesText(stats.freeBytes) + " are free",
       {}},
      {"store", cli::Weight::ok, checkup.contents.info.origin, {}},
      cli::logSymptom(stats.walBytes),
      {"processes", cli::Weight::ok, "agents: " + joined(checkup.processIds), {}},
  };
  if (!checkup.fileTrouble.empty()) {
    symptoms.push_back({"messages", cli::Weight::problem, checkup.fileTrouble, {}});
  }
  for (cli::Symptom& symptom : cli::symptomsOf(checkup.contents, "FILE")) {
    symptoms.push_back(std::move(symptom));
  }
  Html html;
  html.raw("<h1>Doctor</h1>\n<ul class=\"findings\" data-live=\"list\">\n").add(findings(symptoms));
  return html.raw(
      "</ul>\n<p class=\"lead\">What surrounds the file, such as permissions and the disk: <code>ackbox doctor "
      "FILE</code>. A look at every row takes time by the size of the file: <code>ackbox verify FILE</code>.</p>\n");
}

}  // namespace ackbox::serve::page
