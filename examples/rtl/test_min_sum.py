"""A decoder in Verilog, held by cocotb to the vectors of `softsense code vectors`: bits, iterations, messages.

    pip install cocotb                                        # and a simulator, such as Icarus Verilog
    python examples/rtl/test_min_sum.py
    python examples/rtl/test_min_sum.py --code my.qc --channel bsc:0.01 --frames 5

To test a decoder of your own, put it in place of `min_sum.v`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner

import softsense

HERE = Path(__file__).parent


def _number(text: str, bits: int, width: int = 1) -> int:
    """Bits, or values of some bits each, the first of them lowest, of hexadecimal digits that begin with the first."""
    whole = int(text, 16) >> (4 * len(text) - bits * width)
    digits = [whole >> width * (bits - 1 - index) & (1 << width) - 1 for index in range(bits)]
    return sum(digit << width * index for index, digit in enumerate(digits))


def _low_bytes(posteriors: str) -> str:
    """Of values of sixteen bits, which are exported, the eight that the decoder has."""
    return "".join(posteriors[index + 2 : index + 4] for index in range(0, len(posteriors), 4))


@cocotb.test()
async def decides_as_the_vectors_say(dut: Any) -> None:
    """Does the decoder hold, after every iteration of every frame, what the vectors say, and decide the same?"""
    vectors = json.loads(Path(os.environ["VECTORS"]).read_text(encoding="utf-8"))
    bits = vectors["code"]["codeword_bits"]
    Clock(dut.clock, 10, "ns").start()
    dut.start.value = 0
    await RisingEdge(dut.clock)
    for frame in vectors["frames"]:
        dut.received.value = _number(frame["received"], bits)
        dut.start.value = 1
        await RisingEdge(dut.clock)
        dut.start.value = 0
        for step in frame["steps"]:
            while True:
                await RisingEdge(dut.clock)
                if dut.stepped.value == 1:
                    break
            where = f"frame {frame['frame']}, iteration {step['iteration']}"
            messages = len(step["messages"]) // 2
            assert int(dut.iterations.value) == step["iteration"], where
            assert int(dut.violated.value) == step["syndrome_weight"], where
            assert int(dut.posteriors.value) == _number(_low_bytes(step["posteriors"]), bits, 8), where
            assert int(dut.messages.value) == _number(step["messages"], messages, 8), where
        assert dut.done.value == 1
        assert int(dut.decided.value) == _number(frame["decided"], bits)
        assert bool(dut.converged.value) == frame["converged"]
        assert int(dut.iterations.value) == frame["iterations"]
    dut._log.info("%d frames are the same", len(vectors["frames"]))


def main() -> int:
    """Make vectors, build the decoder for them, and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--code", default="teaching-1/2")
    parser.add_argument("--channel", default="bsc:0.06")
    parser.add_argument("--frames", type=int, default=20)
    parser.add_argument("--out", type=Path, default=Path("out/rtl"))
    asked = parser.parse_args()
    vectors = softsense.decoder_vectors(asked.code, asked.channel, frames=asked.frames, iterations=10, steps=True)
    if vectors.is_soft:
        parser.error(f"found --channel {asked.channel}, expected bsc:P or errors:W: min_sum.v takes hard decisions")
    vectors.write(asked.out, force=True)
    base, hard = vectors.to_dict()["code"]["base_matrix"], vectors.arithmetic[0]
    assert hard["offset"] == 0
    parameters = {
        "ROWS": len(base),
        "COLUMNS": len(base[0]),
        "Z": vectors.code.circulant_size,
        "CIRCULANTS": sum(shift >= 0 for row in base for shift in row),
        "ITERATIONS": vectors.iterations,
        "CHANNEL": hard["channel_limit"],
        "LIMIT": hard["message_limit"],
        "FACTORS": sum(factor << 8 * index for index, factor in enumerate(hard["factors_16ths"])),
        "FACTOR_COUNT": len(hard["factors_16ths"]),
        "BASE": f'"{(asked.out / "base.hex").resolve()}"',
    }
    runner = get_runner(os.environ.get("SIM", "icarus"))
    runner.build(
        sources=[HERE / "min_sum.v"],
        hdl_toplevel="min_sum",
        parameters=parameters,
        timescale=("1ns", "1ps"),
        build_dir=asked.out / "build",
        always=True,
    )
    results = runner.test(
        hdl_toplevel="min_sum",
        test_module=Path(__file__).stem,
        extra_env={"VECTORS": str((asked.out / "vectors.json").resolve())},
        build_dir=asked.out / "build",
    )
    tests, failed = get_results(results)
    return 0 if tests and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
