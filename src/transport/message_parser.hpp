#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ackbox::transport {

/// How much is read at once before a message's headers are whole, and the buffer that an idle connection keeps.
inline constexpr std::size_t kFirstReadBytes = 4096;
/// How much of a body is read at once.
inline constexpr std::size_t kBodyReadBytes = std::size_t{32} * 1024;

/// The parts of one HTTP message, as they are parsed. Headers are kept in one piece of memory, of at most the parser's
/// header limit. Trailers are checked and dropped: nothing after a body may change what the headers said of it. The
/// body grows with the bytes that have come, whatever length was announced.
///
/// Throws nothing but `std::bad_alloc`.
template <bool IsRequest>
class MessageParser final : public boost::beast::http::basic_parser<IsRequest> {
public:
  using Error = boost::system::error_code;

  struct Field {
    std::string_view name;
    std::string_view value;
  };

  /// `headerBytesMax` and `bodyBytesMax` set the parser's own limits.
  MessageParser(std::size_t headerBytesMax, std::size_t bodyBytesMax) {
    this->header_limit(static_cast<std::uint32_t>(headerBytesMax));
    this->body_limit(bodyBytesMax);
  }

  /// Like `put`, but takes at most the rest of the headers, or of the message after them. Refuses a header that is
  /// folded over lines: RFC 9112 lets every proxy replace or read the fold differently.
  std::size_t take(boost::asio::const_buffer bytes, Error& error) {
    const bool isInHeader = !this->is_header_done();
    this->eager(!isInHeader);
    const std::size_t taken = this->put(bytes, error);
    if (isInHeader && isFolded({static_cast<const char*>(bytes.data()), taken})) {
      error = boost::beast::http::error::bad_value;
    }
    return taken;
  }

  /// 10 or 11.
  [[nodiscard]] int version() const noexcept { return version_; }
  /// For a request.
  [[nodiscard]] boost::beast::http::verb method() const noexcept { return method_; }
  [[nodiscard]] std::string_view target() const noexcept { return target_; }
  /// For an answer.
  [[nodiscard]] int status() const noexcept { return status_; }

  [[nodiscard]] std::size_t fields() const noexcept { return places_.size(); }
  [[nodiscard]] Field field(std::size_t index) const {
    const Place& place = places_[index];
    const std::string_view text(text_);
    return {text.substr(place.begin, place.nameBytes), text.substr(place.begin + place.nameBytes, place.valueBytes)};
  }
  /// How often a header occurs; the case of the name is ignored.
  [[nodiscard]] std::size_t count(std::string_view name) const {
    std::size_t found = 0;
    for (std::size_t index = 0; index < places_.size(); ++index) {
      found += isNamed(index, name) ? 1U : 0U;
    }
    return found;
  }
  /// The value of the first header with this name; empty if it is absent.
  [[nodiscard]] std::string_view operator[](std::string_view name) const {
    for (std::size_t index = 0; index < places_.size(); ++index) {
      if (isNamed(index, name)) {
        return field(index).value;
      }
    }
    return {};
  }

  [[nodiscard]] std::string& body() noexcept { return body_; }
  [[nodiscard]] const std::string& body() const noexcept { return body_; }

private:
  using Verb = boost::beast::http::verb;
  using Text = boost::beast::string_view;

  // Offsets into text_.
  struct Place {
    std::uint32_t begin;
    std::uint32_t nameBytes;
    std::uint32_t valueBytes;
  };

  [[nodiscard]] static bool isFolded(std::string_view lines) {
    for (std::size_t end = lines.find("\r\n"); end != std::string_view::npos; end = lines.find("\r\n", end + 2)) {
      if (end + 2 < lines.size() && (lines[end + 2] == ' ' || lines[end + 2] == '\t')) {
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] bool isNamed(std::size_t index, std::string_view name) const {
    return places_[index].nameBytes == name.size() && boost::beast::iequals(field(index).name, name);
  }

  // Beast defines these names.
  void on_request_impl(Verb verb, Text /*method*/, Text target, int version, Error& error) override {
    method_ = verb;
    target_.assign(target.data(), target.size());
    version_ = version;
    error = {};
  }
  void on_response_impl(int code, Text /*reason*/, int version, Error& error) override {
    status_ = code;
    version_ = version;
    error = {};
  }
  void on_field_impl(boost::beast::http::field /*field*/, Text name, Text value, Error& error) override {
    error = {};
    if (this->is_header_done()) {
      return;
    }
    places_.push_back({static_cast<std::uint32_t>(text_.size()), static_cast<std::uint32_t>(name.size()),
                       static_cast<std::uint32_t>(value.size())});
    text_.append(name.data(), name.size()).append(value.data(), value.size());
  }
  void on_header_impl(Error& error) override { error = {}; }
  void on_body_init_impl(const boost::optional<std::uint64_t>& /*announced*/, Error& error) override { error = {}; }
  std::size_t on_body_impl(Text piece, Error& error) override {
    error = {};
    return append(piece);
  }
  void on_chunk_header_impl(std::uint64_t /*size*/, Text /*extension*/, Error& error) override { error = {}; }
  std::size_t on_chunk_body_impl(std::uint64_t /*left*/, Text piece, Error& error) override {
    error = {};
    return append(piece);
  }
  void on_finish_impl(Error& error) override { error = {}; }

  // Grows as a string does, with the bytes that have come.
  std::size_t append(Text piece) {
    body_.append(piece.data(), piece.size());
    return piece.size();
  }

  Verb method_ = Verb::unknown;
  int version_ = 0;
  int status_ = 0;
  std::string target_;
  // Names and values, one after the other.
  std::string text_;
  std::vector<Place> places_;
  std::string body_;
};

}  // namespace ackbox::transport
