// `GET /openapi.json`: the description of this program's operations.

#include <string>
#include <string_view>

#include "serve/api/operations.hpp"
#include "serve/http/answer.hpp"

// The build defines the file's name; GCC 12 has no #embed.
__asm__(".pushsection .rodata\n.global ackboxOpenApi\nackboxOpenApi:\n.incbin \"" ACKBOX_OPENAPI
        "\"\n.global ackboxOpenApiEnd\nackboxOpenApiEnd:\n.byte 0\n.popsection\n");

extern "C" {
extern const char ackboxOpenApi[];
extern const char ackboxOpenApiEnd[];
}

namespace ackbox::serve {

void showDescription(Service& /*service*/, Request&& request, Respond&& respond) {
  request.query.finish();
  const std::string_view text(&ackboxOpenApi[0], static_cast<std::size_t>(&ackboxOpenApiEnd[0] - &ackboxOpenApi[0]));
  respond(jsonAnswer(200, std::string(text)));
}

}  // namespace ackbox::serve
