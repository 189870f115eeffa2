"""Runs the program `ackbox`: the one in this package, or the one on the path. `python -m ackbox serve agent.db`"""

import os
import shutil
import sys
from typing import Optional


def program() -> Optional[str]:
    """The path of the program; `None` if it is not found."""
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "program", "bin", "ackbox")
    if os.access(own, os.X_OK):
        return own
    # A console script of this package has the same name.
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    here = os.path.realpath(os.path.dirname(sys.argv[0] or "."))
    return shutil.which("ackbox", path=os.pathsep.join(one for one in folders if os.path.realpath(one) != here))


def main() -> int:
    found = program()
    if found is None:
        sys.stderr.write("ackbox: this package has no program for this platform: install ackbox, or its wheel for Linux\n")
        return 127
    os.execv(found, ["ackbox", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
