"""How well does an LDPC code correct, how much does a soft read help, and how does the simulator use such numbers?

The code is small, so that the example takes seconds; `softsense table build flash-8/9 --out my.toml` does the same for
a real one.
"""

import numpy as np

import softsense

code = softsense.Code.open("teaching-1/2")
print(f"{code.name}: {code.codeword_bits} bits of which {code.data_bits} are data")

# Encode, disturb, decode: words are packed bits, as numpy.packbits has them.
data = np.random.default_rng(1).integers(0, 256, (1000, code.data_bits // 8), dtype=np.uint8)
words = code.encode(data)
words[:, 0] ^= 0b1010_0000  # two errors in each
decoded = code.decoder("min-sum", iterations=20).decode(words)
right = (code.extract_data(decoded.word) == data).all(axis=1)
print(f"two errors in each of 1,000 words: {right.sum()} decoded, {decoded.iterations.mean():.2f} iterations each")

# The same raw bit error rate, read with one threshold and with up to four: rates with their 95 % intervals.
rates = softsense.measure_fer(code, [0.05], levels="1-4", relative_error=0.2, frames=5000, method="direct")
for point in rates.points:
    interval = f"{point['lo']:.1e} to {point['hi']:.1e}"
    print(f"level {point['level']} at {point['rber']}: fails with {point['fer']:.1e} ({interval})")

# A decode table holds such curves for every level; a device reads it with reliability.table.file="small.toml".
table = softsense.build_table(
    code, [0.05, 0.1], levels="1-2", name="small", relative_error=0.5, frames=1000, method="direct"
)
print(f"a table of {len(table.points)} levels and {len(table.rber)} rates, of {table.frames:,} frames:")
print(*table.text.splitlines()[:4], "...", sep="\n")
