#!/bin/sh
# Makes the fixtures in this folder again, with the packages that
# python/requirements.txt, js/package.json and go/go.mod pin. The packages go
# into the folder WORK, a temporary one by default; Node 20, Python 3.11 and Go
# are needed, and a network for the first run.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=${WORK:-$(mktemp -d)}

python3 "$here/api/make.py"

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q -r "$here/python/requirements.txt"
"$work/venv/bin/python" "$here/python/make.py"

mkdir -p "$work/js/run"
cp "$here/js/package.json" "$here/js/make.mjs" "$work/js/run"
(cd "$work/js/run" && npm install --no-audit --no-fund --silent && node make.mjs "$here")

(cd "$here/go" && go run . "$here")
