#!/usr/bin/python3
"""Runs the shell examples of README.md and docs/ that are marked to be run.

The line before such a block is `<!-- run -->`, or `<!-- run: exit N -->` where weft ends with another status than 0.
Each runs in a directory of its own, beside a copy of examples/, with the built weft first in PATH and a history of
its own.

    run_examples.py REPOSITORY FOLDER_OF_PROGRAMS
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

EXAMPLE = re.compile(r"^<!-- run(?:: exit (\d+))? -->\n```sh\n(.*?)^```$", re.S | re.M)
MARK = re.compile(r"^<!-- *run", re.M)


def run(script, wanted, root, programs):
    """None when the script ends with the wanted status, else what happened."""
    with tempfile.TemporaryDirectory(prefix="weft-docs-") as scratch:
        shutil.copytree(root / "examples", f"{scratch}/examples")
        environment = dict(os.environ, PATH=f"{programs}:{os.environ['PATH']}", WEFT_DB=f"{scratch}/weft.db", HOME=scratch)
        done = subprocess.run(["bash", "-euc", script], cwd=scratch, env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=100)
    if done.returncode == wanted:
        return None
    return f"exit status {done.returncode}, wanted {wanted}:\n{script}\n{done.stdout}\n{done.stderr}"


def main():
    root, programs = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    ran, failures = 0, []
    for page in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
        text = page.read_text(encoding="utf-8")
        examples = EXAMPLE.findall(text)
        if len(examples) != len(MARK.findall(text)):
            failures.append(f"{page}: a mark to run is not `<!-- run -->` or `<!-- run: exit N -->` right above a ```sh block")
        for status, script in examples:
            ran += 1
            failure = run(script, int(status or 0), root, programs)
            if failure:
                failures.append(f"{page}: {failure}")
    print(*failures, f"{ran} examples run", sep="\n")
    return 1 if failures or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
