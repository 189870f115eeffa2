# Makes ctest entries of a doctest program, in place of doctest's own script, which cuts a name at each semicolon: the
# pieces then name no case, run nothing and pass. An entry that runs no case fails.
#
# ctest reads the entries anew each time: as a rule there is one for each case. Where ACKBOX_TESTS_BY_FILE is set in its
# environment, as tests/run does in the short form, a program that allows it (ADD_LABELS ON) has one for each source file
# instead: under a sanitizer a process begins and ends for 0.15 s of processor time, as much as most cases take.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND ${TEST_EXECUTOR} "${TEST_EXECUTABLE}" --list-test-cases --reporters=xml
                OUTPUT_VARIABLE output WORKING_DIRECTORY "${TEST_WORKING_DIR}" COMMAND_ERROR_IS_FATAL ANY)
# The list separator must not occur in elements; no name contains a carriage return.
string(REPLACE ";" "\r" output "${output}")
string(REPLACE "\n" ";" output "${output}")

set(properties)
foreach(property IN LISTS TEST_PROPERTIES)
  string(APPEND properties " [==[${property}]==]")
endforeach()

# append_test(SCRIPT NAME FILTER): to the variable SCRIPT, an entry that runs the program with FILTER.
function(append_test script name filter)
  string(APPEND ${script}
         "add_test([==[${TEST_PREFIX}${name}]==] ${TEST_EXECUTOR} [==[${TEST_EXECUTABLE}]==] [==[${filter}]==])\n"
         "set_tests_properties([==[${TEST_PREFIX}${name}]==] PROPERTIES WORKING_DIRECTORY [==[${TEST_WORKING_DIR}]==]"
         " FAIL_REGULAR_EXPRESSION [==[test cases: +0 [|]]==]${properties})\n")
  set(${script} "${${script}}" PARENT_SCOPE)
endfunction()

set(by_case)
set(by_file)
set(files)
foreach(line IN LISTS output)
  if(NOT line MATCHES "<TestCase name=\"([^\"]*)\".* filename=\"([^\"]*)\"")
    continue()
  endif()
  set(file "${CMAKE_MATCH_2}")
  set(name "${CMAKE_MATCH_1}")
  # A reference such as &quot; ends with what was a semicolon.
  string(REPLACE "&quot\r" "\"" name "${name}")
  string(REPLACE "&lt\r" "<" name "${name}")
  string(REPLACE "&gt\r" ">" name "${name}")
  string(REPLACE "&apos\r" "'" name "${name}")
  string(REPLACE "&amp\r" "&" name "${name}")
  string(REPLACE "\r" ";" name "${name}")
  # A comma separates filters.
  string(REPLACE "," "\\," filter "${name}")
  append_test(by_case "${name}" "--test-case=${filter}")
  if(NOT file IN_LIST files)
    list(APPEND files "${file}")
    cmake_path(GET file FILENAME short)
    append_test(by_file "${short}" "--source-file=${file}")
  endif()
endforeach()
if(TEST_ADD_LABELS)
  set(by_case "if(DEFINED ENV{ACKBOX_TESTS_BY_FILE})\n${by_file}else()\n${by_case}endif()\n")
endif()
file(WRITE "${CTEST_FILE}" "${by_case}")
