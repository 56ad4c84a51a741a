"""Read policies by their names."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from softsense import _core
from softsense._core import Config, ConfigError

_RETRIES = ("restart", "incremental", "restart_on_jumps")


def policy_names(policies: Sequence[str] | str) -> list[str]:
    """Resolve `all`, a comma-separated list or a sequence to policy names without repeats, each with any retry given.

    A policy of your own is named by its file or module and its class; it is looked up when a configuration uses it.

    Raises:
        ConfigError: a policy is not known, or none is named.

    >>> policy_names("two_step:restart, two_step:incremental, ideal")
    ['two_step:restart', 'two_step:incremental', 'ideal']
    >>> policy_names("Look-Ahead-Progressive")
    ['look_ahead_progressive']
    """
    known = _known()
    items = policies.split(",") if isinstance(policies, str) else list(policies)
    names: list[str] = []
    faults: list[str] = []
    for item in (item.strip() for item in items):
        if item == "all":
            names += known
        elif split_policy(item)[0] in known or ":" in split_policy(item)[0]:
            names.append(":".join(filter(None, split_policy(item))))
        else:
            near = _core.nearest(item, known)
            hint = f"; did you mean `{near}`?" if near else ""
            faults.append(
                f"policies: unknown policy '{item}', expected all or some of {', '.join(known)}, or one of your own, "
                f"such as my_policies.py:Ladder{hint}"
            )
    if faults:
        raise _core.config_error(faults)
    if not names:
        raise ConfigError(f"policies: none named, expected all or some of {', '.join(known)}")
    return list(dict.fromkeys(names))


def _known() -> list[str]:
    return [policy["name"] for policy in _core.policies()]


def split_policy(policy: str) -> tuple[str, str]:
    """The name and the retry of a policy; the retry is "" if it is the configuration's.

    Shipped ones may be spelled in other ways, such as `two-step:Restart`.

    >>> split_policy("two_step:restart"), split_policy("ideal")
    (('two_step', 'restart'), ('ideal', ''))
    >>> split_policy("two-step:Restart")
    ('two_step', 'restart')
    >>> split_policy("my_policies.py:Ladder"), split_policy("my_policies.py:Ladder:incremental")
    (('my_policies.py:Ladder', ''), ('my_policies.py:Ladder', 'incremental'))
    """
    name, _, retry = policy.rpartition(":")
    known = _known()
    # A policy of your own has a colon in its name.
    if ":" in name or retry in _RETRIES or _core.spelled_like(name, known):
        return _core.spelled_like(name, known) or name, _core.spelled_like(retry, list(_RETRIES)) or retry
    return _core.spelled_like(policy, known) or policy, ""


def knows_level(policy: str) -> bool:
    """Whether a policy, with or without its retry, knows the lowest level that decodes, as no controller does.

    >>> knows_level("ideal:restart"), knows_level("progressive")
    (True, False)
    """
    return split_policy(policy)[0] in {known["name"] for known in _core.policies() if known["knows_level"]}


def follows_age(summary: Mapping[str, Any]) -> bool:
    """Whether a policy of one's own asked for references that follow the true age of the data, unlike the config.

    Like a policy that knows the level, it is then a bound for what a controller can do.
    """
    references = summary.get("references") or {}
    return bool(references.get("own_cells") and references["follow_age"] and references["hard"] != "cells")


def is_bound(summary: Mapping[str, Any]) -> bool:
    """Whether the policy of a run knows facts that no controller does: the level that will decode, or the age."""
    return knows_level(summary["policy"]) or follows_age(summary)


@dataclass(frozen=True)
class Technique:
    """A way of reading that is compared with others: a read policy, and fields of the config that belong to it.

    Attributes:
        name: name in tables and pictures.
        policy: read policy, optionally with its retry, such as `progressive:restart`.
        overrides: config fields to replace, each written as `read.references="sentinels"`.
    """

    name: str
    policy: str
    overrides: tuple[str, ...] = ()

    def of(self, config: Config) -> Config:
        """A copy of the configuration that is read by the technique; raises `ConfigError` if it cannot be."""
        return with_policy(config.with_overrides(list(self.overrides)) if self.overrides else config, self.policy)


Policies = Sequence[str | Technique] | str
"""Read policies by their names, as for `policy_names`, and techniques."""


def techniques_of(policies: Policies) -> list[Technique]:
    """The techniques that are named or given, without repeats; a policy's name is that of a technique of it alone.

    Raises:
        ConfigError: a policy is not known, none is named, or two techniques have the same name.

    >>> [each.name for each in techniques_of(["two_step:restart", Technique("mine", "progressive")])]
    ['two_step:restart', 'mine']
    """
    if isinstance(policies, str):
        return [Technique(name, name) for name in policy_names(policies)]
    given = [each for each in policies if isinstance(each, Technique)]
    if not given:
        return techniques_of(",".join(policy_names([each for each in policies if isinstance(each, str)])))
    named = ([each] if isinstance(each, Technique) else techniques_of(each) for each in policies)
    found = list(dict.fromkeys(technique for some in named for technique in some))
    for at, each in enumerate(found):
        if any(each.name == other.name for other in found[:at]):
            raise ConfigError(f"policies: found two techniques named `{each.name}`, expected each name once")
    return found


def with_policy(config: Config, policy: str) -> Config:
    """A copy of the configuration with another read policy, such as `two_step`, or `two_step:restart` with its retry.

    Raises:
        ConfigError: the policy or its retry is not known.
    """
    return config.with_overrides(as_overrides((), None, policy))


def as_overrides(overrides: Iterable[str], seed: int | None, policy: str | None) -> list[str]:
    """The overrides, with those for seed and policy added."""
    result = _core.overrides(overrides)
    if seed is not None:
        result.append(f"seed={seed}")
    if policy is not None:
        name, retry = split_policy(policy_names([policy])[0])
        result.append(f"read.policy={json.dumps(name)}")
        if retry:
            result.append(f"read.retry={json.dumps(retry)}")
    return result
