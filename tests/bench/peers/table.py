"""The table, in Markdown that is aligned for terminals too."""

import statistics

_HEAD = ("queue", "messages/s: min", "median", "max", "CPU us/message", "one message, p50 us", "queue's syncs/1,000",
         "receiver's", "acknowledged, it survives")


def summary(runs):
    return {"runs": runs, "min": min(runs), "median": statistics.median(runs), "max": max(runs)}


def _thousands(number):
    return f"{number:,.0f}"


def _row(entry):
    figures = entry["figures"]
    rate = figures["per_s"]
    counted = entry.get("syncs")
    syncs = [f"{1000 * counted[side] / counted['messages']:.1f}" for side in ("queue", "receiver")] if counted else ["", ""]
    return (entry["title"], _thousands(rate["min"]), _thousands(rate["median"]), _thousands(rate["max"]),
            f"{figures['cpu_us_per_message']['median']:.1f}", _thousands(figures["lone_p50_us"]["median"]), *syncs,
            entry["survives"])


def render(report):
    rows = [_HEAD, *(_row(entry) for entry in report["queues"])]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    last = len(_HEAD) - 1

    def line(row):
        cells = (cell.ljust(width) if column in (0, last) else cell.rjust(width)
                 for column, (cell, width) in enumerate(zip(row, widths)))
        return "| " + " | ".join(cells) + " |"

    rule = "|" + "|".join("-" * (width + 1) + ("-" if column in (0, last) else ":")
                          for column, width in enumerate(widths)) + "|"
    machine = report["machine"]
    syncs = summary([run for entry in report["queues"] for run in entry["figures"]["fdatasync_p50_us"]["runs"]])
    delay_us = report["settings"]["sync_delay_us"]
    facts = (f"{machine['cores']} cores, Linux {machine['kernel']}, {machine['file_system']} with an fdatasync of "
             f"{syncs['min']:.0f} to {syncs['max']:.0f} us (median {syncs['median']:.0f})"
             f"{f', every sync slowed by {delay_us} us' if delay_us else ''}; "
             f"{len(report['queues'][0]['figures']['per_s']['runs'])} runs of {report['settings']['seconds']:g} s, by turns.")
    notes = [f"- {entry['title']}: {entry['note']}." for entry in report["queues"]]
    return "\n".join([facts, "", line(_HEAD), rule, *(line(row) for row in rows[1:]), "", *notes])
