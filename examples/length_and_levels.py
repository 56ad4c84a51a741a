"""What does a longer codeword buy at the same spare area, and what do more read levels buy at each rate?

Codes are designed for each case, frames of each are counted, and the limits of theory stand beside them:
docs/length-and-levels.md discusses the tables and pictures. It takes 25 minutes on two cores; what is done is kept in
length-and-levels.store.
"""

import matplotlib.pyplot as plt

import softsense
from softsense import codes
from softsense.code_design import parity_of_rate

FER = 1e-10
LENGTHS = [2048, 4096, 8192, 16384]
RATES, LEVELS = [0.80, 0.84, 8 / 9, 0.91, 0.94], [1, 2, 3, 7]


def designed(data_bits: int, parity_bits: int, family: str, level: int = 1) -> tuple[float, float, float]:
    """RBER of the best code of a family: predicted, the prediction moved to where it was measured; and the limit."""
    design = softsense.design_code(
        data_bits,
        parity_bits,
        fer=FER,
        level=level,
        families=[family],
        circulant_sizes=[data_bits // 128] if parity_bits * 8 == data_bits else None,
        profiles=1,
        seeds=1,
        measured=1,
        most_bits=4,
        store="length-and-levels.store",
    )
    best = design.candidates[0]
    return best["rber"], best["measured_rber"] or float("nan"), design.limit


def strongest_bch(data_bits: int, parity_bits: int) -> float:
    """RBER of the strongest BCH code that fits: its field has as many bits as the length needs."""
    bits = data_bits + parity_bits
    return codes.raw_bit_error_rate(bits, parity_bits // bits.bit_length(), FER)


def capacity(data_bits: int, parity_bits: int, level: int = 1) -> float:
    """RBER at which the capacity is the rate: the limit of codes so long that a thousand codewords are one."""
    return codes.limit(1000 * (data_bits + parity_bits), 1000 * data_bits, fer=0.5, level=level)


print("12.5 % of parity, hard decision; RBER at which one of 1e10 frames fails\n")
print("| data | BCH | regular, predicted | measured | two weights, predicted | measured | limit | capacity |")
names = ("capacity", "limit", "LDPC, two weights", "LDPC, regular", "BCH")
of_lengths = []
for data in (8 * length for length in LENGTHS):
    parity = data // 8
    two, one = designed(data, parity, "two_weights"), designed(data, parity, "regular")
    of_lengths.append((capacity(data, parity), two[2], two[1], one[1], strongest_bch(data, parity)))
    rbers = (of_lengths[-1][4], one[0], one[1], *two, of_lengths[-1][0])
    print(f"| {data // 8192} KiB |", *(f"{rber:.5f} |" for rber in rbers))

figure, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
kib = [length / 1024 for length in LENGTHS]
for name, values, style in zip(names, zip(*of_lengths, strict=True), ("k--", "k:", "o-", "s-", "^-"), strict=True):
    axes.plot(kib, values, style, label=name)
axes.set_xscale("log", base=2)
axes.set_xticks(kib, [f"{length:g} KiB" for length in kib])
axes.set(xlabel="data of a codeword, 12.5 % of parity", ylabel="raw bit error rate, hard decision")
axes.set(title="Where one of 1e10 frames fails", ylim=(0, None))
figure.legend(loc="outside right center")
axes.grid(alpha=0.3)
figure.savefig("length.png", dpi=120)

print("\n4 KiB; RBER at which one of 1e10 frames fails\n")
print("| rate | level | BCH | two weights, predicted | measured | limit | capacity |")
data = 32768
parities = [parity_of_rate(data, rate) for rate in RATES]
of_levels: dict[int, list[tuple[float, float, float]]] = {level: [] for level in LEVELS}
for parity in parities:
    for level in LEVELS:
        of_levels[level].append(designed(data, parity, "two_weights", level))
        bch = f"{strongest_bch(data, parity):.5f}" if level == 1 else ""
        with_capacity = (*of_levels[level][-1], capacity(data, parity, level))
        print(f"| {data / (data + parity):.3f} | {level} | {bch} |", *(f"{rber:.5f} |" for rber in with_capacity))

figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
rates = [data / (data + parity) for parity in parities]
for level, found in of_levels.items():
    (line,) = axes.plot(rates, [measured for _, measured, _ in found], "o-", label=f"LDPC, level {level}")
    axes.plot(rates, [limit for *_, limit in found], ":", color=line.get_color())
axes.plot(rates, [strongest_bch(data, parity) for parity in parities], "k^-", label="BCH, level 1")
axes.set(xlabel="rate k / n of 4 KiB", ylabel="raw bit error rate")
axes.set(title="Where one of 1e10 frames fails (dotted: limit)", ylim=(0, None))
axes.legend()
axes.grid(alpha=0.3)
figure.savefig("levels.png", dpi=120)
print("\ndrawn into length.png and levels.png")
