#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test.
#   tests/run.sh [--preset release|debug|asan|tsan] [--filter REGEX]
set -euo pipefail
cd "$(dirname "$0")/.."
. tests/install_packages.sh

preset=release
filter=.
while [ $# -gt 0 ]; do
  case $1 in
    --preset) preset=${2:?--preset needs a name}; shift 2 ;;
    --filter) filter=${2:?--filter needs a regular expression}; shift 2 ;;
    -h | --help) sed -n '2,3s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "tests/run.sh: unknown argument '$1'; see tests/run.sh --help" >&2; exit 2 ;;
  esac
done

install_packages tests/packages.txt
cmake --preset "$preset"
cmake --build --preset "$preset"
# Two at a time on any machine: tests with emulated links play up to eight nodes each and are judged by the clock.
ctest --preset "$preset" -j2 -R "$filter" --no-tests=error --output-junit tests.xml
