#!/usr/bin/env python3
"""Makes the wheel, from python3 alone: `python3 build_backend.py [FOLDER [PROGRAM TAG]]`. It is also the backend that
pip asks. With the folder of a program (`bin`, `lib`) and the tag of its platform, the wheel has the program in it.

Two builds of the same sources are the same, byte for byte.
"""

import base64
import gzip
import hashlib
import io
import os
import re
import stat
import sys
import tarfile
import zipfile

ROOT = os.path.dirname(os.path.abspath(__file__))
NAME = "ackbox"


def version():
    with open(os.path.join(ROOT, NAME, "__init__.py"), encoding="utf-8") as file:
        return re.search(r'^__version__ = "([^"]+)"$', file.read(), re.MULTILINE).group(1)


def read(*path):
    with open(os.path.join(ROOT, *path), "rb") as file:
        return file.read()


def metadata():
    head = [
        "Metadata-Version: 2.1",
        "Name: " + NAME,
        "Version: " + version(),
        "Summary: Client of `ackbox serve`, a durable outbox: enqueue, receive, and effects that happen once",
        "License: MIT",
        "License-File: LICENSE",
        "Requires-Python: >=3.9",
        "Classifier: License :: OSI Approved :: MIT License",
        "Classifier: Operating System :: POSIX :: Linux",
        "Classifier: Programming Language :: Python :: 3",
        "Classifier: Typing :: Typed",
        "Description-Content-Type: text/markdown",
    ]
    return ("\n".join(head) + "\n\n").encode() + read("README.md")


def program_files(folder):
    """The path in the wheel, the content and the mode of each file below the folder."""
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(place, name)
            with open(path, "rb") as file:
                content = file.read()
            inner = "%s/program/%s" % (NAME, os.path.relpath(path, folder))
            yield inner, content, 0o755 if os.access(path, os.X_OK) else 0o644


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None, program=None, platform="any"):
    stem = "%s-%s" % (NAME, version())
    info = stem + ".dist-info"
    tag = "py3-none-" + platform
    files = [(NAME + "/" + name, read(NAME, name), 0o644) for name in sorted(os.listdir(os.path.join(ROOT, NAME)))
             if name.endswith((".py", ".typed"))]
    if program is not None:
        files.extend(program_files(program))
    pure = "true" if program is None else "false"
    files.append((info + "/METADATA", metadata(), 0o644))
    files.append((info + "/LICENSE", read("LICENSE"), 0o644))
    files.append((info + "/WHEEL", ("Wheel-Version: 1.0\nGenerator: ackbox\nRoot-Is-Purelib: %s\nTag: %s\n"
                                    % (pure, tag)).encode(), 0o644))
    files.append((info + "/entry_points.txt", b"[console_scripts]\nackbox = ackbox.__main__:main\n", 0o644))
    record = ""
    for name, content, _ in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += "%s,sha256=%s,%d\n" % (name, digest, len(content))
    record += info + "/RECORD,,\n"
    files.append((info + "/RECORD", record.encode(), 0o644))
    wheel = "%s-%s.whl" % (stem, tag)
    with zipfile.ZipFile(os.path.join(wheel_directory, wheel), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content, mode in files:
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            # pip leaves a file executable only where its kind is said.
            entry.external_attr = (stat.S_IFREG | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return wheel


def build_sdist(sdist_directory, config_settings=None):
    stem = "%s-%s" % (NAME, version())
    files = {name: read(name) for name in ("LICENSE", "README.md", "pyproject.toml", "build_backend.py")}
    files.update((NAME + "/" + name, read(NAME, name)) for name in sorted(os.listdir(os.path.join(ROOT, NAME)))
                 if name.endswith((".py", ".typed")))
    files["PKG-INFO"] = metadata()
    # The same bytes each time.
    with open(os.path.join(sdist_directory, stem + ".tar.gz"), "wb") as file, \
            gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed, \
            tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(stem + "/" + name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return stem + ".tar.gz"


if __name__ == "__main__":
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "dist")
    os.makedirs(folder, exist_ok=True)
    with_program = {"program": sys.argv[2], "platform": sys.argv[3]} if len(sys.argv) == 4 else {}
    print(os.path.join(folder, build_wheel(folder, **with_program)))
