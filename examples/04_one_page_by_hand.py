"""What happens between programming a page and getting its data back, step by step, with nothing simulated away?

docs/one-page-from-program-to-decode.md explains the steps at length; `softsense explain` draws them.
"""

import numpy as np

import softsense

random = np.random.default_rng(3)
code = softsense.Code.open("flash-8/9")
cells = softsense.Cells.open("mlc", pe_cycles=13_000, retention_hours=365 * 24)
upper = cells.pages.index("upper")

# Data becomes a codeword, and each bit a cell in one of the two states that hold it; the lower page is random.
data = random.integers(0, 256, code.data_bits // 8, dtype=np.uint8)
word = code.encode(data)
bits = np.unpackbits(word)[: code.codeword_bits]
holds = [[state for state in range(cells.states) if cells.bit(upper, state) == bool(bit)] for bit in (0, 1)]
states = np.array([holds[bit][random.integers(len(holds[bit]))] for bit in bits])

# A year later, after 13,000 cycles, the cells have these threshold voltages.
volts = np.empty(code.codeword_bits)
for state in range(cells.states):
    of_it = states == state
    volts[of_it] = cells.sample(state, int(of_it.sum()), seed=11)

print(f"{code.name} in the upper page, 13,000 cycles and a year old: raw bit error rate {cells.rber(upper):.5f}")

# Each level senses with more references; a decoder is told only in which region a cell was found.
for level in range(1, 8):
    read = cells.sense(upper, level)
    region = np.searchsorted(read["references"], volts)
    llrs = read["integer_llrs"][region]
    wrong = int(((llrs < 0) != bits).sum())
    result = code.decoder("min-sum", iterations=20, llr_step=read["llr_step"]).decode(llrs)
    fine = bool(result.converged) and bool((code.extract_data(result.word) == data).all())
    outcome = f"decoded in {int(result.iterations)} iterations" if fine else "not decoded"
    # A bit counts as wrong by the sign of its LLR; with an even number of thresholds the middle region has a weak one.
    print(f"level {level}: {read['sensings']:2} sensings, {wrong} of {code.codeword_bits} bits wrong, {outcome}")
    if fine:
        print(
            f"the data are back, after {level} level{'s' * (level > 1)} and {read['bits_per_cell']} bits from each cell"
        )
        break
