"""The section [policy] of a scenario file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crawltwin.model.errors import Faults
from crawltwin.model.policies.levels import LevelPolicy
from crawltwin.model.policies.policy import Policy
from crawltwin.model.policies.thresholds import ThresholdPolicy
from crawltwin.model.sections.keys import check_keys, needed


def read_policy(data: Mapping[str, Any]) -> Policy:
    """Read what a policy's `to_mapping` writes, with all faults at once."""
    faults = Faults()
    if "table" in data:
        check_keys(data, ("table", "check_every"), "", faults)
        faults.raise_if_any()
        return LevelPolicy(data["table"], data.get("check_every", 0.0))
    check_keys(data, ("robots", "thresholds", "resume", "check_every", "table"), "", faults)
    hint = "robots = [3, 1] with thresholds = [2], or a table of robots by level."
    robots = needed(data, "robots", faults, hint)
    faults.raise_if_any()
    return ThresholdPolicy(
        robots, data.get("thresholds", []), data.get("resume"), check_every=data.get("check_every", 0.0)
    )
