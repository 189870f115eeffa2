#include "serve/page/assets.hpp"

#include <openssl/sha.h>

#include <array>
#include <initializer_list>

#include "base/hex.hpp"

// The build compresses each file and defines the folder's name; GCC 12 has no #embed. A read-only section without
// alignment.
#define ACKBOX_EMBED(symbol, file)                                                                          \
  __asm__(".pushsection .rodata\n.global " #symbol "\n" #symbol ":\n.incbin \"" ACKBOX_PAGE_ASSETS "/" file \
          "\"\n"                                                                                            \
          ".global " #symbol "End\n" #symbol "End:\n.byte 0\n.popsection\n")

ACKBOX_EMBED(ackboxPageCss, "page.css.gz");
ACKBOX_EMBED(ackboxPageJs, "page.js.gz");
ACKBOX_EMBED(ackboxPageIcon, "icon.svg.gz");

extern "C" {
extern const char ackboxPageCss[];
extern const char ackboxPageCssEnd[];
extern const char ackboxPageJs[];
extern const char ackboxPageJsEnd[];
extern const char ackboxPageIcon[];
extern const char ackboxPageIconEnd[];
}

namespace ackbox::serve::page {
namespace {

constexpr std::size_t kHashBytes = 8;

Asset made(const char* first, const char* last, std::string_view contentType, std::string_view ending) {
  const std::string_view bytes(first, static_cast<std::size_t>(last - first));
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): OpenSSL's bytes are unsigned.
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  std::string name = "page." + hexOf(std::span(digest).first(kHashBytes));
  return {bytes, contentType, name.append(ending)};
}

}  // namespace

const Asset& styleSheet() {
  static const Asset asset = made(&ackboxPageCss[0], &ackboxPageCssEnd[0], "text/css; charset=utf-8", ".css");
  return asset;
}

const Asset& script() {
  static const Asset asset = made(&ackboxPageJs[0], &ackboxPageJsEnd[0], "text/javascript; charset=utf-8", ".js");
  return asset;
}

const Asset& icon() {
  static const Asset asset = made(&ackboxPageIcon[0], &ackboxPageIconEnd[0], "image/svg+xml", ".svg");
  return asset;
}

const Asset* findAsset(std::string_view name) {
  for (const Asset* asset : {&styleSheet(), &script(), &icon()}) {
    if (asset->name == name) {
      return asset;
    }
  }
  return nullptr;
}

}  // namespace ackbox::serve::page
