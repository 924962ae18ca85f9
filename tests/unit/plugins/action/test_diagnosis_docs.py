# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
from __future__ import annotations

import pathlib
import typing as t

import yaml
from ansible_collections.gpuops.node.plugins.action.diagnosis import ARGUMENT_SPEC
from ansible_collections.gpuops.node.plugins.modules import diagnosis

ROOT = pathlib.Path(__file__).parents[4]
SPEC_KEYS = ("type", "elements", "required", "default", "choices")


def as_spec(documented: dict[str, t.Any]) -> dict[str, t.Any]:
    """The argument specification that options as documented amount to."""
    out = {}
    for name, option in documented.items():
        out[name] = {key: option[key] for key in SPEC_KEYS if key in option}
        if "suboptions" in option:
            out[name]["options"] = as_spec(option["suboptions"])
    return out


def test_the_action_takes_what_is_documented() -> None:
    assert as_spec(yaml.safe_load(diagnosis.DOCUMENTATION)["options"]) == ARGUMENT_SPEC


def test_everything_returned_is_documented() -> None:
    documented = set(yaml.safe_load(diagnosis.RETURN))
    assert documented == {"msg", "verdicts", "sick", "summary", "narration", "reports"}


def test_the_examples_use_options_that_exist() -> None:
    used = [task["gpuops.node.diagnosis"] for task in yaml.safe_load(diagnosis.EXAMPLES) if "gpuops.node.diagnosis" in task]
    assert len(used) == 2
    assert all(set(args) <= set(ARGUMENT_SPEC) for args in used)


def test_it_is_in_the_action_group() -> None:
    runtime = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text())
    modules = {path.stem for path in (ROOT / "plugins" / "modules").glob("*.py")}
    assert set(runtime["action_groups"]["all"]) == modules


def test_the_role_hands_every_option_on() -> None:
    tasks = yaml.safe_load((ROOT / "roles" / "diagnose" / "tasks" / "main.yml").read_text())
    given = next(task["gpuops.node.diagnosis"] for task in tasks if "gpuops.node.diagnosis" in task)
    # The nodes are the hosts of the play, and a role that prints nothing would be of no use.
    assert set(given) == set(ARGUMENT_SPEC) - {"nodes", "narrate"}
