#!/usr/bin/env bash
# Fuzzes every target, one after the other, with AddressSanitizer and UndefinedBehaviorSanitizer.
#
#   tests/fuzz/campaign.sh [SECONDS each, default 60] [TARGET...]
#
# Builds with clang in build/fuzz. What is new goes to build/fuzz/corpus; what breaks a target stays in
# build/fuzz/findings, to be added to tests/fuzz/corpus/TARGET with its cure. The last lines say what was tried.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
seconds=${1:-60}
shift || true
targets=("$@")
[[ ${#targets[@]} -gt 0 ]] || targets=(request foreign answer json signature url http_server http_client cli_input)

cmake -G Ninja -S . -B build/fuzz -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_COMPILER=clang++ \
  -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1" -DACKBOX_SANITIZE=address,undefined,fuzzer-no-link -DACKBOX_FUZZ=ON \
  -DACKBOX_BUILD_EXAMPLES=OFF >/dev/null
ninja -C build/fuzz "${targets[@]/#/fuzz_}" >/dev/null
mkdir -p build/fuzz/findings
summary=()
status=0
for target in "${targets[@]}"; do
  mkdir -p "build/fuzz/corpus/$target"
  log=build/fuzz/$target.log
  echo "== $target, $seconds s"
  # A pause of the machine is no stall: 60 s. Inputs may be larger than any buffer of one connection.
  build/fuzz/tests/fuzz/fuzz_"$target" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=2048 -max_len=131072 \
    -print_final_stats=1 -artifact_prefix="build/fuzz/findings/$target-" -dict=tests/fuzz/words.dict \
    "build/fuzz/corpus/$target" "tests/fuzz/corpus/$target" >"$log" 2>&1 || status=1
  executed=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -n 1)
  coverage=$(grep -o 'cov: [0-9]*' "$log" | tail -n 1)
  found=$(find build/fuzz/findings -name "$target-*" | wc -l)
  summary+=("$target: ${executed:-broken off} inputs, ${coverage:-no coverage}, $found findings")
done
printf '%s\n' "${summary[@]}"
exit "$status"
