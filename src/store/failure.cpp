#include "store/failure.hpp"

#include <SQLiteCpp/Exception.h>

#include <new>

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

}  // namespace ackbox::store
