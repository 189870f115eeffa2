#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>

namespace {

/// Prints when a case begins and how it ended, where many cases share a process (discover_tests.cmake): tests/run
/// counts the cases, and one that crashes or hangs is the one that has not ended.
class CaseLines : public doctest::IReporter {
public:
  explicit CaseLines(const doctest::ContextOptions& options)
      : isWanted_(!options.list_test_cases && std::getenv("ACKBOX_TESTS_BY_FILE") != nullptr) {}

  void test_case_start(const doctest::TestCaseData& data) override {
    name_ = data.m_name;
    if (isWanted_) {
      std::printf("CASE BEGINS: %s:%u: %s\n", data.m_file.c_str(), data.m_line, name_);
      (void)std::fflush(stdout);
    }
  }
  void test_case_end(const doctest::CurrentTestCaseStats& result) override {
    if (isWanted_) {
      std::printf("CASE %s in %.2f s: %s\n", result.testCaseSuccess ? "PASSED" : "FAILED", result.seconds, name_);
      (void)std::fflush(stdout);
    }
  }

  void report_query(const doctest::QueryData& /*query*/) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats& /*result*/) override {}
  void test_case_reenter(const doctest::TestCaseData& /*data*/) override {}
  void test_case_exception(const doctest::TestCaseException& /*exception*/) override {}
  void subcase_start(const doctest::SubcaseSignature& /*subcase*/) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData& /*assertion*/) override {}
  void log_message(const doctest::MessageData& /*message*/) override {}
  void test_case_skipped(const doctest::TestCaseData& /*data*/) override {}

private:
  const bool isWanted_;
  const char* name_ = "";
};

REGISTER_LISTENER("case_lines", 1, CaseLines);

}  // namespace
