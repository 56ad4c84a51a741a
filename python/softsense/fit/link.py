"""The link between host and drive: a log of one read at a time has it in its overhead, and reads at once share it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from softsense._core import ConfigError

# Eight of ten bits on a SATA link are data.
_SATA_GB_PER_S = {"sata-1.5": 0.15, "sata-3": 0.3, "sata-6": 0.6}
_UNITS = {"MB/s": 1e-3, "GB/s": 1.0}


@dataclass(frozen=True)
class Link:
    """A link between host and drive.

    Attributes:
        name: the name or bandwidth that the user gave.
        gb_per_s: bandwidth in each direction, 10^9 bytes a second.
    """

    name: str
    gb_per_s: float

    @staticmethod
    def parse(text: str) -> Link:
        """The link of a name, `sata-1.5`, `sata-3` or `sata-6`, or of a bandwidth such as `540MB/s`.

        Raises `ConfigError` for any other text.
        """
        known = _SATA_GB_PER_S.get(text)
        found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([MG]B/s)", text)
        speed = known if known else float(found[1]) * _UNITS[found[2]] if found else 0.0
        if not 0 < speed < 1e3:
            raise ConfigError(
                f"--link: found {text}, expected {', '.join(_SATA_GB_PER_S)}, or such as 540MB/s or 3.5GB/s"
            )
        return Link(text, speed)

    def crossing_us(self, read_bytes: int) -> float:
        """Time that the data of a read takes on the link, us."""
        return read_bytes / (1e3 * self.gb_per_s)

    def to_dict(self) -> dict[str, Any]:
        """The link as a dict for JSON."""
        return {"name": self.name, "gb_per_s": self.gb_per_s}
