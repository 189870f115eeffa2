"""Draws defects from the sources by a seed, and writes the sources that have them all behind the switch."""

import random

import lexer
import sites

SWITCH = "ackboxMutant"


def is_chosen(path, folders):
    """Whether a file, relative to src, is in one of the folders: `store`, `store/sqlite`, or any folder named `run`."""
    parents = path.split("/")[:-1]
    return any(folder in parents or path.startswith(folder.rstrip("/") + "/") for folder in folders)


def sources(root, folders, left_out):
    """The sources below src, found by walking it: its folders move."""
    for path in sorted((root / "src").rglob("*.[ch]pp")):
        relative = path.relative_to(root / "src").as_posix()
        if (is_chosen(relative, folders) if folders else not is_chosen(relative, left_out)):
            yield path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")


def all_sites(root, folders, left_out, kinds):
    found = []
    for file, text in sources(root, folders, left_out):
        found.extend(site for site in sites.sites_in(file, text) if site.kind in kinds)
    return found


def draw(found, seed, count):
    """The first `count` of a seeded order in which each kind has its share, numbered from 1."""
    waiting = {}
    for kind in sites.SHARES:
        waiting[kind] = [site for site in found if site.kind == kind]
        random.Random(f"{seed} {kind}").shuffle(waiting[kind])
    taken = dict.fromkeys(sites.SHARES, 0)
    drawn = []
    by_file = {}
    while len(drawn) < count and any(waiting.values()):
        kind = min((kind for kind in waiting if waiting[kind]),
                   key=lambda kind: (taken[kind] + 1) / sites.SHARES[kind])
        site = waiting[kind].pop(0)
        if all(site.goes_with(other) for other in by_file.get(site.file, [])):
            taken[kind] += 1
            by_file.setdefault(site.file, []).append(site)
            drawn.append(site)
            site.number = len(drawn)
    return drawn


def instrument(text, planted):
    """The text with each of these sites behind the switch; every line stays where it was."""
    ordered = sorted(planted, key=lambda site: (site.start, *site.depth()))
    return render(text, ordered, 0, len(text), False)


def render(text, planted, start, end, is_flat):
    written = []
    place = start
    waiting = [site for site in planted if start <= site.start and site.end <= end]
    while waiting:
        site = waiting.pop(0)
        inner = [other for other in waiting if other.start < site.end]
        waiting = waiting[len(inner):]
        written.append(plain(text[place:site.start], is_flat))
        for part in site.parts:
            if isinstance(part, str):
                written.append(plain(part.replace(sites.ASK, f"{SWITCH}({site.number})"), is_flat))
            else:
                written.append(render(text, inner, part[0], part[1], is_flat or part[2]))
        place = site.end
    written.append(plain(text[place:end], is_flat))
    return "".join(written)


def plain(text, is_flat):
    """A piece of source; when flat, without line breaks and comments."""
    if not is_flat:
        return text
    return "".join(" " if found.lastgroup == "gap" else found.group() for found in lexer.TOKEN.finditer(text))
