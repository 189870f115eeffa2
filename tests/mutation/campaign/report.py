"""What a campaign found, as text and as Markdown."""

import sites


def read_judgements(file):
    """Survivors that were looked at: a line with the site's key, and below it, indented, what was found of it."""
    judged = {}
    key = None
    if not file.is_file():
        return judged
    for line in file.read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line[0].isspace():
            judged[key] = (judged[key] + " " + line.strip()).strip()
        else:
            key = line.rstrip()
            judged[key] = ""
    return judged


def folder_of(file):
    return "/".join(file.split("/")[1:-1])


def cell(text):
    return text.replace("|", "\\|").replace("\n", " ")


def code(text):
    return f"``{cell(text)}``" if "`" in text else f"`{cell(text)}`"


def survivors_table(results, judged):
    lines = ["| no. | where | function | kind | written | defect | reached by | judgement |",
             "|---|---|---|---|---|---|---|---|"]
    for result in sorted(results, key=lambda result: (result["file"], result["line"])):
        if result["verdict"] == "caught":
            continue
        reached = result["reached_by"]
        by = ", ".join(reached[:3]) + (f" and {len(reached) - 3} more" if len(reached) > 3 else "")
        lines.append(f"| {result['id']} | {result['file']}:{result['line']} | {code(result['function'])} | "
                     f"{result['kind']} | {code(result['original'])} | {code(result['changed'])} | {by or 'nothing'} | "
                     f"{cell(judged.get(result['key'], '') or 'open')} |")
    return "\n".join(lines) + "\n"


def counts(results, judged, name_of, names):
    lines = []
    for name in names:
        chosen = [result for result in results if name_of(result) == name]
        if chosen:
            lines.append(f"  {name:<24} {share(chosen)}" + apart(chosen, judged))
    return lines


def share(results):
    caught = sum(result["verdict"] == "caught" for result in results)
    return f"{caught:4} of {len(results):4} caught, {100 * caught / len(results):5.1f} %" if results else "nothing run"


def apart(results, judged):
    unreached = sum(result["verdict"] == "not reached" for result in results)
    looked_at = sum(result["verdict"] != "caught" and bool(judged.get(result["key"])) for result in results)
    return (f", {unreached} not reached" if unreached else "") + (f", {looked_at} judged" if looked_at else "")


def summary(results, judged):
    lines = ["by kind"]
    lines += counts(results, judged, lambda result: result["kind"], sites.SHARES)
    lines.append("by folder of src")
    lines += counts(results, judged, lambda result: folder_of(result["file"]),
                    sorted({folder_of(result["file"]) for result in results}))
    first = [result for result in results if result["verdict"] == "caught"]
    lines.append("caught by")
    names = sorted({result["by"] for result in first}, key=lambda name: -sum(r["by"] == name for r in first))
    lines.append("  " + ", ".join(f"{name} {sum(r['by'] == name for r in first)}" for name in names))
    how = {word: sum(result["how"] == word for result in first) for word in ("failed", "crashed", "hung")}
    lines.append("  " + ", ".join(f"{word} {number}" for word, number in how.items()))
    unsteady = [result for result in results if result.get("unsteady")]
    if unsteady:
        lines.append(f"failed once and passed when repeated, which does not count: {len(unsteady)}")
        lines += [f"  {result['id']}: {'; '.join(result['unsteady'])}" for result in unsteady]
    if results:
        seconds = sum(result["seconds"] for result in results)
        lines.append(f"{seconds:.0f} s of runs, {seconds / len(results):.1f} s a defect; "
                     f"{sum(result['ran'] for result in results) / len(results):.1f} programs a defect")
    lines.append(share(results) + apart(results, judged))
    return "\n".join(lines)
