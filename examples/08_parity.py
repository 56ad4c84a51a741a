"""What does parity across dies cost, and what does it save? Worn flash with the same data, in stripes of any length.

docs/model/parity.md has the arithmetic of the picture.
"""

import matplotlib.pyplot as plt

import softsense

GIB = 2**30
# A small drive of TLC after 8,000 P/E cycles, with data that is a year old: some codewords are beyond its code.
DRIVE = [
    *("geometry.blocks_per_plane=128", "geometry.pages_per_block=96", "ftl.over_provisioning=0.15"),
    *("precondition.pe_cycles=8000", "precondition.retention_days=365"),
    *("workload.requests=25000", "workload.read_fraction=0.7"),
]
DATA = 4.5 * GIB
STRIPES = [None, 15, 7, 3, 1]


def drive(pages: int | None) -> list[str]:
    """The drive with a page of parity for so many of data. Room that its data leaves is spare."""
    parity = [] if pages is None else [f"ftl.parity={{ data_pages = {pages} }}"]
    room = softsense.load_config("tlc-femu", [*DRIVE, *parity]).user_bytes
    return [*DRIVE, *parity, f"workload.footprint_bytes={DATA:.0f}", f"precondition.mapped_fraction={DATA / room:.4f}"]


names, lost, p999_ms, amplification = [], [], [], []
for pages in STRIPES:
    summary = softsense.run("tlc-femu", overrides=drive(pages)).summary
    reads, parity = summary["codeword_reads"], summary.get("parity", {})
    names.append("none" if pages is None else f"{pages} + 1")
    lost.append(reads["uncorrectable"] / reads["count"])
    p999_ms.append(summary["response"]["read"]["p999_us"] / 1000)
    amplification.append(summary["writes_detail"]["write_amplification"])
    print(
        f"{names[-1]:>6}: {1e6 * lost[-1]:5.1f} of a million codewords lost, "
        f"{1e6 * parity.get('recovered', 0) / reads['count']:5.1f} rebuilt; "
        f"p99.9 of reads {p999_ms[-1]:.2f} ms; write amplification {amplification[-1]:.2f}"
    )

figure, panels = plt.subplots(ncols=3, figsize=(11, 3.6), layout="constrained")
for axes, values, title, form in (
    (panels[0], [1e6 * share for share in lost], "Codewords lost, of a million", "{:.1f}"),
    (panels[1], amplification, "Write amplification", "{:.2f}"),
    (panels[2], p999_ms, "p99.9 of reads, ms", "{:.1f}"),
):
    axes.bar_label(axes.bar(names, values), fmt=form)
    axes.set(title=title, xlabel="pages of a stripe: data + parity")
    axes.margins(y=0.12)
figure.savefig("parity.png", dpi=120)
print("drawn into parity.png")
