"""Runs the program `ackbox`: the one in this package, or the one on the path. `python -m ackbox serve agent.db`"""

import os
import shlex
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


def _called_as() -> str:
    """The words of a shell that this was called with."""
    called = sys.argv[0]
    name = os.path.basename(called)
    if name == "__main__.py":
        python = getattr(sys, "orig_argv", [""])[0] or sys.executable  # Python 3.9 has no orig_argv.
        return shlex.quote(python) + " -m ackbox"
    found = shutil.which(name)
    return shlex.quote(name if found is not None and os.path.realpath(found) == os.path.realpath(called) else called)


def main() -> int:
    found = program()
    if found is None:
        sys.stderr.write("ackbox: this package has no program for this platform: install ackbox, or its wheel for Linux\n")
        return 127
    os.environ["ACKBOX_CALLED_AS"] = _called_as()
    os.execv(found, ["ackbox", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
