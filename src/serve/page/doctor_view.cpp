#include <algorithm>
#include <functional>
#include <utility>

#include "records/symptoms.hpp"
#include "records/text.hpp"
#include "serve/page/views.hpp"

namespace ackbox::serve::page {
namespace {

/// The label of a finding's subject.
std::string titleOf(std::string about) {
  if (about == "sqlite") {
    return "SQLite";
  }
  return upperFirst(std::move(about));
}

Html findings(const std::vector<records::Symptom>& symptoms) {
  Html html;
  for (const records::Symptom& symptom : symptoms) {
    html.raw("<li data-level=\"").text(records::nameOf(symptom.weight)).raw("\"><strong>").text(titleOf(symptom.about));
    html.raw("</strong> <span>");
    if (symptom.weight != records::Weight::ok) {
      html.add(badge(records::nameOf(symptom.weight))).raw(" ");
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
  const bool isFile = checkup.contents.info.serverVersion.empty();
  const std::string size = records::bytesText(stats.fileBytes);
  std::vector<records::Symptom> symptoms;
  if (isFile) {
    symptoms.push_back(
        {"file", records::Weight::ok, size + ", of which " + records::bytesText(stats.freeBytes) + " are free", {}});
    symptoms.push_back(records::logSymptom(stats.walBytes));
  } else {
    symptoms.push_back({"database", records::Weight::ok, size + " in all its schemas", {}});
  }
  symptoms.push_back({"store", records::Weight::ok, checkup.contents.info.origin, {}});
  symptoms.push_back({"processes", records::Weight::ok, "agents: " + records::listed(checkup.processIds), {}});
  symptoms.insert(symptoms.end(), checkup.troubles.begin(), checkup.troubles.end());
  const std::string name = isFile ? "FILE" : "URL";
  for (records::Symptom& symptom : records::symptomsOf(checkup.contents, name)) {
    symptoms.push_back(std::move(symptom));
  }
  std::ranges::stable_sort(symptoms, std::ranges::greater(), &records::Symptom::weight);
  Html html;
  html.raw("<h1>Doctor</h1>\n<ul class=\"findings\" data-live=\"list\">\n").add(findings(symptoms));
  html.raw("</ul>\n<p class=\"lead\">");
  if (isFile) {
    html.raw("What surrounds the file, such as permissions and the disk: <code>ackbox doctor FILE</code>. ");
  }
  html.raw("A look at every row takes time by the number of rows: <code>ackbox verify ").text(name);
  html.raw("</code>.</p>\n<p class=\"lead\">This page sends no alerts. A monitor does: by the figures at ");
  return html.raw("<code>/metrics</code>, or by <code>ackbox check ").text(name).raw("</code>.</p>\n");
}

}  // namespace ackbox::serve::page
