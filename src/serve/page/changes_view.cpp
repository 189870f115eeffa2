#include "serve/page/views.hpp"

namespace ackbox::serve::page {

Html changesView(const View& view, const std::vector<AuditEntry>& entries) {
  Html html;
  html.raw("<h1>Changes</h1>\n<div data-live=\"list\">\n");
  if (entries.empty()) {
    return html
        .add(emptyNote("No caller has changed anything.",
                       "Changes and logins since the daemon began are listed here, and are in its log."))
        .raw("</div>\n");
  }
  html.raw(
      "<p class=\"lead\">By callers since the daemon began, the newest first; at most 200. The log has all of them ");
  html.raw("(<code>operated</code>).</p>\n");
  CardTable table("Changes", {"When", "Caller", "Operation", "Of", "#Changed"}, true);
  for (const AuditEntry& entry : entries) {
    table.cell(ago(view.now, entry.at))
        .text(entry.caller.empty() ? "–" : entry.caller)
        .text(entry.what)
        .text(entry.target)
        .number(entry.changed);
  }
  return html.add(table.html()).raw("</div>\n");
}

}  // namespace ackbox::serve::page
