"""The lifetimes of the codes."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import polars as pl

from softsense._core import Config
from softsense.base import inline
from softsense.formats import as_share
from softsense.lifetime import ADAPTIVE, Demand, Lifetime, lifetime, write_amplification
from softsense.papers import (
    Claim,
    Evidence,
    Figure,
    Measured,
    Number,
    Plan,
    Runs,
    configured,
    markdown_table,
)
from softsense.papers.drawing import bar_sheet
from softsense.papers.lae_ftl.devices import over_provisioning
from softsense.papers.lae_ftl.published import CONFIG, LAWS, LIMIT, PUBLISHED, Law, wear
from softsense.papers.lae_ftl.units import EVERY_LIFE, UNSQUEEZED, WORST_CASE, UnitCode, bch_of
from softsense.papers.lae_ftl.workloads import bar

if TYPE_CHECKING:
    from softsense.charts import Sheet

_DEMAND = Demand(uber=LIMIT)
_LDPC, _EQUAL_BCH = "flash-8-9", "bch-4KB-t256"


def _scheme(code: UnitCode) -> str:
    """The name of a code in results of `lifetime`."""
    return f"{code.codeword_bytes}B-t{code.correctable}"


@cache
def life(*of: UnitCode, law: Law = "power_law") -> Lifetime:
    """Endurances of codes on flash that wears by a law, each alone and one after the other."""
    # Codes are in the order in which they follow one another; `lifetime` finds anew where each ends.
    ends = {code: round(wear(law).pe_cycles(code.limit())) for code in of}
    return lifetime(configured(CONFIG, [bch_of(ends, wear(law).model)]), demand=_DEMAND)


@cache
def ldpc_life() -> Lifetime:
    """Endurances of LDPC and BCH with the same parity, by their decode tables."""
    table = {"file": _LDPC, "rber": wear().model}
    decoder = {"placement": {"per_channel": 1}, "time": {"fixed_us": 1.0}}
    worn = configured(CONFIG, [f"reliability={inline({'table': table})}", f"decoder={inline(decoder)}"])
    return lifetime(worn, [_LDPC, _EQUAL_BCH], demand=_DEMAND)


@cache
def _kept_amplification(units_per_block: int) -> float:
    """Write amplification where the user keeps the capacity of the unsqueezed device with the shipped
    over-provisioning.
    """
    utilisation = (1 - over_provisioning()) * UNSQUEEZED.units_per_block / units_per_block
    return write_amplification(Config.open(CONFIG), utilisation)


_SHRINKS, _STAYS = "capacity shrinks with the room", "capacity stays"


def _lifetimes(law: Law = "power_law") -> dict[str, dict[str, float]]:
    """Bytes written for each byte of flash, in thousands, by scheme."""
    of = {_scheme(code): code for code in (WORST_CASE, *EVERY_LIFE)}
    mine, base = life(*EVERY_LIFE, law=law), life(WORST_CASE, law=law)
    stages = {code.table: [(code, code.endurance_pe)] for code in (*base.codes, *mine.codes)}
    stages[ADAPTIVE] = [(stage.life, stage.to_pe - stage.from_pe) for stage in mine.stages]
    stays = {
        scheme: sum(
            cycles * each.user_share / _kept_amplification(of[each.table].units_per_block) for each, cycles in parts
        )
        for scheme, parts in stages.items()
    }
    rows = [row for found in (base, mine) for row in found.frame.iter_rows(named=True)]
    return {
        row["scheme"]: {_SHRINKS: row["lifetime_capacity"] / 1000, _STAYS: stays[row["scheme"]] / 1000} for row in rows
    }


def _measure_lifetime(plan: Plan, runs: Runs) -> Measured:
    ends = {
        scheme: end
        for each in (life(WORST_CASE), life(*EVERY_LIFE))
        for scheme, end in each.frame.select("scheme", "endurance_pe").iter_rows()
    }
    found, names, rows = _lifetimes(), {_scheme(code): code for code in (WORST_CASE, *EVERY_LIFE)}, []
    for scheme, written in found.items():
        code = names.get(scheme)
        group = f"{'worst case' if code == WORST_CASE else code.size}\nt = {code.correctable}" if code else "LAE-FTL"
        for how, bytes_ in written.items():
            rows.append(bar(group, how, Number.exact(bytes_), endurance_pe=ends[scheme]))
    mine, base = found[ADAPTIVE], found[_scheme(WORST_CASE)]
    single = {scheme: written for scheme, written in found.items() if scheme != ADAPTIVE}
    best = {how: max(single, key=lambda scheme: single[scheme][how]) for how in mine}
    told = [
        f"{mine[how] / base[how]:.2f} times as much as the worst-case code if the user's {how}, the best single code "
        f"({names[best[how]].label}) {single[best[how]][how] / base[how]:.2f} times"
        for how in mine
    ]
    evidence = {
        "life_grows": Evidence(
            Number.exact(mine[_SHRINKS] / base[_SHRINKS]),
            f"By the power law it ends at {ends[ADAPTIVE]:,} P/E cycles, not {ends[_scheme(WORST_CASE)]:,}, and writes "
            f"{'; '.join(told)}. The paper says that lifetime is prolonged, and not by how much.",
            in_all=all(mine[how] > single[best[how]][how] for how in mine),
            in_mean=mine[_SHRINKS] > base[_SHRINKS],
            under={"exponential wear": _by("exponential")},
        )
    }
    return Measured(pl.DataFrame(rows), evidence, (_note_of_laws(), _note_of_stages(), _note_of_ldpc()))


def _by(law: Law) -> Evidence:
    """Evidence whether lifetime grows on flash that wears by a law."""
    found = _lifetimes(law)
    mine, base = found[ADAPTIVE], found[_scheme(WORST_CASE)]
    best = {how: max(written[how] for scheme, written in found.items() if scheme != ADAPTIVE) for how in mine}
    return Evidence(
        Number.exact(mine[_SHRINKS] / base[_SHRINKS]),
        in_all=all(mine[how] > best[how] for how in mine),
        in_mean=mine[_SHRINKS] > base[_SHRINKS],
    )


def _note_of_laws() -> str:
    rows = []
    for law in LAWS:
        mine, base = life(*EVERY_LIFE, law=law), life(WORST_CASE, law=law)
        ends = [found.stages[-1].to_pe for found in (base, mine)]
        found = _lifetimes(law)
        ratios = [found[ADAPTIVE][how] / found[_scheme(WORST_CASE)][how] for how in (_SHRINKS, _STAYS)]
        off = as_share(wear(law).worst_factor - 1, 0)
        cells = [f"{end:,}" for end in ends]
        rows.append([law.replace("_", " "), off, *cells, f"{ends[1] / ends[0]:.2f}", *(f"{r:.2f}" for r in ratios)])
    heads = ["law", "off the four points by up to", "worst case, P/E cycles", "LAE-FTL", "ratio"]
    heads += [f"bytes written, {how}" for how in (_SHRINKS, _STAYS)]
    last = PUBLISHED["segment"][-1]["pe_cycles"]
    return (
        f"Beyond {last:,} P/E cycles nothing was published: all of the late stage is extrapolated, and how much longer "
        f"flash lasts hangs on the law.\n\n{markdown_table(heads, rows)}"
    )


def _note_of_stages() -> str:
    heads = ["code", "from P/E cycles", "to", "RBER then", "data for each bit of flash", "write amplification"]
    heads.append("the same, capacity stays")
    of, mine = {_scheme(code): code for code in EVERY_LIFE}, life(*EVERY_LIFE)
    (amplification,) = mine.write_amplification.values()
    rows = [
        [
            of[stage.life.table].label,
            f"{stage.from_pe:,}",
            f"{stage.to_pe:,}",
            f"{stage.life.rber:.2e}",
            f"{stage.life.user_share:.4f}",
            f"{amplification:.2f}",
            f"{_kept_amplification(of[stage.life.table].units_per_block):.2f}",
        ]
        for stage in mine.stages
    ]
    return (
        "Flash that wears by the power law of figure 1, until P / k is 1e-15. Lifetime capacity is bytes that the host "
        "can write for each byte of flash, parity and all. With a user whose capacity shrinks with the room write "
        "amplification is that of the shipped over-provisioning; with one who keeps what it has, as in figure 6, it "
        f"grows. LAE-FTL's stages:\n\n{markdown_table(heads, rows)}"
    )


def _note_of_ldpc() -> str:
    found = {each.table: each for each in ldpc_life().codes}
    heads = ["code", "parity bits", "P/E cycles", "RBER then"]
    told = [
        [
            name,
            f"{round(each.data_bits / each.user_share - each.data_bits):,}",
            f"{each.endurance_pe:,}",
            f"{each.rber:.2e}",
        ]
        for name, each in found.items()
    ]
    more = found[_LDPC].endurance_pe / found[_EQUAL_BCH].endurance_pe
    return (
        f"LDPC with as much parity, on the same flash, hard decision alone: `{_LDPC}` lasts {more:.2f} times as long "
        f"as a BCH code of t = 256, and soft decisions would come on top.\n\n{markdown_table(heads, told)}"
    )


def _draw_lifetime(frame: pl.DataFrame) -> Sheet:
    colours = {_SHRINKS: "#0072b2", _STAYS: "#56b4e9"}
    title = "Lifetime capacity of single codes and of LAE-FTL"
    note = "RBER by the power law, P / k = 1e-15 at the end"
    return bar_sheet(frame, title, "1,000 bytes for each of flash", colours=colours, line=None, note=note, digits=1)


FIGURES = (Figure("lifetime", "Lifetime", _measure_lifetime, _draw_lifetime),)

CLAIMS = (
    Claim(
        "life_grows",
        "lifetime",
        "LAE-FTL prolongs lifetime (its lifetime capacity over that of the worst-case code)",
        rule="order",
        kind="arithmetic",
        source=("segment[3].pe_cycles",),
    ),
)
