#!/usr/bin/env bash
# Goal: both packages carry the project's version, and are complete; a wheel is made twice with the same bytes.
# Method: make them from python3 and npm alone, offline, and look inside.
#   packages.sh SOURCE_DIR VERSION
set -euo pipefail
source=$1 version=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$source/clients" "$work"
mkdir "$work/again"
wheel=$(cd / && python3 "$work/clients/python/build_backend.py" "$work/wheel")
again=$(cd / && python3 "$work/clients/python/build_backend.py" "$work/again")
cmp "$wheel" "$again"
[[ $(basename "$wheel") == "ackbox-$version-py3-none-any.whl" ]] || { echo "the wheel is $wheel" >&2; exit 1; }
python3 - "$wheel" <<'END'
import base64, hashlib, sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
names = archive.namelist()
assert "ackbox/py.typed" in names and "ackbox/__init__.py" in names, names
record = [line.rsplit(",", 2) for name in names if name.endswith("/RECORD") for line in archive.read(name).decode().split()]
assert sorted(entry[0] for entry in record) == sorted(names), names
for name, digest, size in record:
    if digest:
        content = archive.read(name)
        wanted = "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        assert (wanted, str(len(content))) == (digest, size), name
END
cd "$work/clients/typescript"
packed=$(npm pack --silent --offline)
[[ $packed == "ackbox-$version.tgz" ]] || { echo "the npm package is $packed" >&2; exit 1; }
files=$(tar -tzf "$packed")
for file in package/package.json package/README.md package/lib/index.js package/lib/index.d.ts; do
  grep -qx "$file" <<<"$files" || { echo "$packed has no $file" >&2; exit 1; }
done
# Where pip is there, it takes the folder and the wheel.
if python3 -m pip --version >/dev/null 2>&1 && python3 -m venv "$work/environment" 2>/dev/null; then
  "$work/environment/bin/python" -m pip install --quiet --no-index --disable-pip-version-check "$wheel"
  "$work/environment/bin/python" -c 'import ackbox; assert ackbox.Client'
  "$work/environment/bin/python" -m pip uninstall --quiet --yes ackbox
  "$work/environment/bin/python" -m pip install --quiet --no-index --disable-pip-version-check "$work/clients/python"
  (cd / && "$work/environment/bin/python" -c 'import ackbox; assert ackbox.Client')
fi
