"""The cost of your own policy: `two_step` as shipped, tabulated, asked during the run, and compiled by Numba.

    python examples/policy_costs.py [--requests N] [--repeats N] [--config NAME]

All variants make the same decisions and give the same numbers. They run in turns, so that other load on the machine
affects all of them.
"""

import argparse
import importlib.util
import os
import tempfile
from pathlib import Path

import softsense
from softsense.records import Summary

POLICIES = '''
class Tabulated:
    """Hard decision, then every level."""

    tabulate = True

    def next(self, read):
        return (1, 7, None)[read.attempts]


class Asked(Tabulated):
    """The same, asked at each decision."""

    tabulate = False


class Blocks:
    """The fewest valid codewords."""

    def choose(self, blocks):
        return int(blocks.valid.argmin())


class Turns:
    """All planes in turn, asked for each page."""

    def place(self, planes):
        return planes.in_turn


class AtOnce:
    """Collection between the watermarks, asked for each page that is written or moved."""

    def pace(self, plane):
        wanted = plane.free_blocks < (plane.high_watermark if plane.collecting else plane.low_watermark)
        return wanted or plane.valid is not None


class All:
    """All that is missed enters the cache."""

    def admit(self, missed):
        return True


class Rounds:
    """All planes in turn, a round of them at once."""

    def place(self, planes):
        return range(len(planes))
'''

COMPILED = """
from numba import carray, cfunc

from softsense.own import compiled_signature


@cfunc(compiled_signature())
def compiled(read):
    attempts = carray(read, 1)[0].attempts
    return 1 if attempts == 0 else 7 if attempts == 1 else 0
"""


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="mlc-25nm")
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    requests = f"workload.requests={arguments.requests}"
    writes = [requests, "workload.read_fraction=0.1", "precondition.layout=steady_state"]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("costs.py").write_text(POLICIES)
        policies = {"shipped": "two_step", "Python, tabulated": "costs.py:Tabulated", "Python, asked": "costs.py:Asked"}
        if importlib.util.find_spec("numba"):
            Path("compiled.py").write_text(COMPILED)
            policies["Numba"] = "compiled.py:compiled"
        rules = {
            "shipped": [],
            "Python victims": ['ftl.victims="costs.py:Blocks"'],
            "Python placement, each page": ['ftl.plane_choice="costs.py:Turns"'],
            "Python placement, each round": ['ftl.plane_choice="costs.py:Rounds"'],
            "Python pacing": ['ftl.gc_pacing="costs.py:AtOnce"'],
        }
        buffered = [requests, "host.read_buffer.bytes=4194304"]
        admissions = {"shipped": [], "Python admission": ['host.read_buffer.admission="costs.py:All"']}
        reading = {what: [requests, f'read.policy="{policy}"'] for what, policy in policies.items()}
        table("reads: two_step", arguments, reading)
        table("writes", arguments, {what: [*writes, *rule] for what, rule in rules.items()})
        mapped = [requests, "ftl.mapping.demand.cache_bytes=65536"]
        entries = {"shipped": [], "Python admission": ['ftl.mapping.demand.admission="costs.py:All"']}
        table("reads: read buffer", arguments, {what: [*buffered, *rule] for what, rule in admissions.items()})
        table("reads: mapping cache", arguments, {what: [*mapped, *rule] for what, rule in entries.items()})


def table(title: str, arguments: argparse.Namespace, runs: dict[str, list[str]]) -> None:
    """Measure runs in turns, and print the best of each."""
    best: dict[str, Summary] = {}
    for _ in range(arguments.repeats):
        for what, overrides in runs.items():
            summary = softsense.run(arguments.config, overrides=overrides).summary
            if what not in best or summary["machine"]["wall_s"] < best[what]["machine"]["wall_s"]:
                best[what] = summary
    print(f"\n{title:30} {'requests/s':>12} {'of shipped':>10} {'calls':>10} {'us a call':>9}")
    shipped = best["shipped"]["machine"]["requests_per_s"]
    for what, summary in best.items():
        machine = summary["machine"]
        calls = sum(own["calls"] for own in machine.get("own", []))
        spent = sum(own["calls_s"] for own in machine.get("own", []))
        each = f"{1e6 * spent / calls:9.2f}" if spent else f"{'':9}"
        speed = machine["requests_per_s"]
        print(f"{what:30} {speed:12,.0f} {speed / shipped:10.2f} {calls:10,} {each}")


if __name__ == "__main__":
    main()
