#include "store/failure.hpp"

#include <SQLiteCpp/Exception.h>

#include <new>
#include <string>

#include "ackbox/error.hpp"
#include "sqlite/statement.hpp"

namespace ackbox::store {

std::error_code errorOf(const std::exception_ptr& failure) noexcept {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    return error.code();
  } catch (const SQLite::Exception& exception) {
    return ackbox::sqlite::errcOf(exception.getExtendedErrorCode());
  } catch (const std::bad_alloc&) {
    return Errc::outOfMemory;
  } catch (...) {
    return Errc::databaseError;
  }
}

std::string circumstancesOf(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    std::string text = error.what();
    const std::string message = ": " + error.code().message();
    if (text.ends_with(message)) {
      text.resize(text.size() - message.size());
    }
    return text;
  } catch (const std::bad_alloc&) {
    return {};
  } catch (const std::exception& exception) {
    return exception.what();
  } catch (...) {
    return {};
  }
}

}  // namespace ackbox::store
