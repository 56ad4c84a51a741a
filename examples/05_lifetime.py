"""How long does a drive live with one code, and what is gained if it changes to a stronger one as it wears?

docs/model/lifetime.md has the model.
"""

import softsense
from softsense import lifetime

# The flash of tlc-femu, in blocks small enough that its garbage collection is measured in a second.
config = softsense.load_config("tlc-femu", ["geometry.blocks_per_plane=160", "geometry.pages_per_block=32"])
found = lifetime.lifetime(config, ["adaptive-5-6", "adaptive-2-3", "adaptive-1-2"], utilisations=[0.7, 0.9])

for code in found.codes:
    print(f"{code.code:13} {code.user_share:.3f} data bits a bit, lasts {code.endurance_pe:,} P/E cycles", end="")
    print(f", up to a raw bit error rate of {code.rber:.4f}")

# The data that the host can write for each byte of flash, with each code alone and with all codes in turn.
print(found.frame.select("scheme", "utilisation", "endurance_pe", "write_amplification", "lifetime_capacity"))

lifetime.draw(found).savefig("lifetime.png")
print("drawn into lifetime.png")
