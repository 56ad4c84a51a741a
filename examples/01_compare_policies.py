"""What do four ways of reading a worn drive cost its users, and where does the time go?

Run it anywhere softsense is installed: python 01_compare_policies.py
"""

import softsense

# A slice of the drive of LDPC-in-SSD (FAST 2013) after 10,000 P/E cycles, so that this takes a second.
slice_of_it = [
    "geometry.channels=2",
    "geometry.blocks_per_plane=256",
    "workload.requests=10000",
    "workload.footprint_bytes=268435456",
    "workload.arrivals={ poisson = { requests_per_s = 2000 } }",
]
policies = ["two_step", "look_ahead", "progressive", "look_ahead_progressive"]
comparison = softsense.compare("mlc-25nm", policies=policies, overrides=slice_of_it)

# Results are polars frames. The first row is a drive in which no decode ever fails: what soft sensing costs is more.
print(comparison.table.select("policy", "read_mean_us", "read_p99_us", "slowdown", "energy_read_mean_uj"))

# Where the mean codeword read spends its time: the parts add up to the whole.
print(comparison.time_split.pivot(on="policy", index="part", values="mean_us"))

best = min(comparison.runs, key=lambda run: run.summary["response"]["read"]["mean_us"])
print(f"{best.name} reads fastest: {comparison.slowdown(best):.2f} times as long as without soft sensing")

comparison.plot("a slice of mlc-25nm").savefig("compare.png")
print("drawn into compare.png")
