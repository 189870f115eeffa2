#!/usr/bin/env bash
# Goal: the page of `ackbox serve` does in a browser what it promises, and shows no text of an attacker as markup.
# Method: Debian's chromium, driven by playwright-core, on a daemon with a login whose peer rejects some types.
#
#   run.sh ACKBOX [FOLDER]
#
#   FOLDER   where screenshots are put; none are made without it
#
# No part of tests/run: chromium is 100 MB of packages that nothing else needs. Ends with 77 where it is missing.
set -euo pipefail
ackbox=$(realpath "$1") folder=$([[ $# -ge 2 ]] && realpath "$2" || echo -)
source=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
if ! chromium=$(command -v chromium); then
  echo "left out: THE PAGE WAS NOT TESTED IN A BROWSER; this test needs chromium: apt-get install chromium"
  exit 77
fi
work=$(mktemp -d)
processes=()
end() {
  [[ ${#processes[@]} -eq 0 ]] || kill "${processes[@]}" 2>/dev/null || true
  wait
  rm -rf "$work"
}
trap end EXIT
cp "$source"/{package.json,package-lock.json,page.mjs} "$work/"
cd "$work"
if ! npm ci --ignore-scripts --no-audit --no-fund --loglevel=error 2>npm.log; then
  cat npm.log >&2
  if grep -qE 'ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT' npm.log; then
    echo "left out: THE PAGE WAS NOT TESTED IN A BROWSER; this test needs the npm registry, which does not answer"
    exit 77
  fi
  exit 1
fi
token=$(head -c 32 /dev/urandom | base64 -w0 | tr -d '+/=')
(umask 077 && printf 'ops read,operate,send %s\n' "$token" >tokens)

# peer.mjs answers on a free port, and the daemon chooses one, too.
cat >peer.mjs <<'PEER'
import { createServer } from 'node:http';
const server = createServer((request, response) => {
  const parts = [];
  request.on('data', (part) => parts.push(part));
  request.on('end', () => {
    const isBad = JSON.parse(Buffer.concat(parts).toString()).type === 'bad';
    response.writeHead(isBad ? 422 : 200).end();
  });
}).listen(0, '127.0.0.1', () => console.log(server.address().port));
PEER
node peer.mjs >peer.out &
processes+=($!)
until [[ -s peer.out ]]; do read -r -t 0.1 <> <(:) || true; done
cat >serve.json <<CONFIG
{"listen": "127.0.0.1:0", "tokens_file": "$work/tokens",
 "peers": [{"name": "bob", "url": "http://127.0.0.1:$(cat peer.out)/", "profile": "webhook"},
           {"name": "away", "url": "http://127.0.0.1:1/"}]}
CONFIG
touch serve.out
"$ackbox" serve outbox.db --config serve.json >serve.out 2>serve.log &
processes+=($!)
until grep -q '^listening on ' serve.out; do
  kill -0 "${processes[1]}" || { cat serve.log; exit 1; }
  read -r -t 0.1 <> <(:) || true
done
url=$(sed -n 's/^listening on //p' serve.out)
node page.mjs "$chromium" "$url" "$folder" "$token"
