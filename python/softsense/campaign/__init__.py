"""Frame error rates of a code against raw bit error rate or age, by the cheapest of three methods.

`measure_fer` is `softsense fer`. `softsense.strata` computes rates from counts, `softsense.sampling` decides which
frames are sampled next, and `softsense.runner` hands them to workers.
"""

from softsense.campaign.curves import (
    MOST_CONTINUED,
    THRESHOLD_TARGETS,
    UBER_TARGETS,
    FerResult,
    can_be_continued,
    continued,
    targets,
    threshold,
)
from softsense.campaign.measuring import SHIPPED, measure_fer, opened_traps
from softsense.campaign.options import checked_levels, checked_numbers, numbers, parse_age, parse_levels, parse_list
from softsense.campaign.plans import HOURS_PER_DAY, Campaign, Place, mean_iterations

__all__ = [
    "HOURS_PER_DAY",
    "MOST_CONTINUED",
    "SHIPPED",
    "THRESHOLD_TARGETS",
    "UBER_TARGETS",
    "Campaign",
    "FerResult",
    "Place",
    "can_be_continued",
    "checked_levels",
    "checked_numbers",
    "continued",
    "mean_iterations",
    "measure_fer",
    "numbers",
    "opened_traps",
    "parse_age",
    "parse_levels",
    "parse_list",
    "targets",
    "threshold",
]
