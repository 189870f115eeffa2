# Makes a ctest entry of each case of a doctest program, in place of doctest's own script, which cuts a name at each
# semicolon: the pieces then name no case, run nothing and pass. An entry that runs no case fails.
execute_process(COMMAND ${TEST_EXECUTOR} "${TEST_EXECUTABLE}" --list-test-cases
                OUTPUT_VARIABLE output WORKING_DIRECTORY "${TEST_WORKING_DIR}" COMMAND_ERROR_IS_FATAL ANY)
# The list separator must not occur in elements; no name contains a carriage return.
string(REPLACE ";" "\r" output "${output}")
string(REPLACE "\n" ";" output "${output}")

set(properties)
foreach(property IN LISTS TEST_PROPERTIES)
  string(APPEND properties " [==[${property}]==]")
endforeach()

set(script)
foreach(line IN LISTS output)
  if(line STREQUAL "" OR line MATCHES "^====" OR line MATCHES "^\\[doctest\\] ")
    continue()
  endif()
  string(REPLACE "\r" ";" name "${line}")
  # A comma separates filters.
  string(REPLACE "," "\\," filter "${name}")
  string(APPEND script
         "add_test([==[${TEST_PREFIX}${name}]==] ${TEST_EXECUTOR} [==[${TEST_EXECUTABLE}]==] [==[--test-case=${filter}]==])\n"
         "set_tests_properties([==[${TEST_PREFIX}${name}]==] PROPERTIES WORKING_DIRECTORY [==[${TEST_WORKING_DIR}]==]"
         " FAIL_REGULAR_EXPRESSION [==[test cases: +0 [|]]==]${properties})\n")
endforeach()
file(WRITE "${CTEST_FILE}" "${script}")
