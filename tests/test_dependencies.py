"""Is what softsense is built of, tested with and published by pinned, and under licences that go with its own?"""

from __future__ import annotations

import itertools
import json
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.version import Version

from conftest import ROOT

LOCKS = {
    name: (ROOT / f"requirements{name}.lock").read_text().replace("\\\n", "").splitlines()
    for name in ("", "-run", "-docs")
}
ALLOWED = set(tomllib.loads((ROOT / "deny.toml").read_text())["licenses"]["allow"])
OF_PACKAGES = ALLOWED | {"0BSD", "CC0-1.0", "MIT-CMU", "PSF-2.0"}
OF_TOOLS = OF_PACKAGES | {"GPL-2.0-only", "MPL-2.0"}
"""Also of what tests and documentation are made with, and nobody gets with softsense: bchlib is under the GPL."""
OF_FITS = {"cmaes", "emcee", "scipy"}
CLASSIFIERS = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "GNU General Public License v2 (GPLv2)": "GPL-2.0-only",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}


def pinned(lock: str) -> dict[str, Requirement]:
    """The packages of a lock file."""
    lines = (line.partition(" --hash")[0].strip() for line in LOCKS[lock] if re.match(r"[a-z0-9]", line))
    return {(found := Requirement(line)).name: found for line in lines}


def canonical(name: str) -> str:
    """A name of a package as lock files have it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def goes_with(expression: str, allowed: set[str]) -> bool:
    """Whether a licence expression is met by licences that are allowed."""
    words = re.split(r"(\(|\)|\bOR\b|\bAND\b|/)", expression)
    operators = {"OR": " or ", "/": " or ", "AND": " and ", "(": "(", ")": ")", "": ""}
    return bool(eval("".join(operators.get(word.strip(), str(word.strip() in allowed)) for word in words)))


def licence(package: Distribution) -> str:
    """The licence expression of an installed package."""
    told = package.metadata
    if "License-Expression" in told:
        return told["License-Expression"]
    classified = [each.rpartition(" :: ")[2] for each in told.get_all("Classifier") or () if each.startswith("License")]
    named = [CLASSIFIERS.get(each, each) for each in classified]
    return " AND ".join(named) or {"BSD": "BSD-3-Clause"}.get(told["License"], told["License"] or "unknown")


@pytest.mark.parametrize("lock", LOCKS)
def test_every_package_has_a_version_and_hashes(lock: str) -> None:
    for line in LOCKS[lock]:
        if line.strip() and not line.lstrip().startswith("#"):
            assert re.fullmatch(r"[a-z0-9-]+==[\w.]+( ; [^-]*)?( +--hash=sha256:[0-9a-f]{64})+", line.rstrip()), line[
                :80
            ]
    assert "://" not in "\n".join(LOCKS[lock]), "where packages come from is not part of it"


def test_locks_agree() -> None:
    # Tests and documentation run with what is installed.
    for lock in ("-run", "-docs"):
        for name, requirement in pinned(lock).items():
            assert pinned("").get(name, requirement).specifier == requirement.specifier
    assert set(pinned("-run")) <= set(pinned("")) & set(pinned("-docs"))


@pytest.mark.parametrize("lock", ["", "-run"])
def test_locks_are_whole_for_each_python_and_system(lock: str) -> None:
    """With hashes pip takes nothing that is not in them."""
    known = pinned(lock)
    systems = [("linux", "Linux", "x86_64"), ("linux", "Linux", "aarch64"), ("darwin", "Darwin", "arm64")]
    needs = {name: distribution(name).requires or [] for name in known if installed(name)}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needs["softsense"] = project["dependencies"] + ([] if lock else project["optional-dependencies"]["dev"])
    for version, (system, platform, machine) in itertools.product(("3.11", "3.12", "3.13", "3.14"), systems):
        here: dict[str, str] = {
            **default_environment(),
            "python_version": version,
            "python_full_version": f"{version}.0",
        }
        here |= {"sys_platform": system, "platform_system": platform, "platform_machine": machine, "extra": ""}
        for name, requirement in ((name, Requirement(each)) for name, every in needs.items() for each in every):
            if requirement.marker is None or requirement.marker.evaluate(here):
                assert canonical(requirement.name) in known, f"{name} needs {requirement} with {version} on {system}"


def installed(name: str) -> bool:
    """Whether a package is there."""
    try:
        return bool(distribution(name))
    except PackageNotFoundError:
        return False


def test_dask_is_one_whose_dashboard_is_mended() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for extra in ("dask", "dev"):
        (least,) = (Requirement(each).specifier for each in extras[extra] if each.startswith("distributed"))
        assert Version("2026.1.0") not in least, "CVE-2026-23528"
        assert Version("2026.1.1") in least


WITHOUT_EXTRAS = (
    "import sys; sys.modules.update(dict.fromkeys(['cmaes', 'distributed', 'emcee', 'numba', 'optuna', 'scipy']));"
)


def without_extras(*words: str) -> subprocess.CompletedProcess[str]:
    """A command of softsense where no extra is installed."""
    code = f"{WITHOUT_EXTRAS} from softsense.cli import main; sys.exit(main(sys.argv[1:]))"
    return subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)


def test_all_modules_can_be_imported_without_extras() -> None:
    names = "[each.name for each in pkgutil.walk_packages(softsense.__path__, 'softsense.') if 'main' not in each.name]"
    code = f"import importlib, pkgutil, softsense; found = [importlib.import_module(name) for name in {names}]"
    told = f"{WITHOUT_EXTRAS} {code}; print(len(found))"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 100


@pytest.mark.parametrize(
    "command",
    [
        "run mlc-25nm --set workload.requests=2000",
        "compare mlc-25nm --set workload.requests=2000 --policies two_step,progressive --seeds 2",
        "code bench teaching-1/2 --errors 2 --frames 100",
        "fer bch:m=10,t=5,k=512 --rber 0.001,0.002",
    ],
)
def test_a_small_install_does_what_it_says(command: str) -> None:
    done = without_extras(*command.split(), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        ("fit nowhere.log", "fit"),
        ("calibrate nowhere.toml", "fit"),
        (f"sweep {ROOT / 'examples' / 'search-design.toml'}", "search"),
        ("fer teaching-1/2 --dask nowhere:1", "dask"),
    ],
)
def test_what_needs_an_extra_says_which_before_all_else(command: str, extra: str) -> None:
    done = without_extras(*command.split())
    assert (done.returncode, done.stdout) == (2, "")
    [line] = done.stderr.splitlines()
    assert line.endswith(f"expected an installation with it: pip install 'softsense[{extra}]'")


def test_licences_of_packages() -> None:
    found = {name: licence(distribution(name)) for name in pinned("") if installed(name)}
    assert len(found) > 50
    for name, expression in found.items():
        allowed = OF_PACKAGES if name in pinned("-run") or name in OF_FITS else OF_TOOLS
        assert goes_with(expression, allowed), f"{name}: {expression}"


@pytest.mark.skipif(not shutil.which("cargo"), reason="needs Cargo")
def test_licences_of_crates() -> None:
    command = ["cargo", "metadata", "--locked", "--offline", "--format-version", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("crates are not here: cargo fetch")
    crates = json.loads(done.stdout)["packages"]
    assert len(crates) > 50
    for crate in crates:
        assert goes_with(crate["license"] or "unknown", ALLOWED), f"{crate['name']}: {crate['license']}"
        assert not (crate["source"] or "").startswith("git"), crate["name"]


def test_licences_are_read() -> None:
    for expression in (
        "MIT",
        "MIT OR GPL-3.0",
        "(MIT OR GPL-3.0) AND Zlib",
        "MIT/GPL-3.0",
        "Apache-2.0 WITH LLVM-exception",
    ):
        assert goes_with(expression, ALLOWED), expression
    for expression in ("GPL-3.0", "MIT AND GPL-3.0", "(MIT OR Zlib) AND GPL-3.0", "unknown", "MIT WITH strings"):
        assert not goes_with(expression, ALLOWED), expression


def test_actions_are_pinned_by_commit() -> None:
    used = [
        (file.name, line)
        for file in sorted((ROOT / ".github/workflows").glob("*.yml"))
        for line in file.read_text().splitlines()
        if re.match(r"\s*(- )?uses:", line)
    ]
    assert len(used) > 20
    for name, line in used:
        assert re.fullmatch(r"\s*(- )?uses: [\w-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), f"{name}: {line}"
    assert len({re.sub(".*uses: ", "", line) for _, line in used}) == len({re.sub("@.*", "", line) for _, line in used})


def test_what_cannot_be_audited_is_said(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / ".ci/audit"), str(tmp_path / "nowhere")]
    for more, code in (([], 0), (["--strict"], 1)):
        done = subprocess.run(
            [*command, *more], cwd=ROOT, capture_output=True, text=True, env={"PATH": str(tmp_path)}, check=False
        )
        assert done.returncode == code, done.stderr
        assert done.stderr.count("advisories not checked: ") == 2


@pytest.mark.parametrize(
    ("answer", "code", "says"),
    [
        ({"name": "a", "version": "1", "vulns": [{"id": "CVE-1"}]}, 1, "a 1: CVE-1"),
        ({"name": "a", "version": "1", "vulns": []}, 0, "no advisories against 1 Python packages"),
        ({"name": "a", "skip_reason": "not found"}, 0, "advisories not checked: 1 Python packages"),
    ],
)
def test_what_is_audited_is_told(answer: dict[str, object], code: int, says: str, tmp_path: Path) -> None:
    auditor = tmp_path / "pip-audit"
    auditor.write_text(f"#!/bin/sh\necho '{json.dumps({'dependencies': [answer]})}'\n")
    auditor.chmod(0o755)
    command = [sys.executable, str(ROOT / ".ci/audit"), str(auditor)]
    path = {"PATH": f"{tmp_path}:/bin:/usr/bin"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=path, check=False)
    assert done.returncode == code, done
    assert says in done.stdout + done.stderr
