"""The bench of read retry: every technique on the same drives, codes, cells and workloads.

Each technique was published on its own simulator, with its own table of error rates. Here they are settings of one read
path, and can be combined.
"""

from __future__ import annotations

from softsense.papers import Case, Figure, Paper, Plan
from softsense.papers.drawing import Line, lines
from softsense.papers.elsewhere import Headline
from softsense.papers.read_retry.composed import draw_composed, measure_composed
from softsense.papers.read_retry.costs import dear_cases, draw_real, measure_dear, real, real_cases
from softsense.papers.read_retry.drives import draw_drive, measure_drive
from softsense.papers.read_retry.frontier import draw_frontier, measure_frontier
from softsense.papers.read_retry.runs import case_of, cases_of, plan_of
from softsense.papers.read_retry.techniques import DRIVES, SOFT, TECHNIQUES, Condition
from softsense.papers.techniques import reading
from softsense.read_policies import Technique

_COMPARED = ("table", "table + remembered", "Sentinel + remembered", "RiF + remembered")
_OLDEST = Condition(DRIVES[0], 2, "a year")


def _own(plan: Plan) -> list[Case]:
    return [case_of(plan.workloads[1], technique, _OLDEST, plan.seeds[0]) for technique in _COMPARED]


_ELSEWHERE = Headline(
    "beginning with the references that decoded a block last reads faster than a table in order, with RiF the most",
    tuple(Technique(name, "progressive", (reading(**TECHNIQUES[name]),)) for name in _COMPARED),
    _own,
    f"{_OLDEST.drive.config}, few reads",
    DRIVES[0].config,
    note="The reading of the shipped drive is replaced as a whole.",
)

PAPER = Paper(
    name="read-retry",
    title="Read retry: every technique on the same drives",
    published="A comparison of softsense's own",
    figures=(
        *(
            Figure(
                drive.config,
                f"Read retry on {drive.config}",
                measure_drive(drive),
                draw_drive(drive),
                cases_of(drive),
            )
            for drive in DRIVES
        ),
        Figure("composed", "What one setting more saves", measure_composed, draw_composed, cases_of(*DRIVES)),
        Figure("frontier", "The frontier", measure_frontier, draw_frontier, cases_of(*DRIVES)),
        Figure(
            "soft",
            "What a soft level costs",
            measure_dear,
            lines(
                "What a soft level costs",
                "time of an extra level, over that of a sensing",
                "mean response of reads, us",
                {
                    SOFT: Line("#7f7f7f"),
                    "table + remembered": Line("#e69f00"),
                    "Sentinel + remembered": Line("#d55e00"),
                    "RiF + remembered": Line("#0072b2"),
                },
                "after a year, at the end of life",
            ),
            dear_cases,
        ),
        Figure("real", "Real decodes", real, draw_real, real_cases),
        _ELSEWHERE.figure,
    ),
    claims=(),
    plan=plan_of,
    config=DRIVES[0].config,
    intro=(
        "Every technique reads the same codewords of the same cells with the same code, and all end with soft levels. "
        "Retries are decodes after the first one of a codeword; what a die senses again before it transfers is none. "
        "Metadata is a byte for each block whose references are remembered; what the flash needs beside its commands "
        "of today is in the CSV. Sentinels, predictors and retry tables are as fitted for these cells, and 0.0085 is "
        "the raw bit error rate beyond which a read is taken for lost. AR2 senses retries for 75 % of their time."
    ),
)
