// `doctor`: findings about an outbox and its surroundings, with advice.

#include <algorithm>

#include "cli/commands.hpp"
#include "cli/doctor_checks.hpp"
#include "cli/exit_code.hpp"

namespace ackbox::cli {
namespace {

// As wide as the longest names, so that the columns do not depend on the findings.
constexpr std::size_t kWeightWidth = 9;
constexpr std::size_t kAboutWidth = 13;

std::string padded(std::string_view text, std::size_t width) {
  std::string made(text);
  made.resize(std::max(width, made.size()), ' ');
  return made;
}

}  // namespace

int doctor(Console& console, const Arguments& arguments) {
  const std::vector<records::Symptom> symptoms = examine(console.world(), arguments);
  for (const records::Symptom& symptom : symptoms) {
    if (console.json()) {
      console.line(json::Line()
                       .add("about", symptom.about)
                       .add("weight", nameOf(symptom.weight))
                       .add("text", symptom.text)
                       .add("advice", symptom.advice));
      continue;
    }
    console.say(padded(nameOf(symptom.weight), kWeightWidth) + padded(symptom.about, kAboutWidth) + symptom.text);
    if (!symptom.advice.empty()) {
      console.say(std::string(kWeightWidth + kAboutWidth, ' ') + "-> " + symptom.advice);
    }
  }
  const bool isBad = std::any_of(symptoms.begin(), symptoms.end(), [](const records::Symptom& symptom) {
    return symptom.weight == records::Weight::problem;
  });
  return isBad ? kProblems : kDone;
}

}  // namespace ackbox::cli
