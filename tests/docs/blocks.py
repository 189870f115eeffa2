"""The fenced blocks of the documentation, as they stand in its pages."""

import dataclasses
import os
import subprocess
import textwrap

FENCE = "```"


@dataclasses.dataclass(frozen=True)
class Block:
    page: str
    line: int  # of its opening fence
    language: str  # "" if the fence names none
    text: str  # without the indentation of the fence

    def __str__(self):
        return "%s:%d" % (self.page, self.line)

    @property
    def begins(self):
        return self.text.partition("\n")[0]


def pages(source):
    """Every Markdown file of the project, those included that git does not know yet."""
    # A container often runs as another user than the checkout's owner, which git would refuse.
    known = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "--cached", "--others", "--exclude-standard", "--",
                            "*.md"], cwd=source, capture_output=True, text=True)
    if known.returncode == 0:
        return sorted(page for page in known.stdout.splitlines() if os.path.isfile(os.path.join(source, page)))
    found = []
    for folder, folders, files in os.walk(source):
        folders[:] = [name for name in folders if not name.startswith((".", "build")) and name != "node_modules"]
        found += [os.path.relpath(os.path.join(folder, name), source) for name in files if name.endswith(".md")]
    return sorted(found)


def blocks_of(source, page):
    """The page's blocks in order. ValueError if a fence is not closed, or is written with tildes."""
    blocks = []
    opened, language, lines = None, "", []
    with open(os.path.join(source, page), encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            bare = line.strip()
            if bare.startswith("~~~"):
                raise ValueError("%s:%d: write this fence as %s" % (page, number, FENCE))
            if not bare.startswith(FENCE):
                if opened:
                    lines.append(line)
            elif opened is None:
                opened, language, lines = number, bare.removeprefix(FENCE), []
            elif bare == FENCE:
                blocks.append(Block(page, opened, language, textwrap.dedent("".join(lines))))
                opened = None
            else:
                raise ValueError("%s:%d: the block of line %d is still open" % (page, number, opened))
    if opened:
        raise ValueError("%s:%d: the block has no end" % (page, opened))
    return blocks
