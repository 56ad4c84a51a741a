"""Are test vectors of decoders what the decoders do, and does a decoder in another language that follows them pass?"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softsense.vectors as vectors_module
from conftest import ROOT, Softsense
from softsense import Code, CodeError, DecoderVectors, FileError, decoder_vectors
from softsense.conformance import suite_codes

RTL = ROOT / "examples/rtl"
SUITE = {code.name: code for code in suite_codes()}


@pytest.mark.parametrize("decoder", ["min-sum", "min-sum-8bit", "min-sum-16bit", "rcq:4"])
@pytest.mark.parametrize(
    ("name", "channel"),
    [
        ("teaching-1/2", "bsc:0.09"),
        ("teaching-1/2", "awgn:1.5"),
        ("weight 4, size 27", "bsc:0.06"),
        ("weight 4, size 64", "bsc:0.05"),
        ("rate 3/4, size 81", "gaussian:0.04:3"),
    ],
)
def test_steps_are_those_of_the_decoder(name: str, channel: str, decoder: str) -> None:
    """Does a step decide as the decoder that ends there, and are values the sum of the channel and the messages?"""
    code = SUITE.get(name) or Code.open(name)
    vectors = decoder_vectors(code, channel, decoder=decoder, iterations=6, frames=12, steps=True)
    base, size = np.asarray(code.base_matrix()), code.circulant_size or 0
    rows, columns = np.nonzero(base >= 0)
    bits = columns[:, None] * size + (np.arange(size) + base[rows, columns][:, None]) % size
    kind = "soft" if vectors.is_soft else "hard"
    facts = {each["pass"]: each for each in vectors.arithmetic if each["decides"] == kind}
    outcomes = set()
    for frame, steps in enumerate(vectors.steps):
        outcomes.add(bool(vectors.decoded.converged[frame]))
        last = steps[-1]
        assert np.array_equal(np.packbits(last["posteriors"] < 0), vectors.decoded.word[frame])
        assert last["syndrome_weight"] == vectors.decoded.syndrome_weight[frame]
        if vectors.is_soft:
            llrs = vectors.received[frame].astype(int)
        else:
            llrs = 1 - 2 * np.unpackbits(vectors.received[frame], count=code.codeword_bits).astype(int)
            llrs *= 127
        for step in steps:
            of = facts[step["pass"]]
            if step["pass"] == 2 and of["begins_with"] == "decided":
                first = [each for each in steps if each["pass"] == 1][-1]
                started = np.where(first["posteriors"] < 0, -1, 1) * 127
            else:
                started = llrs
            sums = np.clip(started, -of["channel_limit"], of["channel_limit"])
            np.add.at(sums, bits, step["messages"].astype(int))
            # Where eight bits saturate sums lose some.
            bounded = of["posterior_bits"] == 16 or (not vectors.is_soft and np.abs(sums).max() < 127)
            if bounded:
                assert np.array_equal(sums, step["posteriors"])
            if step["pass"] == 1 and step["iteration"] and len(facts) == 1:
                stopped = code.decoder(decoder, step["iteration"]).decode(vectors.received[frame])
                assert np.array_equal(np.packbits(step["posteriors"] < 0), stopped.word)
                assert int(stopped.iterations) == step["iteration"]
    assert outcomes == {False, True}, "words that converge, and words that do not"


def _memory(path: Path) -> list[int]:
    return [int(line, 16) for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("//")]


def _fields(word: int, count: int, width: int) -> list[int]:
    values = [word >> width * index & (1 << width) - 1 for index in range(count)]
    return [value - (1 << width) * (value >> width - 1) if width > 1 else value for value in values]


def test_files_hold_what_was_decoded(softsense_command: Softsense, tmp_path: Path) -> None:
    """Do both kinds of files say the same as the arrays, of hard decisions and LLRs, of words of no whole bytes?"""
    code = SUITE["weight 4, size 27"]
    (tmp_path / "mine.qc").write_text(code.to_qc())
    for channel, decoder in (("bsc:0.04", "min-sum-8bit"), ("gaussian:0.04:3", "rcq:3")):
        asked = ["--channel", channel, "--decoder", decoder, "--frames", "3", "--iterations", "4", "--steps"]
        done = softsense_command("code", "vectors", "mine.qc", *asked, "--out", f"out-{decoder}")
        assert done.returncode == 0, done.stderr
        folder = tmp_path / f"out-{decoder}"
        assert sorted(path.name for path in folder.iterdir()) == sorted(
            line.rsplit("/", 1)[1] for line in done.stdout.split() if "/" in line
        )
        read = json.loads((folder / "vectors.json").read_text(encoding="utf-8"))
        expected = decoder_vectors(
            Code.open(tmp_path / "mine.qc"), channel, decoder=decoder, frames=3, iterations=4, steps=True
        )
        again = expected.to_dict()
        again["code"]["name"] = read["code"]["name"]
        assert read == again
        count, width = code.codeword_bits, 8 if expected.is_soft else 1
        steps = [step for steps in expected.steps for step in steps]
        for frame, word in enumerate(_memory(folder / "received.hex")):
            received = expected.received[frame]
            values = received if width == 8 else np.unpackbits(received, count=count)
            assert _fields(word, count, width) == values.tolist()
            assert bytes.fromhex(read["frames"][frame]["received"]) == received.tobytes()
        decided = [np.unpackbits(word, count=count).tolist() for word in expected.decoded.word]
        assert [_fields(word, count, 1) for word in _memory(folder / "decided.hex")] == decided
        verdicts = [int(value) for each in zip(*expected.decoded[1:], strict=True) for value in each]
        assert _memory(folder / "verdicts.hex") == verdicts
        shifts = [shift if shift < 1 << 15 else -1 for shift in _memory(folder / "base.hex")]
        assert shifts == np.asarray(code.base_matrix()).ravel().tolist()
        posteriors = [_fields(word, count, 16) for word in _memory(folder / "posteriors.hex")]
        assert posteriors == [step["posteriors"].tolist() for step in steps]
        messages = [
            _fields(word, step["messages"].size, 8)
            for word, step in zip(_memory(folder / "messages.hex"), steps, strict=True)
        ]
        assert messages == [step["messages"].ravel().tolist() for step in steps]
        numbers = np.array(_memory(folder / "steps.hex")).reshape(-1, 4).tolist()
        assert [row[1:] for row in numbers] == [
            [step[name] for name in ("pass", "iteration", "syndrome_weight")] for step in steps
        ]
    refused = softsense_command("code", "vectors", "mine.qc", *asked, "--out", "out-rcq:3")
    assert refused.returncode == 2
    assert "vectors.json: found a file, expected none (--force replaces it)" in refused.stderr
    assert softsense_command("code", "vectors", "mine.qc", *asked, "--out", "out-rcq:3", "--force").returncode == 0


@pytest.mark.parametrize(
    ("code", "asked", "says"),
    [
        ("bch-512B-t15", {}, "a BCH code"),
        ("literature:margulis-2640", {}, "no base matrix"),
        ("teaching-1/2", {"decoder": "sum-product"}, "found sum-product for a backend, expected min-sum"),
        ("teaching-1/2", {"decoder": "min-sum-8bit:200"}, "12 to 126"),
        ("teaching-1/2", {"channel": "bsc:7"}, "bsc:7"),
        ("teaching-1/2", {"frames": 0}, "frames: found 0"),
        ("flash-8/9", {"frames": 1000, "steps": True}, "GiB, expected at most 1 GiB"),
    ],
)
def test_what_has_no_vectors_is_refused(code: str, asked: dict[str, Any], says: str) -> None:
    with pytest.raises(CodeError, match=says):
        decoder_vectors(code, **({"channel": "errors:1"} | asked))


def test_nothing_is_replaced_unasked(tmp_path: Path) -> None:
    vectors: DecoderVectors = decoder_vectors("teaching-1/2", "errors:1", frames=1)
    assert len(vectors.write(tmp_path)) == 5
    with pytest.raises(FileError, match=r"vectors\.json: found a file, expected none"):
        vectors.write(tmp_path)


def test_no_steps_of_other_frames_stay_beside_vectors(tmp_path: Path) -> None:
    """Steps of an earlier export were left, and a test bench compared frames with them."""
    with_steps = decoder_vectors("teaching-1/2", "errors:4", frames=2, steps=True)
    without = decoder_vectors("teaching-1/2", "errors:1", frames=1)
    with_steps.write(tmp_path)
    mine = tmp_path / "mine.hex"
    mine.touch()
    written = without.write(tmp_path, force=True)
    assert sorted(tmp_path.iterdir()) == sorted([*written, mine])
    (tmp_path / "vectors.json").unlink()
    (tmp_path / "steps.hex").touch()
    for file in written:
        file.unlink(missing_ok=True)
    with pytest.raises(FileError, match=r"steps\.hex: found a file, expected none"):
        without.write(tmp_path)


def test_shifts_that_have_no_word_are_refused(tmp_path: Path) -> None:
    """Shifts of 16 bits wrapped around in `base.hex`, and 65,535 was no circulant."""
    for size, shift in ((65_535, 65_534), (65_536, 65_535)):
        (tmp_path / f"{size}.qc").write_text(f"3 2 {size}\n{shift} 0 -1\n1 0 0\n")
    vectors = decoder_vectors(tmp_path / "65535.qc", "errors:1", frames=1)
    vectors.write(tmp_path)
    assert _memory(tmp_path / "base.hex") == [65_534, 0, 65_535, 1, 0, 0]
    with pytest.raises(CodeError, match=r"found circulants of 65536 bits .*, expected at most 65535"):
        decoder_vectors(tmp_path / "65536.qc", "errors:1", frames=1)


@pytest.mark.parametrize("channel", ["bsc:0.3", "awgn:-5"])
@pytest.mark.parametrize(("decoder", "steps"), [("min-sum-8bit", True), ("min-sum-8bit", False), ("rcq:4", True)])
def test_no_more_is_written_than_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, channel: str, decoder: str, steps: bool
) -> None:
    """Of words that all passes give up with: the second one was not counted."""
    asked: dict[str, Any] = {"decoder": decoder, "frames": 50, "iterations": 4, "steps": steps}
    written = decoder_vectors("teaching-1/2", channel, **asked).write(tmp_path)
    # The base matrix and the heads of files are not counted.
    of_frames = sum(file.stat().st_size for file in written) - 4000
    monkeypatch.setattr(vectors_module, "MOST_BYTES", of_frames)
    with pytest.raises(CodeError, match="expected at most"):
        decoder_vectors("teaching-1/2", channel, **asked)


HAS_SIMULATOR = shutil.which("iverilog") is not None and importlib.util.find_spec("cocotb") is not None


@pytest.mark.skipif(not HAS_SIMULATOR, reason="needs Icarus Verilog and cocotb")
def test_a_decoder_in_verilog_is_held_to_them(tmp_path: Path) -> None:
    """Does the example pass, for circulants of 8 and of 27 bits, and is a decoder told that rounds otherwise?"""
    for file in RTL.glob("*"):
        if file.is_file():
            shutil.copy(file, tmp_path / file.name)
    (tmp_path / "mine.qc").write_text(SUITE["weight 4, size 27"].to_qc())

    def ran(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "test_min_sum.py", *arguments]
        return subprocess.run(command, cwd=tmp_path, env=os.environ, capture_output=True, text=True, check=False)

    for arguments in ([], ["--code", "mine.qc", "--channel", "bsc:0.05", "--frames", "6"]):
        done = ran(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "frames are the same" in done.stdout
    done = ran("--channel", "awgn:2")
    assert (done.returncode, "min_sum.v takes hard decisions" in done.stderr) == (2, True)
    decoder = (tmp_path / "min_sum.v").read_text(encoding="utf-8")
    (tmp_path / "min_sum.v").write_text(decoder.replace("* magnitude + 8)", "* magnitude + 7)"), encoding="utf-8")
    done = ran("--frames", "3")
    assert done.returncode == 1
    assert "frame 0, iteration 1" in done.stdout
