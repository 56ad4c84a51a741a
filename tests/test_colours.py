"""Do readers without one kind of cone tell the colours of charts apart?"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from softsense import colours

# Source: G. M. Machado, M. M. Oliveira, L. A. F. Fernandes, "A physiologically-based model for simulation of color
# vision deficiency", IEEE TVCG 15 (2009), severity 1: what is seen of linear red, green and blue.
EYES = {
    "all cones": np.eye(3),
    "no L cones": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no M cones": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "no S cones": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
PALETTES = {
    "policies": [*colours.POLICIES.values(), colours.BASELINE],
    "series": colours.SERIES,
    "parts of a read": list(colours.PARTS.values()),
    "energies": [colour for _, colour in colours.ENERGIES.values()],
}
JUST_TOLD_APART = 2.3
"""The difference in CIELAB that is just noticed. Source: M. Mahy et al., Color Res. Appl. 19 (1994)."""


def lab(colour: str, eye: str) -> np.ndarray:
    """CIELAB of a colour as an eye sees it, with daylight as white."""
    shown = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    light = np.where(shown <= 0.04045, shown / 12.92, ((shown + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(EYES[eye]) @ light, 0, 1)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ seen / np.array([0.9505, 1.0, 1.089])
    root = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])])


@pytest.mark.parametrize("eye", EYES)
@pytest.mark.parametrize("palette", PALETTES)
def test_colours_are_told_apart(palette: str, eye: str) -> None:
    for one, other in itertools.combinations(PALETTES[palette], 2):
        difference = float(np.linalg.norm(lab(one, eye) - lab(other, eye)))
        assert difference > 4 * JUST_TOLD_APART, f"{one} and {other} look alike: {difference:.1f}"


def test_alike_colours_are_noticed() -> None:
    # The green and the red of traffic lights, to those who have no M cones.
    assert np.linalg.norm(lab("#a03c20", "no M cones") - lab("#5d6620", "no M cones")) < 4 * JUST_TOLD_APART
