#!/usr/bin/python3
"""The documents that are installed with the program: each of their links leads to a file beside them.

  installed.py CMAKE BUILD    installs the component `program` of BUILD into a folder of its own
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# Documents for those that work on the project link to its sources, which are not installed.
FOR_DEVELOPERS = ("ARCHITECTURE.md", "CONTRIBUTING.md", "tests/")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]+)")


def main(cmake, build):
    with tempfile.TemporaryDirectory() as prefix:
        subprocess.run([cmake, "--install", build, "--component", "program", "--prefix", prefix], check=True,
                       stdout=subprocess.DEVNULL)
        root = pathlib.Path(prefix, "share/doc/ackbox")
        pages = [page for page in sorted(root.rglob("*.md")) if not str(page.relative_to(root)).startswith(FOR_DEVELOPERS)]
        links, dead = 0, []
        for page in pages:
            for link in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
                if "://" in link or link.startswith("mailto:"):
                    continue
                links += 1
                if not os.path.exists(page.parent / link):
                    dead.append(f"{page.relative_to(root)}: {link}")
        print(f"{len(pages)} pages, {links} links, {len(dead)} lead nowhere", *dead, sep="\n")
        return 1 if dead or links < 100 else 0


sys.exit(main(*sys.argv[1:]))
