"""Reading the benchmark's JSON (`ackbox-bench/1`, see json_report.cpp), for the scripts beside this file."""

import json
import re
import statistics

SCHEMA = "ackbox-bench/1"
SECTIONS = ("figures", "baselines", "ratios")


class Report:
    """One or several reports of one machine: runs of the same operation are put together."""

    def __init__(self, files):
        self.machine = {}
        self.operations = {}
        for file in files:
            with open(file, encoding="utf-8") as stream:
                document = json.load(stream)
            if document.get("schema") != SCHEMA:
                raise SystemExit(f"{file}: not a report of schema {SCHEMA}")
            self.machine = self.machine or machine_of(document)
            for operation in document["operations"]:
                self._add(operation)

    def _add(self, operation):
        known = self.operations.setdefault(operation["name"], {})
        for section in SECTIONS:
            for name, summary in operation[section].items():
                known.setdefault(name, []).extend(summary["runs"])

    def runs(self, operation, name):
        """The values of one figure, baseline or ratio; empty when it was not measured."""
        return self.operations.get(operation, {}).get(name, [])

    def median(self, operation, name):
        return statistics.median(self.runs(operation, name))

    def medians(self):
        return {
            f"{operation}/{name}": statistics.median(runs)
            for operation, names in self.operations.items()
            for name, runs in names.items()
        }

    def machine_line(self):
        facts = self.machine
        if not facts:
            return "machine unknown"
        return (
            f"{facts['processor']}, {facts['cores']} cores, {facts['kernel']}, {facts['file_system']} with an fdatasync"
            f" of {facts['fdatasync_p50_us']:.0f} us, SQLite {facts['sqlite']}, {facts['compiler']}, {facts['build']}"
        )


def machine_of(document):
    """Its facts, the kernel by its version only: what a builder adds to it says nothing."""
    facts = dict(document.get("machine", {}))
    if "kernel" in facts:
        facts["kernel"] = re.sub(r"(\d)-\S+", r"\1", facts["kernel"])
    return facts


def number(value):
    """Three significant places for small numbers, thousands apart for large ones."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"
