"""What can be done with a block. Each function makes the treatment of one; tests/docs/rules.py uses them."""

import dataclasses
import json
import os
import re
import shutil
import typing

from scene import Wrong, require_like


@dataclasses.dataclass
class Treatment:
    begins: str  # the beginning of the block's first line
    counted: str  # the column of the last line that counts it
    apply: typing.Callable  # (scene, block): raises Wrong
    reason: str = ""


COLUMNS = ["compiled", "executed", "executed by another test", "equal to a tested file", "parsed", "no code", "left out"]


def shell(begins, before=None, prints=None, at_source=False, exits=(0,)):
    """Executed by bash with the stand-ins. `before(scene)` prepares; `prints`: an expression that the output must have."""
    def apply(scene, block):
        if before:
            before(scene)
        scene.outputs[begins] = printed = scene.shell(block.text, at_source, exits)
        if prints and not re.search(prints, printed):
            raise Wrong("the output has no %r:\n%s" % (prints, printed))
    return Treatment(begins, "executed", apply)


def console(begins, before=None):
    """A dialogue: lines that begin with `$ ` are executed as one script, the others are the output of all of them."""
    def apply(scene, block):
        if before:
            before(scene)
        lines = block.text.splitlines()
        scene.outputs[begins] = printed = scene.shell("\n".join(line[2:] for line in lines if line.startswith("$ ")))
        require_like(scene.placed("\n".join(line for line in lines if not line.startswith("$ "))), printed)
    return Treatment(begins, "executed", apply)


def python(begins, before=None, arguments=(), prints=None):
    """Executed by this Python, with the client of the sources."""
    def apply(scene, block):
        if before:
            before(scene)
        printed = scene.run(["/usr/bin/python3", "-W", "error", "-c", scene.placed(block.text), *arguments])
        _require_equal(printed, prints)
    return Treatment(begins, "executed", apply)


def sql(begins, file, before=None, prints=None):
    """Executed by the shell `sqlite3` on a file of the scene."""
    def apply(scene, block):
        if before:
            before(scene)
        _require_equal(scene.run(["sqlite3", "-bail", scene.path(file)], text=scene.placed(block.text)), prints)
    return Treatment(begins, "executed", apply)


def _require_equal(printed, expected):
    if expected is not None and printed != expected:
        raise Wrong("it prints %r, not %r" % (printed, expected))


def config(begins, file="serve.json", before=None, section=False):
    """A configuration, or a `section` of one: `ackbox serve --check-config` takes it."""
    def apply(scene, block):
        if before:
            before(scene)
        scene.write(file, scene.placed("{%s}" % block.text if section else block.text))
        scene.run([scene.setting.program, "serve", "x.db", "--config", file, "--check-config"])
    return Treatment(begins, "executed", apply)


def played(begins, act):
    """Executed by a function of tests/docs/acts.py."""
    return Treatment(begins, "executed", act)


def elsewhere(begins, test):
    """Another test takes the block out of the page and executes it."""
    def apply(scene, block):
        if os.path.basename(block.page) not in scene.setting.read(test):
            raise Wrong("%s does not read this page" % test)
    return Treatment(begins, "executed by another test", apply, test)


def quoted(begins, source, names=None):
    """The block is a part of a source that is compiled, or of another file that a test uses, letter by letter. With `names`,
    those of the source for those shown, each line is somewhere in it."""
    def apply(scene, block):
        text, wanted = (re.sub("^ +", "", part, flags=re.MULTILINE) for part in (scene.setting.read(source), block.text))
        for shown, real in (names or {}).items():
            wanted = wanted.replace(shown, real)
        for part in wanted.splitlines() if names else [wanted.rstrip()]:
            if part not in text:
                raise Wrong("%s does not have this:\n%s" % (source, part))
    return Treatment(begins, "equal to a tested file", apply, source)


def compiled(begins, before="", inside=True):
    """C++ or C. `before` stands in front of it; `inside`: these are statements of a function. C++ of all pages is compiled
    together, see Compilation."""
    def apply(scene, block):
        scene.compilation.add(scene, block, before, inside)
    return Treatment(begins, "compiled", apply)


class Compilation:
    """All C++ blocks as one translation unit, each in a namespace of its own; a block of C is compiled at once."""

    def __init__(self, setting):
        self._setting = setting
        self._includes = []
        self._bodies = []

    def add(self, scene, block, before, inside):
        includes, text = [], []
        for line in (before + "\n" + block.text).splitlines():
            (includes if line.startswith("#include") else text).append(line)
        body = '#line %d "%s"\n%s\n' % (block.line + 1 - before.count("\n") - 1, block.page, "\n".join(text))
        if block.language == "c":
            body = "void block(void) {\n%s}\n" % body if inside else body
            self._compile(scene, ["cc", "-std=c11"], ".c", "\n".join(includes) + "\n" + body)
            return
        self._includes += includes
        self._bodies.append("namespace block_%d {\nusing namespace ackbox;\n%s}\n" % (
            len(self._bodies), "[[maybe_unused]] void block() {\n%s}\n" % body if inside else body))
        self._scene = scene

    def finish(self):
        if self._bodies:
            includes = ["#include <ackbox/%s>" % name for name in self._headers()] + self._includes
            self._compile(self._scene, [self._setting.compiler, "-std=c++20"], ".cpp",
                          "\n".join(includes) + "\n" + "".join(self._bodies))

    def _headers(self):
        folder = os.path.join(self._setting.source, "include", "ackbox")
        return sorted(name for name in os.listdir(folder) if name.endswith(".hpp"))

    def _compile(self, scene, command, ending, text):
        scene.write("blocks" + ending, text)
        includes = [os.path.join(folder, "include") for folder in (self._setting.source, self._setting.build)]
        scene.run([*command, "-fsyntax-only", *("-I" + folder for folder in includes), "blocks" + ending])


def data(begins, schema=None, member=None):
    """JSON that is parsed, and fits proto/schemas/SCHEMA.schema.json (its `member`, or all of it)."""
    def apply(scene, block):
        value = json.loads(block.text)
        if schema:
            _require_fits(scene.setting, value[member] if member else value, schema + ".schema.json", "", "")
    return Treatment(begins, "parsed", apply)


def _require_fits(setting, value, file, pointer, place):
    """The keywords of JSON Schema that proto/schemas uses."""
    schema = json.loads(setting.read("proto/schemas/" + file))
    for name in filter(None, pointer.split("/")):
        schema = schema[name]
    _require_keywords(setting, value, schema, file, place)


def _require_keywords(setting, value, schema, file, place):
    types = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool}
    if "$ref" in schema:
        urn, _, pointer = schema["$ref"].partition("#")
        named = re.fullmatch(r"urn:ackbox:schema:(.*):1", urn)
        _require_fits(setting, value, named.group(1).replace("-", "_") + ".schema.json" if named else file, pointer, place)
    for part in schema.get("allOf", []):
        _require_keywords(setting, value, part, file, place)
    if isinstance(schema.get("type"), str) and not isinstance(value, types[schema["type"]]):
        raise Wrong("%s is no %s" % (place or "it", schema["type"]))
    if ("const" in schema and value != schema["const"]) or ("enum" in schema and value not in schema["enum"]):
        raise Wrong("%s may not be %r" % (place, value))
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        raise Wrong("%s: %r is not of the form %s" % (place, value, schema["pattern"]))
    if isinstance(value, dict):
        absent = set(schema.get("required", [])) - set(value)
        if absent:
            raise Wrong("%s lacks %s" % (place or "it", ", ".join(sorted(absent))))
        for name, part in schema.get("properties", {}).items():
            if name in value:
                _require_keywords(setting, value[name], part, file, place + "/" + name)
    if isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            _require_keywords(setting, item, schema["items"], file, "%s/%d" % (place, index))


def prometheus(begins):
    """promtool checks it; without promtool it is YAML that Python reads, and without that it is left out."""
    def apply(scene, block):
        shutil.copy(os.path.join(scene.setting.source, os.path.dirname(block.page), "alerts.yml"), scene.folder)
        scene.write("token", "0")
        scene.write("prometheus.yml", re.sub(r"(credentials_file: )[^}\s]+", r"\g<1>token", block.text))
        if shutil.which("promtool"):
            scene.run(["promtool", "check", "config", "prometheus.yml"])
            return
        try:
            import yaml
        except ImportError:
            print("%s: neither promtool nor python3-yaml is here: only its links are checked" % block)
            return
        for name in yaml.safe_load(block.text)["rule_files"]:
            if not os.path.exists(scene.path(name)):
                raise Wrong("there is no %s beside the page" % name)
    return Treatment(begins, "parsed", apply)


def like(begins, printed):
    """Output that a program prints: equal to what `printed(scene)` gives, but for instants and what is left out (…)."""
    return Treatment(begins, "executed", lambda scene, block: require_like(block.text, printed(scene)))


def no_code(begins, reason):
    """A diagram, or a form of notation."""
    return Treatment(begins, "no code", lambda scene, block: None, reason)


def left_out(begins, reason):
    """It cannot be executed here. Its grammar is checked, and that the project's files that it names exist."""
    def apply(scene, block):
        if block.language in ("", "sh", "console"):
            scene.run(["bash", "-n"], text=block.text)
        version = re.search(r"project\(ackbox VERSION ([\d.]+)", scene.setting.read("CMakeLists.txt")).group(1)
        for named in re.findall(r"\backbox[a-z0-9-]*[-_](\d+\.\d+\.\d+)", block.text):
            if named != version:
                raise Wrong("it names version %s, and this is %s" % (named, version))
        for path in re.findall(r"(?<![\w./$-])(?:scripts|tests|examples)/[\w./-]+", block.text):
            if not os.path.exists(os.path.join(scene.setting.source, path)):
                raise Wrong("there is no %s" % path)
    return Treatment(begins, "left out", apply, reason)
