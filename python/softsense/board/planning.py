"""Plans of measurements: functions of the matrix, the decoder and the budget in core-minutes alone.

Frames follow from a nominal speed, not from that of the machine, so that two machines with one budget count the same
frames. A plan takes up measurements in one order, as long as the budget pays for them. First comes splitting on hard
decisions, from the highest frame error rate to the lowest, then splitting at 3 and 7 levels, then frames counted at
1e-6. A machine that is too slow stops when the budget is spent; what is then missing is told, and not proved.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from softsense._core import Code, ConfigError

LEVELS = (1, 3, 7)
"""Read levels of an entry: hard decision, and 3 and 7 references."""

TARGETS = (1e-4, 1e-6, 1e-10, 1e-15)
"""Frame error rates at which an entry gives the raw bit error rate."""

ITERATIONS = 20
"""Most iterations of a decoder on the board."""

GBPS = 8.0
"""Data rate, in Gb/s, that the decoders of all entries reach when their circuits are compared."""

NODE_NM = 28.0
"""Technology node of circuits, in nm."""

LEAST_BUDGET, MOST_BUDGET = 0.01, 10_000.0
"""Budgets that may be asked for, in core-minutes."""

START = 3e-2
"""Frame error rate from which splitting starts."""

RUNS, PARTICLES, STEPS = 16, 100, 30
"""Splitting: runs, patterns of each, and proposals for each pattern at each rung."""

TRIAL_RUNS, TRIAL_PARTICLES, TRIAL_STEPS = 4, 50, 15
"""The splitting that finds the places of the targets."""

WALKS, DECODES_OF_A_WALK = 4, 7200
"""Groups of chains from listed sets, and the decodes of each (`campaign.judge`)."""

RARE = 1e-9
"""Targets below this rate have chains from listed sets: higher ones are counted or seen by error weight."""

COUNTED = {1e-4: 300_000, 1e-6: 12_000_000}
"""Most frames that are counted as they come, at the targets where that is affordable."""

# Nominal speed: edges times iterations a second, of integers with wide circulants and of floating point; and the time
# of a frame that does not depend on edges.
_INTEGERS, _FLOATS, _FRAME_S = 4e9, 3e7, 10e-6
_WIDE = 64
_SPLITTING_ITERATIONS, _COUNTED_ITERATIONS = 8, 4
# Rungs of a ladder down to each target.
_RUNGS = {1e-4: 3, 1e-6: 5, 1e-10: 8, 1e-15: 11}
_WEIGHT_SHARE, _FLOOR_SHARE = 0.1, 0.05
_LEAST_FRAMES, _MOST_FRAMES = 2_000, 1 << 22


@dataclass(frozen=True)
class LevelPlan:
    """The plan of a read level.

    Attributes:
        targets: frame error rates that are sought.
        counted_frames: most frames that are counted as they come at a target, by targets.
        weight_frames: most frames by error weight, for each target; 0 for none.
        floor_frames: most frames from absorbing sets, for each target.
    """

    targets: tuple[float, ...] = ()
    counted_frames: dict[float, int] = field(default_factory=dict)
    weight_frames: int = 0
    floor_frames: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        counted = {f"{target:g}": frames for target, frames in self.counted_frames.items()}
        return {**asdict(self), "targets": list(self.targets), "counted_frames": counted}


@dataclass(frozen=True)
class BoardPlan:
    """The plan of an entry.

    Attributes:
        budget_core_minutes: the budget.
        decoder: the decoder, as `Code.decoder` takes it.
        iterations: most iterations.
        seed: seed of all frames, which follows from the matrix.
        most_orbits: the search for absorbing sets goes to larger sets until it lists so many orbits.
        most_bits: the most bits of a set that is searched for.
        levels: the plan of each level.
    """

    budget_core_minutes: float
    decoder: str
    iterations: int
    seed: int
    most_orbits: int
    most_bits: int
    levels: dict[int, LevelPlan]

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {**asdict(self), "levels": {str(level): each.to_dict() for level, each in self.levels.items()}}


def plan_of(
    code: Code, seed: int, budget: float, decoder: str = "min-sum", levels: tuple[int, ...] = LEVELS
) -> BoardPlan:
    """The plan for a code and a budget in core-minutes.

    Raises `ConfigError` for a budget out of range, a decoder of one's own, or soft levels of a BCH code.
    """
    if not LEAST_BUDGET <= budget <= MOST_BUDGET:
        raise ConfigError(f"budget: found {budget:g} core-minutes, expected {LEAST_BUDGET:g} to {MOST_BUDGET:,.0f}")
    if ":" in decoder and decoder.partition(":")[2][:1].isalpha():
        raise ConfigError(
            f"decoder: found `{decoder}`, a program, expected a decoder that softsense has, such as min-sum: the board "
            "measures matrices with decoders that everybody can read"
        )
    if code.kind == "bch":
        hard = LevelPlan(TARGETS, weight_frames=_MOST_FRAMES // 64)
        return BoardPlan(budget, "BCH", ITERATIONS, seed, 0, 0, {1: hard})
    seconds = 60 * budget
    iteration_s = len(code.edges()[0]) / _FLOATS
    if code.circulant_size is not None and decoder.startswith(("min-sum", "rcq", "bit-flipping")):
        iteration_s *= _FLOATS / _INTEGERS * max(1.0, _WIDE / code.circulant_size)
    targets, counted = _sought(levels, iteration_s, seconds * (1 - _WEIGHT_SHARE - _FLOOR_SHARE))

    def of_level(level: int) -> LevelPlan:
        if not targets[level]:
            return LevelPlan()
        # Half of the frames fail, after all iterations.
        share = seconds * (0.5 if level == 1 else 0.25) * (1.0 if len(levels) > 1 else 2.0) / len(targets[level])
        weights = _frames(share * _WEIGHT_SHARE / (ITERATIONS / 2 * iteration_s + _FRAME_S))
        floors = seconds * _FLOOR_SHARE / len(levels) / len(targets[level])
        floor = _frames(floors / (_SPLITTING_ITERATIONS * iteration_s + _FRAME_S))
        return LevelPlan(targets[level], counted[level], weights, floor)

    return BoardPlan(budget, decoder, ITERATIONS, seed, 60, 8, {level: of_level(level) for level in levels})


def _sought(
    levels: tuple[int, ...], iteration_s: float, seconds: float
) -> tuple[dict[int, tuple[float, ...]], dict[int, dict[float, int]]]:
    """The targets that are sought at each level, and the frames counted at them, as far as so many seconds go."""
    targets: dict[int, tuple[float, ...]] = dict.fromkeys(levels, ())
    counted: dict[int, dict[float, int]] = {level: {} for level in levels}
    splitting_s, counted_s = (_FRAME_S + each * iteration_s for each in (_SPLITTING_ITERATIONS, _COUNTED_ITERATIONS))
    soft = [level for level in levels if level > 1]
    for level, target in [*((1, each) for each in TARGETS), *((level, each) for each in TARGETS for level in soft)]:
        # One ladder has all targets of hard decisions.
        rungs = _RUNGS[target] - (_RUNGS[targets[1][-1]] if level == 1 and targets[1] else 0)
        trial = TRIAL_RUNS * TRIAL_PARTICLES * (2 * (TRIAL_STEPS + 1) * _RUNGS[target] + 1 / START)
        starts = RUNS * PARTICLES / START if level > 1 or not targets[1] else 0
        walks = WALKS * DECODES_OF_A_WALK if target < RARE else 0
        first = target == TARGETS[0]
        cost = (RUNS * PARTICLES * (STEPS + 1) * rungs + trial + starts + walks) * splitting_s
        cost += COUNTED[target] * counted_s if first else 0.0
        if cost <= seconds and (first or targets[level][-1:] == (TARGETS[TARGETS.index(target) - 1],)):
            seconds -= cost
            targets[level] += (target,)
            if first:
                counted[level][target] = COUNTED[target]
    for level in levels:
        target = TARGETS[1]
        if target in targets[level] and COUNTED[target] * counted_s <= seconds:
            seconds -= COUNTED[target] * counted_s
            counted[level][target] = COUNTED[target]
    return targets, counted


def _frames(frames: float) -> int:
    return int(min(max(frames, _LEAST_FRAMES), _MOST_FRAMES))
