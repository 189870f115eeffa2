#include "c_abi/call.hpp"

#include <cstdlib>
#include <exception>
#include <new>
#include <system_error>

#include "ackbox/error.hpp"
#include "ackbox/receipt.hpp"

namespace ackbox::c_abi {
namespace {

// Far above any structure to come: what is larger is no size.
constexpr std::size_t kSizeMost = 4'096;

static_assert(ACKBOX_DATABASE_BUSY == static_cast<int>(Errc::databaseBusy));
static_assert(ACKBOX_SCHEMA_OUTDATED == static_cast<int>(Errc::schemaOutdated));
static_assert(ACKBOX_POOLED_CONNECTION == static_cast<int>(Errc::pooledConnection));
static_assert(ACKBOX_OUTCOME_UNKNOWN == static_cast<int>(Errc::outcomeUnknown));
static_assert(ACKBOX_QUEUE_FULL == 100 + static_cast<int>(EnqueueStatus::queueFull));
static_assert(ACKBOX_INVALID_FRAME == 100 + static_cast<int>(EnqueueStatus::invalidFrame));

thread_local std::string errorText;
// What is said where there is no memory for the text.
thread_local const char* error = "";

int statusOf(const std::error_code& code) noexcept {
  return code.category() == errorCategory() ? code.value() : ACKBOX_UNEXPECTED;
}

}  // namespace

int fail(int status, std::string_view cause) noexcept {
  try {
    errorText = cause;
    error = errorText.c_str();
  } catch (const std::bad_alloc&) {
    error = "there is no memory for the cause";
  }
  return status;
}

int failWithException() noexcept {
  try {
    throw;
  } catch (const Refusal& refusal) {
    return fail(refusal.status(), refusal.cause());
  } catch (const std::system_error& thrown) {
    return fail(statusOf(thrown.code()), thrown.what());
  } catch (const std::bad_alloc&) {
    return fail(ACKBOX_OUT_OF_MEMORY, "out of memory: free some and try again");
  } catch (const std::exception& thrown) {
    return fail(ACKBOX_UNEXPECTED, thrown.what());
  } catch (...) {
    return fail(ACKBOX_UNEXPECTED, "an exception that is no std::exception");
  }
}

const char* lastError() noexcept {
  return error;
}

void require(const void* pointer, const char* name) {
  if (pointer == nullptr) {
    throw Refusal(ACKBOX_INVALID_ARGUMENT, std::string(name) + " is NULL");
  }
}

void checkSize(std::size_t size, std::size_t least, const char* name) {
  if (size < least || size > kSizeMost) {
    throw Refusal(ACKBOX_INVALID_ARGUMENT, std::string(name) + ": struct_size is " + std::to_string(size) +
                                               ", not sizeof the structure, which is " + std::to_string(least) +
                                               " in the first release");
  }
}

bool flag(std::uint32_t value, const char* name) {
  if (value > 1) {
    throw Refusal(ACKBOX_INVALID_ARGUMENT, std::string(name) + " is neither 0 nor 1");
  }
  return value == 1;
}

char* copyOf(std::string_view text) {
  auto* const copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) {
    throw std::bad_alloc();
  }
  text.copy(copy, text.size());
  copy[text.size()] = '\0';
  return copy;
}

}  // namespace ackbox::c_abi
