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
  std::vector<records::Symptom> symptoms = {
      {"file",
       records::Weight::ok,
       records::bytesText(stats.fileBytes) + ", of which " + records::bytesText(stats.freeBytes) + " are free",
       {}},
      {"store", records::Weight::ok, checkup.contents.info.origin, {}},
      records::logSymptom(stats.walBytes),
      {"processes", records::Weight::ok, "agents: " + records::listed(checkup.processIds), {}},
  };
  symptoms.insert(symptoms.end(), checkup.troubles.begin(), checkup.troubles.end());
  for (records::Symptom& symptom : records::symptomsOf(checkup.contents, "FILE")) {
    symptoms.push_back(std::move(symptom));
  }
  std::ranges::stable_sort(symptoms, std::ranges::greater(), &records::Symptom::weight);
  Html html;
  html.raw("<h1>Doctor</h1>\n<ul class=\"findings\" data-live=\"list\">\n").add(findings(symptoms));
  return html.raw(
      "</ul>\n<p class=\"lead\">What surrounds the file, such as permissions and the disk: <code>ackbox doctor "
      "FILE</code>. A look at every row takes time by the size of the file: <code>ackbox verify FILE</code>.</p>\n<p "
      "class=\"lead\">This page sends no alerts. A monitor does: by the figures "
      "at <code>/metrics</code>, or by <code>ackbox check FILE</code>.</p>\n");
}

}  // namespace ackbox::serve::page
