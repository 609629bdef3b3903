"""Run the examples of a Markdown document with the installed package, and fail where one does.

The tests compare the printed lines too; this needs nothing but the package, so that it runs wherever a wheel does.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path


def main(document: str) -> None:
    """Run all console and Python examples in a document, in order, in the current folder."""
    scripts = sysconfig.get_path("scripts")
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([scripts, os.environ["PATH"]]),
        "NO_COLOR": "1",
        "COLUMNS": "80",
    }
    names: dict[str, object] = {}
    commands = examples = 0
    for language, block in re.findall(
        r"^```(\w+)\n(.*?)^```$", Path(document).read_text(encoding="utf-8"), re.M | re.S
    ):
        if language == "console":
            for command in re.findall(r"^\$ (.*)$", block, re.M):
                print(f"$ {command}", flush=True)
                subprocess.run(command, shell=True, check=True, env=environment)  # noqa: S602  # lines of our own README
                commands += 1
        elif language == "python" and ">>>" in block:
            print(block, flush=True)
            test = doctest.DocTestParser().get_doctest(block, names, document, document, 0)
            if doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, clear_globs=False).failed:
                sys.exit(f"an example of {document} failed")
            names.update(test.globs)
            examples += len(test.examples)
    if not commands or not examples:
        sys.exit(f"{document} has no examples")
    print(f"{document}: {commands} commands and {examples} lines of Python ran")


main(sys.argv[1])
