#include "serve/page/record_html.hpp"

namespace ackbox::serve::page {

Html valueHtml(const records::Value& value, records::Form form, WallTime now) {
  Html html;
  if (records::isNone(value, form)) {
    return html.raw("<span class=\"none\">–</span>");
  }
  if (const WallTime* const instant = std::get_if<WallTime>(&value)) {
    return ago(now, *instant);
  }
  if (const std::int64_t* const number = std::get_if<std::int64_t>(&value);
      number != nullptr && (form == records::Form::plain || form == records::Form::ordinal)) {
    return html.number(static_cast<std::uint64_t>(*number));
  }
  const std::string text = records::textOf(value, form);
  return form == records::Form::id      ? html.raw("<span class=\"id\">").text(text).raw("</span>")
         : form == records::Form::error ? errorText(text)
                                        : breakable(text);
}

void addFact(Html& html, std::string_view label, const Html& value) {
  if (!value.str().empty()) {
    html.raw("<dt>").text(label).raw("</dt><dd>").add(value).raw("</dd>\n");
  }
}

}  // namespace ackbox::serve::page
