#include "serve/page/views.hpp"

namespace ackbox::serve::page {

Html loginView(const View& view, const std::string& next, std::string_view problem) {
  Html html;
  html.raw("<form class=\"login\" method=\"post\" action=\"").text(view.root).raw("login\">\n<h1>ackbox</h1>\n");
  html.raw(
      "<p>Log in with a token that has the role <code>read</code>. It is in this server's <code>tokens_file</code>, "
      "and "
      "stands for you for twelve hours.</p>\n");
  if (!problem.empty()) {
    html.raw("<p class=\"problem\" role=\"alert\">").text(problem).raw("</p>\n");
  }
  html.raw(
      "<label>Token <input type=\"password\" name=\"token\" autocomplete=\"current-password\" required "
      "autofocus></label>\n");
  html.raw("<input type=\"hidden\" name=\"next\" value=\"").text(next).raw("\">\n");
  return html.raw("<button type=\"submit\">Log in</button>\n</form>\n");
}

Html noticeView(const View& view, std::string_view title, std::string_view text) {
  Html html;
  html.raw("<h1>").text(title).raw("</h1>\n<p class=\"lead\">").text(text).raw("</p>\n<p>");
  return html.add(link(view, "", "Back to the overview")).raw("</p>\n");
}

}  // namespace ackbox::serve::page
