// Says at the end of a run how many promises were tried, and on what.

#include <doctest/doctest.h>

#include <cstdio>

#include "store_conformance/store_under_test.hpp"

namespace ackbox::testing {
namespace {

struct Report final : doctest::IReporter {
  explicit Report(const doctest::ContextOptions& /*options*/) {}
  void report_query(const doctest::QueryData& /*query*/) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats& run) override {
    std::printf("store_conformance: %u of %u promises were tried on %s, %u are broken\n",
                run.numTestCasesPassingFilters, run.numTestCases, makeStoreUnderTest()->name().c_str(),
                run.numTestCasesFailed);
  }
  void test_case_start(const doctest::TestCaseData& /*test*/) override {}
  void test_case_reenter(const doctest::TestCaseData& /*test*/) override {}
  void test_case_end(const doctest::CurrentTestCaseStats& /*stats*/) override {}
  void test_case_exception(const doctest::TestCaseException& /*exception*/) override {}
  void subcase_start(const doctest::SubcaseSignature& /*subcase*/) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData& /*assert*/) override {}
  void log_message(const doctest::MessageData& /*message*/) override {}
  void test_case_skipped(const doctest::TestCaseData& /*test*/) override {}
};

REGISTER_LISTENER("promises", 1, Report);

}  // namespace
}  // namespace ackbox::testing
