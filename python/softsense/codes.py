"""Error-correcting codes from Python: their properties, failure probabilities, speed and hardware.

`softsense.Code` is a code that is prepared once; `Code.encode` and `Decoder.decode` take NumPy arrays and release the
GIL::

    import numpy as np
    import softsense

    code = softsense.Code.open("flash-8/9")
    data = np.random.default_rng(1).integers(0, 256, (100, code.data_bits // 8), dtype=np.uint8)
    words = code.encode(data)
    words[:, 17] ^= 0b0110_0000
    result = code.decoder(iterations=20).decode(words, threads=2)
    assert result.converged.all() and (code.extract_data(result.word) == data).all()
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product, starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from softsense import _core
from softsense._core import Code, CodeError, ConfigError, StopFlag
from softsense.background import in_background
from softsense.base import Interrupted

if TYPE_CHECKING:
    from softsense.backends import Backend

FAILURE_TARGETS = (1e-15, 1e-10, 1e-6, 1e-2)
"""Failure probabilities for which `describe` gives the raw bit error rate that a BCH code corrects."""

MIN_SUM_RULE = "min-sum:0.75"
"""The min-sum factor for which `describe` gives the decoding threshold."""

_MOST_EDGES = 50_000
# The range of fields that `Code.open` knows.
_FIELD_BITS = range(5, 17)
_CYCLE_LENGTHS = (4, 6, 8)


def bench(
    code: Code | str | Path,
    channel: str,
    *,
    decoder: str = "min-sum",
    iterations: int = 20,
    threads: int = 1,
    seconds: float = 10.0,
    frames: int | None = None,
    seed: int = 1,
    backend: str | type[Backend] | None = None,
    progress: Callable[[float, int], None] | None = None,
) -> dict[str, Any]:
    """Measure error rate and speed of a code. Random data is encoded, sent through a channel, decoded and compared.

    Args:
        code: a code, or a name or file that `Code.open` takes.
        channel: `bsc:P`, `errors:W`, `awgn:EBN0_DB` or `gaussian:RBER:LEVELS`.
        decoder: a name that `Code.decoder` takes; BCH codes ignore it, and `iterations`, too.
        iterations: iterations after which a decoder gives up.
        threads: threads that decode.
        seconds: how long to measure; ignored if `frames` is given.
        frames: how many frames to measure; all counts then depend on the seed only.
        seed: seed of data and noise, 0 to 2^64 - 1.
        backend: a decoder in place of the CPU's, on one thread: a class (`softsense.backends.Backend`), or its name,
            such as `my_decoder.py:Decoder`. The frames are the same.
        progress: called about ten times a second with the fraction done and the frames so far.

    Returns:
        `user_mbps` and `encode_mbps` (data rates of all threads in Mb/s, without the time of the channel), `frames`,
        `frame_errors`, `fer` and its exact 95 % interval `fer_lo` to `fer_hi`, `undetected` (number of wrong words that
        the decoder reported as decoded), `bit_error_rate` of the data after decoding, `mean_iterations`,
        `iteration_histogram`, and the arguments of the measurement. Values that do not apply, and rates of no frames,
        are None.

        `backend` is a dict of its `name`, the `sha256` of its file, `batch_frames` (frames that it was given at once),
        `compared` (frames of the first batch, which the CPU decoded as well) and `differing` (compared frames in which
        the two differ).

    Raises `CodeError` or `FileError`; `ConfigError` for a backend that cannot be found; whatever a backend raises;
    `Interrupted`, with the result so far, on Ctrl-C.

    >>> result = bench("bch:m=10,t=5,k=512", "errors:5", frames=1000)
    >>> result["frames"], result["frame_errors"], result["fer"]
    (1000, 0, 0.0)
    >>> f"{result['fer_hi']:.4f}"  # what 1000 frames without an error say
    '0.0037'
    """
    opened = code if isinstance(code, Code) else Code.open(code)
    own = None
    if backend is not None:
        from softsense.backends import Measured, open_backend

        if threads != 1:
            raise CodeError(f"threads: found {threads} for a backend, expected 1: it may use as many as it likes")
        own = Measured(open_backend(backend), opened, decoder, iterations)
    stop = StopFlag()
    so_far: list[tuple[float, int]] = []

    def watch() -> None:
        if progress and so_far:
            progress(*so_far.pop())
            so_far.clear()

    def measure() -> dict[str, Any]:
        return _core.measure_code(
            opened,
            channel,
            decoder=decoder,
            iterations=iterations,
            threads=threads,
            seconds=seconds,
            frames=frames,
            seed=seed,
            progress=lambda *told: so_far.append(told),
            stop=stop,
            backend=(own.decode, own.batch_frames) if own else None,
        )

    result = in_background(measure, stop, watch)
    result["backend"] = own.told() if own else None
    if result["interrupted"] or stop.is_set:
        raise Interrupted(result)
    return result


def describe(code: Code, *, thresholds: bool = True, cycles: bool | None = None) -> dict[str, Any]:
    """The properties of a code, as a dict ready for JSON.

    Args:
        code: the code.
        thresholds: whether to add decoding thresholds by density evolution (LDPC; takes up to a second).
        cycles: whether to add girth and short cycles (LDPC); default: only if the code has a base matrix or few edges,
            as counting takes up to a minute otherwise.

    >>> facts = describe(Code.open("teaching-1/2"), thresholds=False)
    >>> facts["codeword_bits"], facts["girth"], facts["bit_degrees"][0]["degree"]
    (96, 6, 3)
    """
    facts = {
        "name": code.name,
        "kind": code.kind,
        "codeword_bits": code.codeword_bits,
        "data_bits": code.data_bits,
        "parity_bits": code.codeword_bits - code.data_bits,
        "rate": code.rate,
    }
    return facts | (_describe_ldpc(code, thresholds, cycles) if code.kind == "ldpc" else _describe_bch(code))


def _describe_ldpc(code: Code, thresholds: bool, cycles: bool | None) -> dict[str, Any]:
    edges = len(code.edges()[0])
    base = code.base_matrix()
    facts: dict[str, Any] = {
        "checks": code.checks,
        "edges": edges,
        "encoding": code.encoding,
        "data_first": bool(code.data_positions()[-1] == code.data_bits - 1),
        "circulant_size": code.circulant_size,
        "block_rows": None if base is None else base.shape[0],
        "block_columns": None if base is None else base.shape[1],
        "punctured_bits": code.punctured_bits,
    }
    for name, degrees in zip(("bit_degrees", "check_degrees"), code.degree_distribution(), strict=True):
        facts[name] = [
            {"degree": degree, "count": round(fraction * edges / degree) if degree else None, "edge_fraction": fraction}
            for degree, fraction in degrees
        ]
    if cycles or (cycles is None and (base is not None or edges <= _MOST_EDGES)):
        girth, spectra = code.cycles()
        facts["girth"] = girth
        facts["cycles"] = {str(length): sum(count for _, count in spectrum) for length, spectrum in spectra}
        facts["least_extrinsic_degree"] = {
            str(length): spectrum[0][0] if spectrum else None for length, spectrum in spectra
        }
    else:
        facts |= {"girth": None, "cycles": None, "least_extrinsic_degree": None}
    facts["shannon_limit"] = code.shannon_limit
    # Density evolution takes all columns of a matrix as sent.
    if thresholds and not code.punctured_bits:
        facts["threshold_sum_product"] = code.threshold("sum-product")
        facts["threshold_min_sum"] = code.threshold(MIN_SUM_RULE)
    return facts


def _describe_bch(code: Code) -> dict[str, Any]:
    generator = code.generator_polynomial()
    n, t = code.codeword_bits, code.correctable
    return {
        "field_bits": code.field_bits,
        "correctable": t,
        "generator_degree": len(generator) - 1,
        "generator_weight": int(generator.sum()),
        "shannon_limit": code.shannon_limit,
        "raw_bit_error_rate": {f"{target:.0e}": raw_bit_error_rate(n, t, target) for target in FAILURE_TARGETS},
    }


def hardware(code: Code, **circuit: Any) -> dict[str, Any]:
    """Estimate gates, area, cycles and energy of a code's decoder and encoder by the model of docs/model/hardware.md.

    Args:
        code: an LDPC or a BCH code.
        circuit: keyword arguments of `code_hardware`: `node_nm`, `clock_mhz`, `iterations`, `checks_per_cycle`,
            `message_bits`, `posterior_bits`, `syndrome_bits_per_cycle`, `key_equation_multipliers`,
            `search_bits_per_cycle`, `encoder_bits_per_cycle`. Arguments that are not given have the defaults of a
            config.

    Returns `code`, `kind`, `node_nm`, `clock_mhz`, and `decoder` and `encoder`: each `gates`, `memory_bits`, `mm2`, and
    for one codeword `cycles`, `us`, `gbps`, `nj` and `pj_per_bit`. Raises `ConfigError`.

    >>> found = hardware(Code.open("bch-512B-t15"), clock_mhz=100.0)
    >>> found["decoder"]["cycles"], found["decoder"]["us"]
    (1119, 11.19)
    """
    for name, value in circuit.items():
        if isinstance(value, int) and not 0 <= value < 2**32:
            raise ConfigError(f"{name}: found {value:,}, expected a whole number from 0, below 2^32")
    return _core.code_hardware(code, **circuit)


_PARALLELISM = {"ldpc": ("checks_per_cycle",), "bch": ("syndrome_bits_per_cycle", "search_bits_per_cycle")}
_MULTIPLIERS = "key_equation_multipliers"
_PARALLEL = [1 << exponent for exponent in range(13)]


def hardware_at_equal_rate(codes: Sequence[Code], gbps: float | None = None, **circuit: Any) -> list[dict[str, Any]]:
    """Decoders of several codes that reach the same data rate, each in the least area by the model of `hardware`.

    A decoder of an LDPC code handles 1, 2, 4, ... 4,096 checks a cycle. A decoder of a BCH code handles as many bits a
    cycle in syndromes and search, and has as many multipliers for its key equation. As many decoders of each code are
    taken as the data rate needs. The parallelism is the one whose decoders together have the least area.

    Args:
        codes: LDPC and BCH codes.
        gbps: the data rate to reach, in Gb/s; default: that of the fastest of the codes with the circuit of a config.
        circuit: arguments as `hardware` takes them, without those of parallelism.

    Returns a dict for each code: `code`, `kind`, `node_nm`, `clock_mhz`, `gbps_asked` and `decoders` (their number).
    The parallelism of one decoder is `checks_per_cycle`, or the three fields of a BCH decoder. All decoders together
    have `mm2` and `gbps`. One codeword takes `us` in a decoder, `nj`, and `pj_per_bit` of data. Raises `ConfigError`.

    >>> ldpc, bch = hardware_at_equal_rate([Code.open("flash-8/9"), Code.open("bch-4KB-t256")], 8.0)
    >>> ldpc["decoders"], ldpc["checks_per_cycle"], bch["decoders"], bch["search_bits_per_cycle"]
    (1, 16, 2, 64)
    """
    for name in (*_PARALLELISM["ldpc"], *_PARALLELISM["bch"], _MULTIPLIERS):
        if circuit.get(name) is not None:
            raise ConfigError(
                f"{name}: found {circuit[name]} together with a data rate to reach, expected only one of the two"
            )
    if gbps is None:
        gbps = max(hardware(code, **circuit)["decoder"]["gbps"] for code in codes)
    if not 0 < gbps <= 1e6:
        raise ConfigError(f"gbps: found {gbps:g}, expected above 0, at most 1e6")
    return [_least_area(code, gbps, circuit) for code in codes]


def _least_area(code: Code, gbps: float, circuit: dict[str, Any]) -> dict[str, Any]:
    def candidate(parallel: int, multipliers: int) -> dict[str, Any]:
        fields = dict.fromkeys(_PARALLELISM[code.kind], parallel)
        if code.kind == "bch":
            fields[_MULTIPLIERS] = multipliers
        facts = hardware(code, **circuit | fields)
        one = facts["decoder"]
        decoders = math.ceil(gbps / one["gbps"])
        return {
            **{name: facts[name] for name in ("code", "kind", "node_nm", "clock_mhz")},
            "gbps_asked": gbps,
            "decoders": decoders,
            **fields,
            "mm2": decoders * one["mm2"],
            "gbps": decoders * one["gbps"],
            **{name: one[name] for name in ("us", "nj", "pj_per_bit")},
        }

    multipliers = _PARALLEL if code.kind == "bch" else [0]
    return min(starmap(candidate, product(_PARALLEL, multipliers)), key=lambda each: float(each["mm2"]))


def failure_probability(bits: int, correctable: int, raw_bit_error_rate: float) -> float:
    """The probability that more than `correctable` of `bits` bits are wrong, each independently.

    The sum of the binomial tail is accurate to about nine digits however small.

    >>> f"{failure_probability(bits=34040, correctable=91, raw_bit_error_rate=0.001):.3g}"
    '1.74e-16'
    """
    if correctable < 0 or bits < 1 or not 0 <= raw_bit_error_rate <= 1:
        found = f"{bits} bits, {correctable} correctable, error rate {raw_bit_error_rate}"
        raise CodeError(f"failure_probability: found {found}, expected at least 1 bit and an error rate from 0 to 1")
    if correctable >= bits or raw_bit_error_rate == 0:
        return 0.0
    if raw_bit_error_rate == 1:
        return 1.0
    log_wrong, log_right = math.log(raw_bit_error_rate), math.log1p(-raw_bit_error_rate)

    def probability(errors: int) -> float:
        choices = math.lgamma(bits + 1) - math.lgamma(errors + 1) - math.lgamma(bits - errors + 1)
        return math.exp(choices + errors * log_wrong + (bits - errors) * log_right)

    # The terms rise up to the mean and fall after it, so they are summed from the mean outwards until nothing is added.
    mean = bits * raw_bit_error_rate
    if correctable + 1 <= mean:
        return 1 - _sum_until_negligible(probability, range(correctable, -1, -1))
    return _sum_until_negligible(probability, range(correctable + 1, bits + 1))


def _sum_until_negligible(term: Callable[[int], float], indices: range) -> float:
    total = 0.0
    for index in indices:
        value = term(index)
        total += value
        if value <= 1e-17 * total:
            break
    return total


def limit(codeword_bits: int, data_bits: int, *, fer: float, level: int = 1) -> float:
    """The raw bit error rate at which the best possible codes of a length fail in a share `fer` of their words.

    The normal approximation: n bits carry n C of information on average, where C is the capacity, and by chance
    sometimes less than the k bits of data.

    Args:
        codeword_bits: n.
        data_bits: k, below n.
        fer: frame error rate, 1e-30 to 0.5.
        level: read level, 1 (hard decision) to 7, with references at the best places.

    Raises `CodeError`: an argument out of range.

    Source: Y. Polyanskiy, H. V. Poor, S. Verdu, "Channel coding rate in the finite blocklength regime", 2010, eq. 296.

    >>> round(limit(36864, 32768, fer=1e-15), 5)
    0.01044
    """
    return _core.normal_approximation(codeword_bits, data_bits, level, fer)


def rber_at_capacity(rate: float, level: int = 1) -> float:
    """The raw bit error rate at which the capacity of a read level is a code rate: no code corrects more at length.

    Args:
        rate: data bits over codeword bits, between 0 and 1.
        level: read level, 1 (hard decision) to 7, with references at the best places.

    >>> round(rber_at_capacity(0.5), 6)
    0.110028
    """
    low, high = 1e-9, 0.499
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if _core.capacity(middle, level) > rate else (low, middle)
    return low


def raw_bit_error_rate(bits: int, correctable: int, failure: float) -> float:
    """The raw bit error rate at which `failure_probability` is `failure`, to about nine digits.

    >>> round(raw_bit_error_rate(bits=34040, correctable=91, failure=1e-15), 6)
    0.001031
    """
    if not 0 < failure < 1 or not 0 <= correctable < bits:
        found = f"{failure} for {correctable} of {bits} bits"
        raise CodeError(
            f"raw_bit_error_rate: found failure {found}, expected one between 0 and 1, and fewer than all bits"
        )
    low, high = 0.0, 1.0
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if failure_probability(bits, correctable, middle) < failure:
            low = middle
        else:
            high = middle
    return (low + high) / 2


@dataclass(frozen=True)
class BchParity:
    """The parity of a shortened binary BCH code.

    Attributes:
        data_bits: k, the data bits of a codeword.
        field_bits: m, the degree of the smallest field whose codewords are long enough.
        correctable: t, the number of errors that are always corrected.
    """

    data_bits: int
    field_bits: int
    correctable: int

    @property
    def parity_bits(self) -> int:
        """An upper bound of the parity bits of a binary BCH code: m t."""
        return self.field_bits * self.correctable

    @property
    def codeword_bits(self) -> int:
        """The length n of a codeword in bits."""
        return self.data_bits + self.parity_bits


def bch_parity(data_bits: int, correctable: int) -> BchParity:
    """The parity of a BCH code, in the smallest field with k + m t <= 2^m - 1.

    Raises `CodeError` if no field up to m = 16 has codewords of that length.

    >>> bch_parity(data_bits=32768, correctable=91).parity_bits
    1456
    """
    longest = (1 << _FIELD_BITS[-1]) - 1
    if 1 <= data_bits <= longest and 0 <= correctable <= longest:
        parity = _core.bch_parity(data_bits, correctable)
        if parity is not None:
            return BchParity(data_bits, parity["field_bits"], correctable)
    found = f"{correctable} correctable errors in {data_bits} data bits"
    raise CodeError(f"bch_parity: found {found}, expected a codeword of 1 to {longest:,} bits")


def minimum_correctable(
    data_bits: int,
    raw_bit_error_rate: float,
    *,
    limit: float = 1e-15,
    criterion: Literal["unit_ber", "failure"] = "unit_ber",
) -> BchParity:
    """The weakest BCH code whose uncorrectable errors are rare enough.

    Args:
        data_bits: k, the data bits of a codeword.
        raw_bit_error_rate: error rate of each bit of the codeword, independently.
        limit: the largest value allowed, above 0 and below 1.
        criterion: the quantity to which the limit applies: `unit_ber`, P(more than t errors) / k, or `failure`,
            P(more than t errors).

    A stronger code has more bits that can be wrong: t is the smallest one that meets the limit with its own parity
    counted.

    Raises `CodeError` if no code up to m = 16 meets it.

    Source: S. Wang et al., "Lifetime Adaptive ECC in NAND Flash Page Management", 2017, eq. 1, which has `unit_ber`.
    Deviation: the paper's text calls the sum P(i > t), and divides by k only in the formula.

    >>> minimum_correctable(32768, 1e-3)
    BchParity(data_bits=32768, field_bits=16, correctable=78)
    """
    if criterion not in ("unit_ber", "failure"):
        raise CodeError(f"minimum_correctable: found criterion {criterion!r}, expected unit_ber or failure")
    if not 0 < limit < 1:
        raise CodeError(f"minimum_correctable: found limit {limit}, expected one between 0 and 1")
    if not 0 <= raw_bit_error_rate <= 1 or data_bits < 1:
        found = f"{data_bits} data bits at an error rate of {raw_bit_error_rate}"
        raise CodeError(f"minimum_correctable: found {found}, expected at least 1 bit and a rate from 0 to 1")
    least = bch_parity(data_bits, 0)
    correctable = _core.minimum_correctable(data_bits, raw_bit_error_rate, limit, criterion == "unit_ber")
    if correctable is None:
        found = f"{data_bits} data bits at an error rate of {raw_bit_error_rate:g}"
        expected = f"a rate that some BCH code corrects to {limit:g}"
        raise CodeError(f"minimum_correctable: found {found}, expected {expected}")
    return bch_parity(least.data_bits, correctable)
