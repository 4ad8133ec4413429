#!/usr/bin/python3
"""Runs the shell examples of README.md and docs/ that are marked to be run.

A fenced block is run, line by line continuation included, when the line before it is `<!-- run -->` or
`<!-- run: exit N -->`. It runs in the repository root with the built weft first in PATH and a history of its own.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

EXAMPLE = re.compile(r"<!-- run(?:: exit (\d+))? -->\n+```sh\n(.*?)```", re.S)


def run(page, script, wanted, environment, root):
    done = subprocess.run(["bash", "-euc", script], cwd=root, env=environment, capture_output=True, text=True, timeout=100)
    if done.returncode == wanted:
        return True
    print(f"{page}: exit status {done.returncode}, wanted {wanted}:\n{script}\n{done.stdout}\n{done.stderr}")
    return False


def main():
    root, programs = map(pathlib.Path, sys.argv[1:3])
    failed = ran = 0
    with tempfile.TemporaryDirectory() as scratch:
        environment = dict(os.environ, PATH=f"{programs}:{os.environ['PATH']}", WEFT_DB=f"{scratch}/weft.db", HOME=scratch)
        for page in [root / "README.md", *sorted((root / "docs").glob("*.md"))]:
            for status, script in EXAMPLE.findall(page.read_text()):
                ran += 1
                failed += not run(page.relative_to(root), script, int(status or 0), environment, root)
    print(f"{ran} examples run, {failed} failed")
    return 1 if failed or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
