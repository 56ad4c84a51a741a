"""Decoders of users' own: does an independent one decide as the CPU, is a subtly wrong one caught, whatever it gets
wrong, and is one measured on the same frames as the CPU?
"""

from __future__ import annotations

import hashlib
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softsense
from conftest import ROOT, Softsense
from softsense import Code, CodeError, ConfigError, Conformance, conform
from softsense.backends import Backend, Cpu, Decoded
from softsense.conformance import SHIPPED, Case, cases, suite_codes

EXAMPLE = ROOT / "examples/numpy_decoder.py"
TEXT = EXAMPLE.read_text()
NAME = f"{EXAMPLE}:Decoder"
CODES = {code.name: code for code in suite_codes()}


def on(backend: type[Any], *names: str, algorithms: tuple[str, ...] = ("min-sum",)) -> Conformance:
    """What the cases of the suite of some of its codes say of a backend."""
    return conform(backend, codes=[CODES[name] for name in names], algorithms=algorithms)


# The suite and who passes it.


def test_the_example_conforms_on_short_codes() -> None:
    short = sorted((code for name, code in CODES.items() if name not in SHIPPED), key=lambda code: code.codeword_bits)[
        :4
    ]
    # Its columns are too heavy for eight bits.
    short.append(CODES["weight 17"])
    assert conform(NAME, codes=short, algorithms=("min-sum", "min-sum-16bit")).conforms


@pytest.mark.law
def test_the_example_conforms() -> None:
    found = conform(NAME)
    assert found.conforms
    assert found.passed == found.cases > 2000
    assert not found.refused
    assert not found.differences
    assert found.sha256 == hashlib.sha256(EXAMPLE.read_bytes()).hexdigest()


def test_the_suite_is_the_same_everywhere() -> None:
    found = conform(Cpu)
    assert found.conforms
    # Other frames are another version: who passed the one before has not decoded them.
    assert (found.version, found.cases, found.frames, found.digest) == SUITE


SUITE = (3, 3000, 309420, "2eda9e3262a7a150362cfc57d54e95468bce59387db07a926717709b3df6bf6d")


@pytest.fixture(scope="module")
def decoded() -> list[tuple[Case, Decoded]]:
    """Every frame of the suite once for each limit of iterations, as `min-sum` decodes them."""
    batches: Iterator[Case] = (case for case in cases(algorithms=["min-sum"]) if len(case.labels) > 10)
    return [(case, Cpu(case.code, "min-sum", case.iterations).decode(case.received)) for case in batches]


def test_the_suite_reaches_every_corner(decoded: list[tuple[Case, Decoded]]) -> None:
    codes = list(CODES.values())
    bases = [np.asarray(code.base_matrix()) >= 0 for code in codes]
    heaviest = [int(base.sum(axis=0).max()) for base in bases]
    assert {base.shape[0] % 4 for base in bases} == {0, 1, 2, 3}
    assert min(base.shape[0] for base in bases) == 1
    assert min(base.sum(axis=1).min() for base in bases) == 1
    assert min(base.sum(axis=0).min() for base in bases) == 0
    assert max(heaviest) == 257
    assert {1, 3, 4, 5} <= set(heaviest)
    assert {0.4, 0.7} <= {code.rate for code in codes}
    assert any(code.rate > 1 - base.shape[0] / base.shape[1] for code, base in zip(codes, bases, strict=True))
    sizes = {code.circulant_size or 0 for code in codes}
    assert {16, 32, 64, 128, 256, 512} <= sizes
    assert any(size & (size - 1) for size in sizes)
    shapes = {len(case.labels) for case in cases(codes=[CODES["rate 7/10"]])}
    assert {0, 1, 7} < shapes
    assert max(shapes) > 500

    for decisions in ("hard", "soft"):
        chosen = [(case, found) for case, found in decoded if case.decisions == decisions]
        converged = np.concatenate([found.converged for _, found in chosen])
        iterations = np.concatenate([found.iterations for _, found in chosen])
        assert set(range(21)) <= set(iterations[converged].tolist())
        assert (~converged).sum() > 100
        assert (iterations[~converged] >= 20).sum() > 100
    llrs = np.concatenate([np.unique(case.received) for case, _ in decoded if case.decisions == "soft"])
    assert set(range(-128, 128)) <= set(llrs.tolist())

    # The second pass: words that it saves, words that it gives up, too, and words just within and beyond its limit.
    first, both = [], []
    for case, found in decoded:
        base = np.asarray(case.code.base_matrix()) >= 0
        if case.decisions == "hard" and base.sum(axis=0).max() == 4:
            first.append(Cpu(case.code, "min-sum-8bit", case.iterations).decode(case.received))
            both.append(found)
    violated = np.concatenate([found.syndrome_weight for found in first])
    more = np.concatenate([b.iterations > a.iterations for a, b in zip(first, both, strict=True)])
    saved = np.concatenate([b.converged & ~a.converged for a, b in zip(first, both, strict=True)])
    assert (more == ((violated > 0) & (violated <= 64))).all()
    assert saved.sum() > 10
    assert (more & ~saved).sum() > 10
    assert {64, 65} <= set(violated.tolist())


def test_trapped_words_of_a_shipped_code_need_the_second_pass() -> None:
    trapped = [
        case
        for case in cases(codes=[CODES["flash-8/9"]], algorithms=["min-sum"])
        if case.decisions == "hard" and case.iterations == 20 and len(case.labels) > 10
    ]
    (case,) = trapped
    sets = [index for index, label in enumerate(case.labels) if "absorbing set" in label]
    eight = Cpu(case.code, "min-sum-8bit", 20).decode(case.received)
    both = Cpu(case.code, "min-sum", 20).decode(case.received)
    assert len(sets) == 4
    assert both.converged[sets].all()
    assert not eight.converged[sets].any()


# Decoders that are nearly right.

MUTANTS: dict[str, tuple[str, str, str]] = {
    "rounds down": ("+ 8) >> 4", ") >> 4", "one row"),
    "rounds halves down": ("+ 8) >> 4", "+ 7) >> 4", "one row"),
    "factors an iteration early": ("factors[min(iteration, len", "factors[min(iteration + 1, len", "one row"),
    "last factor an iteration early": ("(8, 10, 12, 12, 12, 11)", "(8, 10, 12, 12, 11)", "rate 7/10"),
    "factors of the lower rate at 0.7": ("code.rate < 0.7", "code.rate <= 0.7", "rate 7/10"),
    "factors of the lower rate at 0.4": ("code.rate < 0.4", "code.rate <= 0.4", "rate 2/5"),
    "rate of the base matrix": (
        "(8, 10, 12) if code.rate <",
        "(8, 10, 12) if 1 - base.shape[0] / base.shape[1] <",
        "two equal rows",
    ),
    "factors of hard decisions for LLRs": ("self.soft, self.soft_factors", "self.soft, self.factors", "rate 7/10"),
    "no second pass": ("if second:", "if False:", "weight 4, size 48"),
    "second pass from what was decided": (
        "llrs[:, again], second",
        "127 * np.sign(2 * totals[:, again] + 1), second",
        "weight 4, size 48",
    ),
    "second pass up to 63 checks": ("<= TRAPPED_CHECKS", "< TRAPPED_CHECKS", "weight 4, size 48"),
    "second pass up to 65 checks": ("<= TRAPPED_CHECKS", "<= TRAPPED_CHECKS + 1", "weight 4, size 64"),
    "second pass always": ("| (not counts_both)", "| True", "weight 4, size 48"),
    "no second pass of long words": ("| (not counts_both)", "| False", "rate 7/10, 30 columns"),
    "no second pass over LLRs": ("if second:", "if second and counts_both:", "rate 7/10"),
    "eight bits also below 0.7": (
        "stand_in = 10 * base.shape[0] <= 3",
        "stand_in = 10 * base.shape[0] <= 4",
        "rate 2/3, 30 columns",
    ),
    "sixteen bits at 0.7": (
        "stand_in = 10 * base.shape[0] <= 3",
        "stand_in = 10 * base.shape[0] < 3",
        "rate 7/10, 30 columns",
    ),
    "the rate with dependent checks": (
        "10 * base.shape[0] <= 3 * base.shape[1]",
        "code.rate >= 0.7",
        "two equal rows",
    ),
    "eight bits also for columns of weight 17": ("COLUMN = 16", "COLUMN = 17", "weight 17"),
    "sixteen bits for columns of weight 16": ("COLUMN = 16", "COLUMN = 15", "weight 16"),
    "weight 4 as other columns": (
        "[eight] if heaviest == 4 else",
        "[eight] if heaviest == 5 else",
        "weight 4, size 256",
    ),
    "other columns as weight 4": (
        "[eight] if heaviest == 4 else",
        "[eight] if heaviest >= 4 else",
        "rate 7/10, 30 columns",
    ),
    "iterations of the second pass alone": ("(iterations[again] if counts_both else 0)", "0", "weight 4, size 256"),
    "iterations of both passes always": (
        "(iterations[again] if counts_both else 0)",
        "iterations[again]",
        "rate 7/10",
    ),
    "iterations off by one": ("iterations[active] += 1", "iterations[active] = iteration", "one row"),
    "one iteration too many": ("range(self.iterations)", "range(self.iterations + 1)", "one row"),
    "ties of the two least": ("np.where(is_least.sum(axis=0) > 1, least, second)", "second", "one row"),
    "checks once an iteration": (" or (iteration > 0 and number % quarter == 0)", "", "two equal rows"),
    "checks after each block row": (
        "(iteration > 0 and number % quarter == 0)",
        "iteration > 0",
        "short, 11 light rows",
    ),
    "quarters rounded down": ("-(-len(self.rows) // 4)", "len(self.rows) // 4", "short, 11 light rows"),
    "no check before the first iteration": ("np.flatnonzero(self._violated(totals))", "np.arange(frames)", "one row"),
    "zero counts as 1": ("ones = totals < 0", "ones = totals <= 0", "one row"),
    "zero is decided for 1": ("packbits(totals.T < 0", "packbits(totals.T <= 0", "one row"),
    "magnitudes above 127": ("np.minimum(np.abs(extrinsic), LARGEST)", "np.abs(extrinsic)", "weight 4, size 48"),
    "hard decisions of 21": ("Pass(22,", "Pass(21,", "weight 4, size 48"),
    "messages of 25": ("(126 - 22)", "(126 - 26)", "weight 4, size 48"),
    "messages of 100 in 16 bits": ("Pass(16, LARGEST, 16)", "Pass(16, 100, 16)", "short, 15 light rows"),
    "messages of 63 for LLRs": ("Pass(LARGEST, LARGEST", "Pass(LARGEST, 63", "light rows"),
    "messages of 41 for LLRs": ("Pass(64, 40, 8)", "Pass(64, 41, 8)", "rate 7/10, 30 columns"),
    "LLRs of 63": ("Pass(64, 40, 8)", "Pass(63, 40, 8)", "rate 7/10, 30 columns"),
    "messages of 24 beside 8 bits": ("Pass(16, 40, 8)", "Pass(16, 24, 8)", "weight 16"),
    "-128 as it is": ("np.clip(llrs, -of.channel", "np.clip(llrs, -of.channel - (of.channel == 127)", "weight 30"),
    "heaviest column taken to be the first": (".sum(axis=0).max()", ".sum(axis=0)[0]", "weight 4, size 64"),
    "says nothing where a check has one bit": (
        "np.where(is_least, LARGEST, magnitudes)",
        "np.where(is_least, 0 if len(extrinsic) == 1 else LARGEST, magnitudes)",
        "light rows",
    ),
    "a-posteriori values of 8 bits for LLRs": (
        "soft_sixteen = Pass(64, 40, 8), Pass(LARGEST, LARGEST, 16)",
        "soft_sixteen = Pass(64, 40, 8), Pass(LARGEST, LARGEST, 8)",
        "weight 30",
    ),
    "a-posteriori values of 14 bits that wrap": (
        "totals[row] = np.clip(extrinsic + messages[number - 1], lowest, largest)",
        "totals[row] = (extrinsic + messages[number - 1] + 8192) % 16384 - 8192",
        "weight 257",
    ),
    "a-posteriori values that wrap in 8 bits": (
        "extrinsic + messages[number - 1], lowest, largest)",
        "(extrinsic + messages[number - 1] - lowest) % (largest - lowest + 1) + lowest, lowest, largest)",
        "rate 7/10",
    ),
    "extrinsic values that do not saturate": (
        "np.clip(totals[row] - messages[number - 1], lowest, largest)",
        "totals[row] - messages[number - 1]",
        "rate 7/10, 30 columns",
    ),
    "a-posteriori values from -127": ("-(1 << (of.bits - 1))", "1 - (1 << (of.bits - 1))", "rate 7/10, 30 columns"),
    "block rows from the last": ("for row in base\n", "for row in base[::-1]\n", "rate 7/10"),
    "shifts the other way": ("np.arange(size) + row[column]", "np.arange(size) - row[column]", "rate 7/10"),
    "weights of at most 255": ("iterations, violated)", "iterations, np.minimum(violated, 255))", "weight 30"),
    "answers in another order": ("violated == 0, iterations, v", "violated == 0, iterations[::-1], v", "one row"),
    "gives up with what it received": ("ended[:, active] = totals\n", "pass\n", "one row"),
    "no batch without a frame": (
        "        if received.dtype",
        "        received[0]\n        if received.dtype",
        "one row",
    ),
    "remembers the last batch": (
        "totals = totals[:, active]\n",
        "totals = totals[:, active] + getattr(self, 'more', 0)\n        self.more = 1\n",
        "one row",
    ),
}


def mutant(old: str, new: str) -> type[Backend]:
    assert TEXT.count(old) == 1, "the text to change is in the example once"
    module = types.ModuleType("mutant")
    exec(TEXT.replace(old, new), vars(module))
    decoder: type[Backend] = module.Decoder
    return decoder


LONG = {"rate 7/10, 30 columns", "weight 16", "weight 17", "weight 30", "weight 257"}
"""Codes of the suite with which a decoder in NumPy is busy for seconds: mutants that others do not show are laws."""


@pytest.mark.parametrize(
    "wrong", [pytest.param(name, marks=[pytest.mark.law] * (code in LONG)) for name, (_, _, code) in MUTANTS.items()]
)
def test_a_subtly_wrong_decoder_is_caught(wrong: str) -> None:
    old, new, code = MUTANTS[wrong]
    # Eight bits have no room for messages to the heaviest column.
    algorithms = ("min-sum",) if code == "weight 257" else ("min-sum", "min-sum-8bit")
    found = on(mutant(old, new), code, algorithms=algorithms)
    assert found.differences
    assert not found.conforms
    assert found.passed == found.cases - len(found.differences)


@pytest.mark.parametrize(
    "code",
    [pytest.param(code, marks=[pytest.mark.law] * (code in LONG)) for code in sorted({m[2] for m in MUTANTS.values()})],
)
def test_where_mutants_are_caught_the_original_is_not(code: str) -> None:
    assert on(mutant("+ 8) >> 4", "+ 8) >> 4"), code).conforms


def test_widths_that_are_mixed_up_are_caught() -> None:
    narrow = mutant(
        "self.hard, self.soft = [eight], [soft_eight]", "self.hard, self.soft = [eight, sixteen], [soft_eight]"
    )
    found = conform(narrow, codes=[CODES["weight 4, size 256"]], algorithms=["min-sum", "min-sum-8bit"])
    assert {difference.of.split(", ")[2] for difference in found.differences} == {"min-sum-8bit"}


@pytest.mark.parametrize("word", ["zeros", "ones", "received"])
def test_a_decoder_that_guesses_is_caught(word: str) -> None:
    class Guesses(Cpu):
        def decode(self, received: Any) -> Decoded:
            decoded = super().decode(received)
            guess = {"zeros": 0, "ones": 0xFF}.get(word)
            return decoded._replace(word=received.copy() if guess is None else np.full_like(decoded.word, guess))

    hard = [d for d in on(Guesses, "rate 7/10").differences if "hard" in d.of]
    assert hard
    assert {difference.field for difference in hard} == {"word"}


# Decoders that answer in another form, or not at all.


class Broken(Cpu):
    """As the CPU, until a batch has more than one frame."""

    def decode(self, received: Any) -> Any:
        """Decode a batch."""
        decoded = super().decode(received)
        return decoded if len(received) <= 1 else self.broken(decoded, received)

    def broken(self, decoded: Decoded, received: Any) -> Any:
        """What is answered in place of what was decoded."""
        raise NotImplementedError


def broken(how: Any) -> type[Broken]:
    class Made(Broken):
        def broken(self, decoded: Decoded, received: Any) -> Any:
            return how(decoded, received)

    return Made


def raises(_decoded: Decoded, _received: Any) -> None:
    raise ZeroDivisionError("of my own")


def writes(decoded: Decoded, received: Any) -> Decoded:
    received[0] ^= 1
    return decoded


MISTAKES: dict[str, tuple[Any, str, str, str]] = {
    "shape": (lambda d, r: d._replace(word=d.word.T), "word", "uint8 of shape (7, 20)", "uint8 of shape (20, 7)"),
    "dtype": (lambda d, r: d._replace(iterations=d.iterations.astype(int)), "iterations", "uint32", "int64"),
    "bool": (lambda d, r: d._replace(converged=d.converged.astype("u1")), "converged", "bool", "uint8"),
    "list": (lambda d, r: d._replace(syndrome_weight=[0] * 7), "syndrome_weight", "NumPy array", "list"),
    "none": (lambda d, r: None, "word", "NumPy array", "no such field in NoneType"),
    "raises": (raises, "exception", "none", "ZeroDivisionError: of my own"),
    "writes": (writes, "received", "left as it is", "written to"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_as_one(mistake: str) -> None:
    how, field, expected, found = MISTAKES[mistake]
    first = on(broken(how), "rate 7/10").differences[0]
    assert (first.case, first.frame, first.field) == (3, None, field)
    assert expected in first.expected
    assert found in first.found
    assert first.of == "rate 7/10, min-sum, at most 1 iteration, hard decisions, 7 frames"
    assert (first.traceback is not None) == (mistake == "raises")


def test_an_answer_need_not_be_contiguous() -> None:
    assert on(broken(lambda d, r: d._replace(word=np.asfortranarray(d.word))), "rate 7/10").conforms


def test_what_is_refused_is_not_passed() -> None:
    class Refuses(Cpu):
        def __init__(self, code: Code, algorithm: str, iterations: int) -> None:
            if algorithm != "min-sum":
                raise NotImplementedError("only min-sum")
            super().__init__(code, algorithm, iterations)

    found = on(Refuses, "rate 7/10", algorithms=("min-sum", "min-sum-16bit"))
    assert not found.conforms
    assert not found.differences
    assert found.refused == [
        {"code": "rate 7/10", "algorithm": "min-sum-16bit", "reason": "only min-sum", "cases": found.cases - 24}
    ]
    assert on(Refuses, "rate 7/10").conforms


def test_the_first_difference_is_told(softsense_process: Softsense, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(TEXT.replace("+ 8) >> 4", ") >> 4"))
    (tmp_path / "small.qc").write_text(CODES["rate 7/10"].to_qc())
    done = softsense_process("code", "conform", "mine.py:Decoder", "--code", "small.qc", "--decoder", "min-sum")
    assert done.returncode == 1
    told = " ".join(done.stdout.split())
    assert "differs in" in told
    assert "small.qc, min-sum, at most" in told
    assert "expected" in told
    assert "found" in told
    assert "conforms" not in told


def test_an_error_of_the_backend_has_its_own_traceback(softsense_process: Softsense, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(TEXT.replace("frames = totals.shape[1]", "frames = totals.shape[7]"))
    arguments = ("--code", "flash-8/9", "--decoder", "min-sum", "--no-progress")
    done = softsense_process("code", "conform", "mine.py:Decoder", *arguments)
    assert done.returncode == 1
    assert "exception: expected none, found IndexError" in done.stdout
    assert "mine.py" in done.stderr
    assert "totals.shape[7]" in done.stderr
    assert "conformance.py" not in done.stderr
    done = softsense_process(
        "code", "bench", "flash-8/9", "--errors", "9", "--frames", "9", "--backend", "mine.py:Decoder"
    )
    assert done.returncode == 1
    assert not done.stdout
    assert "totals.shape[7]" in done.stderr
    assert "backends.py" not in done.stderr


# Measurements.

COUNTS = ("frames", "frame_errors", "undetected", "bit_error_rate", "iteration_histogram", "fer", "fer_lo", "fer_hi")


@pytest.mark.parametrize(
    "channel", ["bsc:0.0092", "gaussian:0.0182:3", pytest.param("awgn:3.6", marks=pytest.mark.law)]
)
def test_a_backend_is_measured_on_the_same_frames(channel: str) -> None:
    code = Code.open("flash-8/9")
    theirs = softsense.bench(code, channel, frames=40, seed=3, backend=NAME)
    ours = softsense.bench(code, channel, frames=40, seed=3)
    assert [theirs[name] for name in COUNTS] == [ours[name] for name in COUNTS]
    assert 0 < ours["frame_errors"] < 40, "a channel that says something"
    assert theirs["backend"] == {
        "name": "numpy_decoder.py:Decoder",
        "sha256": hashlib.sha256(EXAMPLE.read_bytes()).hexdigest(),
        "batch_frames": 64,
        "compared": 40,
        "differing": 0,
    }
    assert ours["backend"] is None
    assert 0 < theirs["user_mbps"] < ours["user_mbps"]


@pytest.mark.parametrize("frames", [1, 7, 64, 100])
def test_counts_do_not_depend_on_batches(frames: int) -> None:
    given: list[int] = []

    class Batches(Cpu):
        batch_frames = frames

        def decode(self, received: Any) -> Decoded:
            given.append(len(received))
            return super().decode(received)

    ours = softsense.bench("flash-8/9", "bsc:0.009", frames=150, iterations=5)
    theirs = softsense.bench("flash-8/9", "bsc:0.009", frames=150, iterations=5, backend=Batches)
    assert [theirs[name] for name in COUNTS] == [ours[name] for name in COUNTS]
    assert sum(given) == 150
    assert max(given) == frames


def test_a_backend_that_differs_is_told(softsense_process: Softsense, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(TEXT.replace("+ 8) >> 4", ") >> 4"))
    arguments = ("flash-8/9", "--channel", "bsc:0.009", "--frames", "30", "--backend", "mine.py:Decoder")
    done = softsense_process("code", "bench", *arguments, "--no-progress")
    assert done.returncode == 0, "a decoder of one's own may be another one, but it is told"
    alike = int(done.stdout.split("as the CPU in ")[1].split()[0])
    assert alike < 30


def test_only_decoders_of_integers_have_backends() -> None:
    for code, decoder, complaint in (
        ("bch-512B-t15", "min-sum", "a BCH code"),
        ("literature:margulis-2640", "min-sum", "no base matrix"),
        ("flash-8/9", "flooding-sum-product-f64", "which compute with integers"),
    ):
        with pytest.raises(CodeError, match=complaint):
            softsense.bench(code, "errors:1", decoder=decoder, frames=1, backend=Cpu)
        with pytest.raises(CodeError, match=complaint):
            conform(Cpu, codes=[Code.open(code)], algorithms=[decoder])
    with pytest.raises(CodeError, match="threads: found 2"):
        softsense.bench("flash-8/9", "errors:1", frames=1, threads=2, backend=Cpu)
    with pytest.raises(CodeError, match="refuses rcq:4 of flash-8/9: found rcq:4"):
        softsense.bench("flash-8/9", "errors:1", frames=1, decoder="rcq:4", backend=NAME)
    with pytest.raises(ConfigError, match="expected a class with a method `decode`"):
        conform(int)  # type: ignore[arg-type]


def test_rcq_has_backends_too() -> None:
    assert conform(Cpu, codes=[CODES["weight 4, size 48"]], algorithms=["rcq:4"]).conforms
