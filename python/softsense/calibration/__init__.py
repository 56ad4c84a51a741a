"""Calibrate a drive: from its measurements under load to a device config, with intervals and the limits of the model.

    measured = read_measured(["drive.toml"])
    found = calibrate(measured, seed=1)
    print(text(found))
    open("drive.toml", "w").write(config_toml(found))

`softsense.fit` takes reads of a drive that does nothing else; here reads and writes meet. See
docs/calibrating-a-drive.md.
"""

from softsense.calibration.calibrating import QUICK, Calibration, Plan, calibrate
from softsense.calibration.measured import Load, Measured, read_measured
from softsense.calibration.parameters import PARAMETERS, Parameter, Space, greedy_write_amplification
from softsense.calibration.result import (
    config,
    config_toml,
    parameter_rows,
    picture,
    quantity_rows,
    text,
    to_dict,
    write,
)
from softsense.calibration.simulated import Effort, simulate

__all__ = [
    "PARAMETERS",
    "QUICK",
    "Calibration",
    "Effort",
    "Load",
    "Measured",
    "Parameter",
    "Plan",
    "Space",
    "calibrate",
    "config",
    "config_toml",
    "greedy_write_amplification",
    "parameter_rows",
    "picture",
    "quantity_rows",
    "read_measured",
    "simulate",
    "text",
    "to_dict",
    "write",
]
