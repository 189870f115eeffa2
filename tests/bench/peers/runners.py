"""Runs each queue once, or once more to count its syncs."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time

import syncs
from programs import call
from queues import POWER_CUT
from servers import running

OURS = "ackbox"
SLOW_SYNC_US = 2000
_TRACED_COUNT = 50_000
_TRACE_PATIENCE_S = 120


@contextlib.contextmanager
def fresh(parent, name):
    folder = parent / name
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class PeerRunner:
    """Runs one queue; each run has its own server and files."""

    def __init__(self, queue, programs, folders, given):
        self.name, self.title, self.survives, self.note = queue.name, queue.title, queue.survives, queue.note
        self._queue = queue
        self._program = programs / f"peer_{queue.client}"
        self._disk, self._memory = folders
        self._seconds = given.seconds
        self._environment = dict(os.environ)
        if given.slow_disk:
            # Where a server that runs as another user can read it.
            shim = shutil.copy(programs / "libslow_sync.so", self._disk)
            os.chmod(shim, 0o755)
            self._environment["LD_PRELOAD"] = str(shim)

    def measure(self):
        with fresh(self._disk, "server") as folder, running(self._queue, folder, [], self._environment) as server:
            done = self._client(server, [], self._seconds / 2)
        return {"per_s": done["per_s"], "cpu_us_per_message": done["server_cpu_us"] + done["clients_cpu_us"],
                "server_cpu_us_per_message": done["server_cpu_us"], "lone_p50_us": done["lone_p50_us"],
                "lone_p99_us": done["lone_p99_us"], "repeated": done["repeated"], "disordered": done["disordered"]}

    def count_syncs(self):
        with fresh(self._disk, "server") as server_folder, fresh(self._disk, "traces") as traces:
            # The server may run as another user.
            traces.chmod(0o777)
            server_trace, client_trace = traces / "server", traces / "client"
            with running(self._queue, server_folder, syncs.tracer(server_trace), self._environment) as server:
                done = self._client(server, syncs.tracer(client_trace), 0)
            lines = [line for trace in (server_trace, client_trace) for line in trace.read_text().splitlines()]
        counted = syncs.count(lines, "/effects.db", done["begin_s"], done["end_s"])
        return {"messages": done["sent"], **counted}

    def _client(self, server, tracer, lone_seconds):
        with fresh(self._disk, "client") as folder, fresh(self._memory, "client") as memory:
            return json.loads(call([*tracer, self._program, "--port", str(server.port), "--folder", folder,
                                    "--memory-folder", memory, "--server-pid", str(server.pid),
                                    "--seconds", str(self._seconds), "--lone-seconds", str(lone_seconds),
                                    "--variant", self._queue.variant], env=self._environment))


class AckboxRunner:
    """Runs ackbox's own benchmark, which does the same work."""

    name, title, survives = OURS, "ackbox", POWER_CUT
    note = "no broker: the producer's file and the receiver's are the queue; takes effect once, in order"

    def __init__(self, program, folders, given):
        self._program = program
        self._seconds = given.seconds
        self._operation = "endToEndSlowDisk" if given.slow_disk else "endToEnd"
        self._lone_options = ["--sync-delay-us", str(SLOW_SYNC_US)] if given.slow_disk else []
        self._disk = folders[0]
        self._environment = {**os.environ, "TMPDIR": str(self._disk)}

    def measure(self):
        rate = self._figures(self._operation, self._seconds)
        lone = self._figures("loneMessageLatency", self._seconds / 2, self._lone_options)
        return {"per_s": rate["full_per_s"], "cpu_us_per_message": rate["full_cpu_us_per_message"],
                "lone_p50_us": lone["back_to_back_p50_us"], "lone_p99_us": lone["back_to_back_p99_us"],
                "repeated": 0, "disordered": 0}

    def count_syncs(self):
        with fresh(self._disk, "traces") as traces:
            trace = traces / "bench"
            command = [*syncs.tracer(trace, ",execve"), self._program, "--operation", self._operation, "--runs", "1",
                       "--count", str(_TRACED_COUNT)]
            lines = self._until_measured(command, trace)
        return {"messages": _TRACED_COUNT, **syncs.count(lines, "/receiver.db")}

    def _figures(self, operation, seconds, options=()):
        report = json.loads(call([self._program, "--operation", operation, "--runs", "1", "--seconds", str(seconds),
                                  "--json", "-", *options], env=self._environment))
        return {name: figure["median"] for name, figure in report["operations"][0]["figures"].items()}

    def _until_measured(self, command, trace):
        """The trace between the start of the synced delivery's receiver and that of the next measurement's."""
        process = subprocess.Popen(command, env=self._environment, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            deadline = time.monotonic() + _TRACE_PATIENCE_S
            while True:
                lines = trace.read_text().splitlines() if trace.exists() else []
                starts = [number for number, line in enumerate(lines) if " execve(" in line and '"--role"' in line]
                if len(starts) >= 2:
                    return lines[starts[0]:starts[1]]
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError("the traced ackbox_bench did not come to its second measurement")
                time.sleep(0.1)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
