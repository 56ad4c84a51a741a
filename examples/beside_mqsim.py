"""MQSim and softsense's `mqsim-ssd` on the same requests: mean responses load by load, and the time that each simulator
took.

    python examples/beside_mqsim.py MQSIM [--requests N]

MQSIM is the program that `make` builds in a copy of its public repository, https://github.com/CMU-SAFARI/MQSim; its
ssdconfig.xml has to stand beside it. The output is the table of docs/model/mqsim.md.
"""

import argparse
import random
import subprocess
import tempfile
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import softsense

PAGE_SECTORS = 16
PAGES = 1 << 21
LOADS = {
    "reads": (1.0, [100, 20_000, 50_000, 100_000, 150_000, 200_000]),
    "70 % reads": (0.7, [100, 5_000, 20_000, 40_000]),
    "writes": (0.0, [100, 5_000, 20_000, 30_000, 40_000]),
}
# Caches off, the map in memory; the rest is as shipped.
DEVICE = {
    "Ideal_Mapping_Table": "true",
    "Caching_Mechanism": "SIMPLE",
    "CMD_Suspension_Support": "NONE",
    "Static_Wearleveling_Enabled": "false",
}
FLOW = {
    "Priority_Class": "HIGH",
    "Device_Level_Data_Caching_Mode": "TURNED_OFF",
    "Channel_IDs": "0,1,2,3,4,5,6,7",
    "Chip_IDs": "0,1,2,3",
    "Die_IDs": "0,1",
    "Plane_IDs": "0,1",
    "Initial_Occupancy_Percentage": "50",
    "Percentage_To_Be_Executed": "100",
    "Relay_Count": "1",
    "Time_Unit": "NANOSECOND",
}


def write_trace(path: Path, requests: int, per_second: float, read_fraction: float) -> None:
    """Poisson arrivals of whole pages at uniform addresses."""
    draw, now_ns = random.Random(1), 0.0
    with path.open("w") as file:
        for _ in range(requests):
            now_ns += draw.expovariate(per_second) * 1e9
            sector = draw.randrange(PAGES) * PAGE_SECTORS
            file.write(f"{int(now_ns)} 0 {sector} {PAGE_SECTORS} {int(draw.random() < read_fraction)}\n")


def mqsim_us(program: Path, trace: Path) -> float:
    """MQSim's mean response, which it rounds down to whole microseconds."""
    device = ET.parse(program.parent / "ssdconfig.xml")
    for name, value in DEVICE.items():
        for element in device.getroot().iter(name):
            element.text = value
    device.write(trace.with_name("device.xml"))
    scenarios = ET.Element("MQSim_IO_Scenarios")
    flow = ET.SubElement(ET.SubElement(scenarios, "IO_Scenario"), "IO_Flow_Parameter_Set_Trace_Based")
    for name, value in {**FLOW, "File_Path": str(trace)}.items():
        ET.SubElement(flow, name).text = value
    ET.ElementTree(scenarios).write(trace.with_name("work.xml"))
    command = [str(program), "-i", "device.xml", "-w", "work.xml"]
    subprocess.run(command, cwd=trace.parent, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    found = ET.parse(trace.with_name("work_scenario_1.xml")).getroot().findtext(".//Device_Response_Time", "nan")
    return float(found)


def main() -> None:
    """Run both, load by load."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mqsim", type=Path)
    parser.add_argument("--requests", type=int, default=50_000)
    options = parser.parse_args()
    print("| requests | a second | MQSim, us | `mqsim-ssd`, us | | MQSim, s | softsense, s |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "requests.trace"
        for name, (read_fraction, loads) in LOADS.items():
            for load in loads:
                write_trace(trace, options.requests, load, read_fraction)
                began = time.perf_counter()
                theirs = mqsim_us(options.mqsim.resolve(), trace)
                between = time.perf_counter()
                requests = softsense.Trace(str(trace), format="mqsim")
                summary = softsense.run("mqsim-ssd", requests).summary
                ended = time.perf_counter()
                ours = summary["response"]["all"]["mean_us"]
                times = f"{between - began:.2f} | {ended - between:.2f}"
                means = f"{theirs:,.0f} | {ours:,.1f} | {ours / theirs - 1:+.1%}"
                print(f"| {name} | {load:,} | {means} | {times} |", flush=True)


if __name__ == "__main__":
    main()
