"""Absorbing sets."""

from __future__ import annotations

from typing import Any

from softsense.formats import as_rate
from softsense.tables.layout import describe, headed

_MOST_SETS = 6
_MOST_STRAY = 5


def traps(document: dict[str, Any]) -> str:
    """The result of `softsense.find_traps`, and the failures of decoders on the sets."""
    searched = "not searched"
    if document["most_bits"]:
        searched = (
            f"all elementary sets of up to {document['most_bits']} bits, from cycles of up to "
            f"{document['longest_cycle']} bits"
        )
    rows = [("code", f"{document['code']} (n = {document['codeword_bits']:,})"), ("search", searched)]
    if document["impulses"]:
        rows.append(("impulses", f"{document['impulses']:,} through {document['impulse_decoder']}"))
    blocks = [describe(rows)]
    if classes := document["classes"]:
        columns = [
            ("\nbits", [str(c["bits"]) for c in classes]),
            ("violated\nchecks", [str(c["violated"]) for c in classes]),
            ("\norbits", [f"{c['orbits']:,}" for c in classes]),
            ("\nsets", [f"{c['sets']:,}" for c in classes]),
        ]
        if document["impulses"]:
            columns += [
                ("orbits found by\nsearch", [f"{c['search']:,}" for c in classes]),
                ("\nimpulses", [f"{c['impulses']:,}" for c in classes]),
                ("\nboth", [f"{c['both']:,}" for c in classes]),
            ]
        blocks.append("Absorbing sets\n" + headed(columns))
    else:
        blocks.append("Absorbing sets: none found")
    if stray := document["stray"]:
        seen = sorted(stray, key=lambda s: -s["hits"])[:_MOST_STRAY]
        told = ", ".join(f"({s['bits']}, {s['violated']}) {s['hits']:,} times" for s in seen)
        more = ", ..." if len(stray) > len(seen) else ""
        blocks.append(f"Impulses also ended in sets that are not absorbing\n{told}{more}")
    for trap in document["sets"][:_MOST_SETS]:
        bits = " ".join(map(str, trap["bits"]))
        blocks.append(f"({len(trap['bits'])}, {trap['violated']}), one of {trap['multiplicity']}: {bits}")
    if len(document["sets"]) > _MOST_SETS:
        blocks.append(f"... and {len(document['sets']) - _MOST_SETS:,} more orbits (--out FILE writes all)")
    if failing := document.get("decoders"):
        columns = [
            ("\ndecoder", [f["decoder"] for f in failing]),
            ("\nset", [f"({f['bits']}, {f['violated']})" for f in failing]),
            ("wrong\nbits", [str(f["wrong"]) for f in failing]),
            ("frames\ndecoded", [f"{f['frames']:,}" for f in failing]),
            ("\nfailures", [f"{f['failures']:,}" for f in failing]),
            ("share that\nfails", [as_rate(f["failures"] / f["frames"]) for f in failing]),
            ("95 %\nfrom", [as_rate(f["lo"]) for f in failing]),
            ("\nto", [as_rate(f["hi"]) for f in failing]),
        ]
        rber = failing[0]["rber"]
        blocks.append(f"Frames with wrong bits in one set, elsewhere at RBER {rber:g}\n" + headed(columns))
    return "\n\n".join(blocks)
