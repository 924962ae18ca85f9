# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""One HTML page per run, for people who were not at the console: nothing to fetch, nothing to run, safe to forward."""

from __future__ import annotations

import collections.abc as c
import functools
import pathlib
import typing as t

import jinja2
from ansible_collections.gpuops.node.plugins.plugin_utils import report

TEMPLATE = pathlib.Path(__file__).parent / "templates" / "report.html.j2"

OPEN_UP_TO = 3  # more sick nodes than this start folded
OUTCOME_WORDS = {"ok": "OK", "fault": "FAULT", "skipped": "skipped", "unknown": "unknown"}
STATE_LABELS = {"healthy": "healthy", "sick": "sick", "undetermined": "undetermined", "workload": "workload"}

# What the head of the page says about the run: (key in run, words), in this order.
RUN_FACTS = (
    ("origin", "Evidence"),
    ("form", "Kind of evidence"),
    ("taken", "Collected"),
    ("now", "Judged as of"),
    ("version", "gpuops.node"),
    ("price", "Price per GPU-hour"),
)


@functools.cache
def _template() -> jinja2.Template:
    # Evidence is hostile input: escaping is on for everything, and an unknown name is an error, not an empty string.
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    return environment.from_string(TEMPLATE.read_text(encoding="utf-8"))


def render(verdicts: c.Sequence[c.Mapping[str, t.Any]], run: c.Mapping[str, t.Any], *, files: c.Sequence[str] = ()) -> str:
    """The page. C(files) are the names of the JSON files next to it, one per verdict."""
    named = dict(zip(map(id, verdicts), files))
    groups, number = [], 0
    for row, members in report.by_cause(verdicts):
        nodes = []
        for verdict in members:
            number += 1
            nodes.append(_node(verdict, f"n{number}", named.get(id(verdict), "")))
        groups.append({**row, "layer": report.layer_words(row["layer"] or ""), "members": nodes})
    healthy = [verdict for verdict in verdicts if report.state_of(verdict) == "healthy"]
    total = report.summarise(verdicts)
    # One healthy node alone is the whole story, so it is told in full; among others it is a name in a list.
    alone = [_node(verdict, "n1", named.get(id(verdict), "")) for verdict in healthy] if len(verdicts) == 1 else []
    return _template().render(
        title=_title(verdicts),
        line=report.fleet_line(verdicts),
        facts=[(words, _fact(key, run[key], total)) for key, words in RUN_FACTS if run.get(key) not in (None, "")],
        tiles=_tiles(total, len(verdicts)),
        groups=groups,
        total=total,
        priced=report.priced(verdicts),
        alone=alone,
        healthy=[] if alone else sorted(map(_brief, healthy), key=lambda item: report.natural(item["node"])),
        fold=sum(len(group["members"]) for group in groups) > OPEN_UP_TO,
        problems=report.problem_lines(verdicts),
        schema=report.DIAGNOSIS_SCHEMA,
        money=lambda value: report.money(value, total["currency"]),
        count=report.number,
        plural=report.plural,
        amount=_amount,
        outcomes=OUTCOME_WORDS,
        sentence=report.sentence,
        told_of=report.told_of,
        root_title=report.root_title,
    )


def _title(verdicts: c.Sequence[c.Mapping[str, t.Any]]) -> str:
    if len(verdicts) == 1:
        return report.exit_line(verdicts).rstrip(".")
    return report.fleet_line(verdicts).split(". ", maxsplit=1)[0].rstrip(".")  # what it costs stands in the tiles below


def _fact(key: str, value: t.Any, total: c.Mapping[str, t.Any]) -> str:
    if key == "price" and isinstance(value, (int, float)):
        return report.money(value, total["currency"])
    return report.moment(report.clean(value, 300))


def _amount(row: c.Mapping[str, t.Any], key: str, words: c.Callable[[float], str]) -> str:
    return report.amount(row, key, words).replace(">= ", "\u2265 ")


def _tiles(total: c.Mapping[str, t.Any], count: int) -> list[tuple[str, str, str]]:
    """(number, words, tone) at the top of the page; only those that say something."""
    out = []
    if count > 1:
        out.append((f"{total['nodes']:,}", "nodes", ""))
        out += [(f"{total[state]:,}", words, state) for state, words in STATE_LABELS.items() if total[state]]
    if total["gpus_out"]:
        out.append((_amount(total, "gpus_out", report.number), "GPUs out of service", "sick"))
    for key, words in (("cost_per_hour", "per hour"), ("cost", "so far")):
        if total[key]:
            out.append((_amount(total, key, lambda value: report.money(value, total["currency"])), words, ""))
    if total["gpu_hours_delayed"]:
        out.append((report.number(total["gpu_hours_delayed"]), "queued GPU-hours delayed", ""))
    return out


def _node(verdict: c.Mapping[str, t.Any], anchor: str, file: str) -> dict[str, t.Any]:
    seen = report.view(verdict)
    return {
        **seen,
        "anchor": anchor,
        "file": report.clean(file),
        "case_words": report.case_words(seen),
        "split_lines": report.split_lines(seen),
        "mend_title": report.mend_title(seen["mend"]),
        "mend_facts": report.mend_facts(seen["mend"]),
        "wait": report.wait_lines(seen["impact"]) if seen["state"] != "healthy" else [],
        "sources": [_source(source) for source in report._list(verdict.get("sources")) if isinstance(source, c.Mapping)],
    }


def _source(source: c.Mapping[str, t.Any]) -> dict[str, t.Any]:
    return {
        "path": report.clean(source.get("path")),
        "kind": report.clean(source.get("kind")),
        "outcome": report.clean(source.get("outcome")),
        "used": source.get("used") is True,
    }


def _brief(verdict: c.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """A healthy node among others: no more than its name and its count (a page may hold thousands)."""
    latent = verdict.get("latent")
    allocatable = verdict.get("allocatable")
    return {
        "node": report.clean(verdict.get("node"), 253),
        "gpus": report.plural(allocatable, "GPU") if isinstance(allocatable, int) else "",
        "latent": [
            report.clean(item.get("what")) for item in (latent if isinstance(latent, (list, tuple)) else []) if isinstance(item, c.Mapping)
        ],
    }
