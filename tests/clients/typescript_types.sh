#!/usr/bin/env bash
# Goal: what the TypeScript package ships is what its sources compile to, and an application compiles against its types.
# Method: the compiler from the npm registry; without one that answers, it says so and is left out.
#   typescript_types.sh SOURCE_DIR
set -euo pipefail
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$source/tests/clients/install_typescript" "$source" "$work"
cp -r "$source/clients/typescript" "$work/client"
cd "$work"
echo '{"private":true,"type":"module"}' >package.json
mv node_modules/ackbox "$work/packed"
if ! npm install --no-audit --no-fund --loglevel=error typescript@5.9.3 @types/node@18.19.130 2>npm.log; then
  cat npm.log >&2
  if grep -qE 'ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT' npm.log; then
    echo "left out: this test needs the npm registry, which does not answer"
    exit 77
  fi
  exit 1
fi
mv "$work/packed" node_modules/ackbox
rm -r client/lib
node_modules/.bin/tsc -p client
diff -r client/lib "$source/clients/typescript/lib"
echo "lib is what src compiles to"

# The README's second program, without a driver, and a wrong one.
sed -n '/^```ts$/,/^```$/p' "$source/clients/typescript/README.md" | sed '/^```/d' >application.ts
cat >pg.d.ts <<'END'
declare module 'pg' {
  class Client {
    query(sql: string, values?: unknown[]): Promise<{ rowCount: number | null; rows: Record<string, unknown>[] }>;
    release(): void;
  }
  const pg: { Pool: new () => { connect(): Promise<Client> } };
  export default pg;
}
END
echo "import { Client } from 'ackbox'; new Client('http://127.0.0.1').enqueue('bob', 7);" >wrong.ts
cp "$source/examples/20_typescript_agent/main.mjs" .
# All in one run of the compiler, which finds the wrong one, and nothing else.
options=(--strict --noEmit --target es2022 --module nodenext --moduleResolution nodenext --types node --allowJs --checkJs)
if found=$(node_modules/.bin/tsc "${options[@]}" application.ts pg.d.ts main.mjs wrong.ts); then
  echo "FAILED: a wrong program compiles" >&2
  exit 1
fi
if [[ $(grep -c 'error TS' <<<"$found") != 1 || $found != wrong.ts* ]]; then
  printf 'FAILED: of three programs, one is wrong, and the compiler says:\n%s\n' "$found" >&2
  exit 1
fi
