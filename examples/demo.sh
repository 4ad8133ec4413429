#!/usr/bin/env bash
# Eight local nodes, one of them slowed on purpose: weft has to name it. Installs what is missing and builds first.
set -euo pipefail
cd "$(dirname "$0")/.."
. tests/install_packages.sh

install_packages tests/packages.txt
echo "Building weft (some minutes the first time) …"
cmake --preset release >/dev/null
cmake --build --preset release --target weft weft-rank-gloo
weft=build/release/bin/weft
export WEFT_DB=$PWD/build/demo.db

cat <<'TEXT'

Eight processes on this machine play nodes. Their links are emulated at 200 Mbit/s, and node5 is made 30 % slower.
The search is told neither: it measures real all-reduces over TCP and has to find out.

TEXT
status=0
verdict=$("$weft" bisect --launcher local --nodes 8 --probe gloo --bytes 1M \
  --inject 'node[1-8]:rate=200Mbit' --inject 'node5:delay=30%') || status=$?
printf '%s\n' "$verdict"

if [ "$status" -ne 1 ] || ! grep -q '^DEGRADED: node node5\.' <<<"$verdict"; then
  echo "The demo failed: weft should have named node5 (exit status 1, it was $status)." >&2
  exit 1
fi

printf '\nweft named node5. The run is kept, with every sample; weft history list:\n\n'
"$weft" history list --limit 5
cat <<TEXT

Next:
  $weft history show RUN --db build/demo.db
  $weft bisect --probe sim --fabric examples/fabric-rail-optimised.yaml --faults examples/faults.yaml
  $weft bisect --help                     your own nodes, and your own nccl-tests command (--probe exec)
  less README.md                          five minutes for each kind of user
TEXT
