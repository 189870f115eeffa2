# Reads ctest's LastTest.log, and tells of the cases of the tests that ran several in a process (discover_tests.cmake):
# `time SECONDS PROGRAM: CASE` of each that ended, `bad PROGRAM: CASE, how` of each that failed or did not end, and at
# last `more PASSED FAILED`: how many more cases have passed and failed than tests.
/^[0-9]+\/[0-9]+ Test: / {
  program = $0
  sub(/^[^:]*: /, "", program)
  sub(/:.*/, "", program)
  begun = open = ""
  good = bad = 0
}

# What a test prints may end without the end of a line.
match($0, /CASE BEGINS: /) {
  open = begun = substr($0, RSTART + RLENGTH)
}

match($0, /CASE (PASSED|FAILED) in [0-9.]+ s: /) {
  verdict = substr($0, RSTART + 5, 6)
  seconds = substr($0, RSTART + 15, RLENGTH - 19)
  print "time " seconds " " program ": " substr($0, RSTART + RLENGTH)
  if (verdict == "PASSED") {
    ++good
  } else {
    ++bad
    print "bad " program ": " open ", failed"
  }
  open = ""
}

/^Test (Passed|Failed)\.$/ && begun != "" {
  if (open != "") {
    ++bad
    print "bad " program ": " open ", did not end: it crashed or hung, and the cases behind it did not run"
  } else if ($2 == "Failed." && bad == 0) {
    ++bad
    print "bad " program ": after its last case " begun
  }
  passed += good - ($2 == "Passed.")
  failed += bad - ($2 == "Failed.")
  begun = open = ""
}

END { printf "more %d %d\n", passed, failed }
