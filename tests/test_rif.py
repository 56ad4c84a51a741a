"""Is RiF's reproduction fed with what was published, and does every figure come out, with all claims judged?"""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from conftest import Folder, judged
from softsense import papers
from softsense.papers import Plan, rif
from softsense.papers.rif import prediction
from softsense.papers.rif.published import PUBLISHED


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> Plan:
    """Few requests on a small device, and few raw bit error rates."""
    monkeypatch.setattr(prediction, "_TARGETS", (0.005, 0.009, 0.013))
    small = ("geometry.blocks_per_plane=128", "geometry.channels=2")
    fields = {**papers.configured("tlc-rif", small).fields.workload, "requests": 300}
    workload = papers.Workload(
        "96 % reads", "a stand-in", overrides=papers.synthetic(**fields | {"footprint_bytes": 1 << 30})
    )
    return Plan(False, (1, 2), (replace(workload, name="few"), workload), 40, overrides=small)


def test_published_numbers_are_those_of_the_paper(shared: Path) -> None:
    """What the module has is what is published; methods are told in words."""
    published = tomllib.loads((shared / "published" / "rif.toml").read_text())
    for section, fields in PUBLISHED.items():
        for name, value in fields.items():
            assert published[section][name] == value, (section, name)
    missing = {
        (section, name)
        for section, fields in published.items()
        for name in fields
        if name not in PUBLISHED.get(section, {})
    }
    assert missing == {("claims", "workloads"), *(("methods", name) for name in published["methods"])}


def test_the_config_is_the_paper_s_device() -> None:
    config, device = papers.configured("tlc-rif", []).fields, PUBLISHED["device"]
    geometry, (page,) = config["geometry"], config["flash"]["page_types"]
    found = [
        geometry["channels"],
        geometry["chips_per_channel"] * geometry["dies_per_chip"],
        geometry["planes_per_die"],
    ]
    assert found == [device[name] for name in ("channels", "dies_per_channel", "planes_per_die")]
    assert [geometry["blocks_per_plane"], geometry["pages_per_block"]] == [
        device["blocks_per_plane"],
        device["pages_per_block"],
    ]
    assert geometry["codewords_per_page"] * geometry["codeword_bytes"] == device["page_kib"] * 1024
    assert [page["sense_us"], page["program_us"], config["flash"]["erase_us"]] == [40.0, 400.0, 3500.0]
    assert config["bus"]["transfer_us"] * geometry["codewords_per_page"] == device["transfer_page_us"]
    assert config["decoder"]["time"] == {"per_iteration_us": device["decode_us"][0]}
    assert config["read"]["predictor"] == {"place": "die", "predict_us": 2.5, "threshold_rber": 0.0085, "checks": 1024}


@pytest.mark.usefixtures("few_elsewhere")
def test_every_figure_of_rif_comes_out(tmp_path: Path, tiny: Plan) -> None:
    """Only what cannot be wrong on a small device is asserted."""
    paper = rif.PAPER
    result = papers.reproduce(paper, paper.figures, tiny, Folder(tmp_path))
    claims = judged(tmp_path)
    assert list(claims) == [claim.id for claim in paper.claims]
    assert {id_ for _, measured in result.figures for id_ in measured.evidence} == set(claims)
    # 40 + 16 x 13 us and a decode; a further sensing, with its prediction.
    assert claims["read_no_retry"]["measured"] == pytest.approx(251, abs=4)
    assert claims["read_rif"]["measured"] - claims["read_no_retry"]["measured"] == pytest.approx(42.5, abs=6)
    assert claims["capability"]["measured"] == pytest.approx(0.00936, abs=5e-5)
    assert claims["threshold"]["measured"] == pytest.approx(3764, abs=1)
    accuracy = pl.read_csv(tmp_path / "prediction.csv").filter(pl.col("line") != "published")
    far = accuracy.filter((pl.col("x") < 0.006) | (pl.col("x") > 0.012))["value"]
    assert far.min() == 1.0
    assert accuracy["value"].min() < 0.9
    assert "at second hand" in (tmp_path / "report.md").read_text()


def test_cells_have_the_raw_bit_error_rate_that_is_asked_for() -> None:
    for rber in (0.004, 0.0085, 0.013):
        spec, found = prediction._cells_at(rber)
        assert found == pytest.approx(rber, rel=1e-3)
        assert spec["references"]["offset_v"] > 0
