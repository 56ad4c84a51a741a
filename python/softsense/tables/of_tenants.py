"""The tables of fairness among tenants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from softsense.formats import as_number, as_ratio, as_us
from softsense.tables.layout import Column, describe, paneled

if TYPE_CHECKING:
    from softsense.tenants import Fairness


def fairness(found: Fairness, width: int = 150) -> str:
    """The responses of each tenant alone and beside the others, and the measures of fairness."""
    rows = found.table.to_dicts()
    columns: list[Column] = []
    for where in ("alone", "together"):
        columns += [
            (f"{where}\nmean", [as_us(row[f"{where}_mean_us"]) for row in rows]),
            (f"{where}\np99", [as_us(row[f"{where}_p99_us"]) for row in rows]),
            (f"{where}\nper s", [as_number(row[f"{where}_iops"], 0) for row in rows]),
        ]
    columns.append(("slow-\ndown", [as_ratio(row["slowdown"]) for row in rows]))
    names = [row["tenant"] for row in rows]
    table = paneled("Response time of all requests (us), and requests per s", "tenant", names, columns, width)
    numbers = [
        ("fairness", f"{as_number(found.fairness, 3)}  least slowdown over the largest: 1 where all suffer alike"),
        ("largest slowdown", as_number(found.max_slowdown, 3)),
        ("weighted speedup", f"{as_number(found.weighted_speedup, 3)}  of at most {len(rows)}"),
        ("harmonic speedup", f"{as_number(found.harmonic_speedup, 3)}  of at most 1"),
    ]
    return f"{table}\n\n{describe(numbers)}"
