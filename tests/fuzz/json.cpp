// Goal: what the JSON check lets through is JSON, and what it refuses is none, by the word of another parser; a limit
// of depth is kept. Method: the same text goes to nlohmann's SAX parser.

#include <nlohmann/json.hpp>
#include <string>

#include "check.hpp"
#include "json/fault.hpp"

namespace {

/// Accepts everything; remembers the deepest nesting, and whether the text was refused for a number's size only.
struct Listener : nlohmann::json_sax<nlohmann::json> {
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return enter(); }
  bool key(string_t&) override { return true; }
  bool end_object() override { return leave(); }
  bool start_array(std::size_t) override { return enter(); }
  bool end_array() override { return leave(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
    constexpr int kNumberOverflow = 406;
    tooLarge = error.id == kNumberOverflow;
    return false;
  }

  bool enter() {
    deepest = std::max(deepest, ++depth);
    return true;
  }
  bool leave() {
    --depth;
    return true;
  }

  std::size_t depth = 0;
  std::size_t deepest = 0;
  bool tooLarge = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace ackbox;
  const std::string_view text = fuzz::textOf(bytes, size);
  if (text.starts_with("\xEF\xBB\xBF")) {
    // nlohmann passes over a byte order mark; RFC 8259 lets a parser refuse it.
    return 0;
  }
  if (text.find('\0') != std::string_view::npos) {
    // nlohmann takes it for the end of the text; no JSON has one.
    fuzz::require(json::findFault(text, 1U << 20U) != json::Fault::none, "a NUL gets through");
    return 0;
  }
  constexpr std::size_t kDepthMax = 8;
  Listener listener;
  const bool accepted = nlohmann::json::sax_parse(text.begin(), text.end(), &listener);
  if (listener.tooLarge) {
    return 0;
  }
  const json::Fault fault = json::findFault(text, 1U << 20U);
  // RFC 8259's grammar has lone surrogates in escapes, which nlohmann, who decodes them, refuses.
  const bool mayHaveLoneSurrogate = text.find("\\u") != std::string_view::npos;
  fuzz::require(!accepted || fault == json::Fault::none, "JSON is refused");
  fuzz::require(accepted || fault != json::Fault::none || mayHaveLoneSurrogate, "what is no JSON gets through");
  if (accepted) {
    const bool fits = listener.deepest <= kDepthMax;
    fuzz::require(fits == (json::findFault(text, kDepthMax) == json::Fault::none), "the depth is miscounted");
  }
  return 0;
}
