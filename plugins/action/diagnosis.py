# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""Facts in, verdict out: judges the nodes of a play from a capture, tells what it found and writes the reports."""

from __future__ import annotations

import collections.abc as c
import datetime
import difflib
import filecmp
import os
import re
import tempfile
import typing as t

from ansible.errors import AnsibleActionFail
from ansible.module_utils.parsing.convert_bool import boolean
from ansible.plugins.action import ActionBase
from ansible.utils.color import ANSIBLE_COLOR
from ansible.utils.display import Display
from ansible_collections.gpuops.node.plugins.plugin_utils import objects, report, session
from ansible_collections.gpuops.node.plugins.plugin_utils.capture import CaptureError
from ansible_collections.gpuops.node.plugins.plugin_utils.diagnose import diagnose
from ansible_collections.gpuops.node.plugins.plugin_utils.judge.view import Options, is_waiting

display = Display()

COLOURS = ("auto", "always", "never")

# The same as the module's documentation; a unit test compares the two.
ARGUMENT_SPEC: dict[str, dict[str, t.Any]] = {
    "capture": {"type": "path", "required": True},
    "nodes": {"type": "list", "elements": "str"},
    "resource": {"type": "str", "default": "nvidia.com/gpu"},
    "expected": {"type": "raw"},
    "pod": {"type": "str"},
    "validation_taints": {"type": "list", "elements": "str", "default": []},
    "gangs": {
        "type": "list",
        "elements": "dict",
        "default": [],
        "options": {
            "name": {"type": "str", "required": True},
            "gpus": {"type": "int", "required": True},
            "since": {"type": "str"},
        },
    },
    "price": {"type": "float"},
    "currency": {"type": "str", "default": "$"},
    "now": {"type": "str"},
    "report_dir": {"type": "path"},
    "narrate": {"type": "bool", "default": True},
    "colour": {"type": "str", "choices": list(COLOURS), "default": "auto"},
}

PLAIN_WIDTH = 100  # columns, where there is no terminal to ask
WIDEST = 120  # longer lines are hard to read, however wide the terminal
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)\Z")
_RESOURCE = re.compile(r"nvidia\.com/[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?\Z")


class UserError(Exception):
    """Something the user can put right; the text is one sentence."""


def plain(value: t.Any) -> t.Any:
    """The value made of builtin types only: Ansible's containers are lazy and its scalars carry tags."""
    if isinstance(value, c.Mapping):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, datetime.datetime):
        # YAML makes a datetime of a bare time stamp; without an offset it means UTC.
        aware = value if value.tzinfo else value.replace(tzinfo=datetime.UTC)
        return datetime.datetime.isoformat(aware).replace("+00:00", "Z")
    return str(value)


def given(value: t.Any) -> str:
    """What the user gave, fit for one line."""
    return report.clean(value if isinstance(value, str) else repr(value), 120) or "nothing"


def as_time(value: str | None, what: str) -> str | None:
    """A time in RFC 3339, or an explanation."""
    if value in (None, ""):
        return None
    try:
        if not _TIME.match(value):
            raise ValueError
        datetime.datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise UserError(f"{what} must be a time such as 2026-03-12T07:04:00Z, not {given(value)}.") from None
    return value


def as_count(value: t.Any, what: str) -> int:
    """A number of GPUs, or an explanation."""
    try:
        if isinstance(value, (bool, float)):
            raise ValueError
        count = int(value)
    except (TypeError, ValueError):
        count = -1
    if count < 0:
        raise UserError(f"{what} must be a number of GPUs such as 8, not {given(value)}.")
    return count


def as_expected(value: t.Any) -> int | dict[str, int] | None:
    """The expected count: nothing, one number, or a number per node."""
    if value is None or value == "" or value == {}:
        return None
    if isinstance(value, dict):
        return {str(node): as_count(count, f"The expected count of {given(node)} (gpuops_expected_gpus)") for node, count in value.items()}
    return as_count(value, "The expected count (gpuops_expected_gpus)")


def as_price(value: t.Any) -> float | None:
    """A price, or an explanation."""
    if value in (None, ""):
        return None
    try:
        if isinstance(value, bool):
            raise ValueError
        price = float(value)
    except (TypeError, ValueError):
        price = -1.0
    if not 0 <= price < float("inf"):
        raise UserError(
            f"The price of a GPU-hour (gpuops_gpu_hour_price) must be a number that is not negative, such as 2.50, not {given(value)}."
        )
    return price


def as_gangs(value: t.Any) -> list[dict[str, t.Any]]:
    """Gangs, or an explanation."""
    gangs = value if isinstance(value, list) else [value] if value else []
    for gang in gangs:
        if not isinstance(gang, dict) or not {"name", "gpus"} <= set(gang) <= {"name", "gpus", "since"}:
            raise UserError(f"Each gang (gpuops_gangs) needs a name and gpus, and may have since; this does not fit: {given(gang)}")
    return [
        {
            "name": str(gang["name"]),
            "gpus": as_count(gang["gpus"], f"The size of the gang {given(gang['name'])} (gpuops_gangs)"),
            "since": as_time(gang.get("since"), f"The start of the gang {given(gang['name'])} (gpuops_gangs)"),
        }
        for gang in gangs
    ]


def as_switch(value: t.Any) -> None:
    """Explains what is neither yes nor no; a template is left to Ansible."""
    if isinstance(value, str) and "{" not in value:
        try:
            boolean(value)
        except TypeError:
            raise UserError(f"gpuops_fail_when_sick must be true or false, not {given(value)}.") from None


def checked(args: dict[str, t.Any]) -> dict[str, t.Any]:
    """The arguments, with what is said here better than by Ansible looked at first."""
    looks: dict[str, t.Callable[[t.Any], t.Any]] = {"price": as_price, "gangs": as_gangs, "expected": as_expected}
    if args.get("colour") not in (None, *COLOURS):
        raise UserError(f"The colour (gpuops_colour) must be auto, always or never, not {given(args['colour'])}.")
    return {name: looks[name](value) if name in looks else value for name, value in args.items()}


def as_options(args: dict[str, t.Any]) -> Options:
    """What the judges are told."""
    pod = args["pod"] or None
    if pod and not re.fullmatch(r"[^/\s]+/[^/\s]+", pod):
        raise UserError(f"The pod (gpuops_pod) must be named as namespace/name, not {given(pod)}.")
    if not _RESOURCE.match(args["resource"]):
        raise UserError(f"The resource (gpuops_resource) must be one of NVIDIA's, such as nvidia.com/gpu, not {given(args['resource'])}.")
    return Options(
        price=args["price"],
        currency=args["currency"],
        expected=args["expected"],
        now=as_time(args["now"], "The time to count up to (gpuops_now)"),
        gangs=args["gangs"],
        pod=pod,
        resource=args["resource"],
        validation_taints=args["validation_taints"],
    )


def known_pod(asked: str, evidence: t.Any, capture: str) -> str:
    """The pod asked for, as the capture names it, or an explanation."""
    space, _slash, name = asked.partition("/")
    pods = evidence.of("Pod")
    spaces = {objects.text(pod, "metadata", "namespace") for pod in pods if objects.name_of(pod) == name}
    about = [event.get("involvedObject") or event.get("regarding") for event in evidence.of("Event")]
    told = {objects.text(ref, "namespace") for ref in about if objects.text(ref, "kind") == "Pod" and objects.text(ref, "name") == name}
    if space in spaces:
        return asked
    if "" in spaces:
        return name  # a table without namespaces
    if space in told or "" in told:
        return asked
    waiting = [pod for pod in pods if is_waiting(pod)]
    for_gpus = [pod for pod in waiting if objects.asks_for_gpu(pod)]
    names = list(dict.fromkeys(map(objects.full_name, for_gpus or waiting)))
    rest = f"Waiting{' for GPUs' if for_gpus else ''} in it: {some(names)}." if names else "No pod waits in it."
    raise UserError(f"The capture {capture} holds no pod {given(asked)} (gpuops_pod). {rest}")


def some(names: c.Sequence[str], count: int = 5) -> str:
    """The first few names, and how many more there are."""
    told = sorted(names, key=report.natural)[:count]
    rest = len(names) - len(told)
    return ", ".join(told) + (f" and {rest:,} more" if rest else "")


def not_in_capture(capture: str, unknown: c.Sequence[str], known: c.Sequence[str]) -> str:
    """The sentence for nodes that the capture does not hold."""
    asked = f"no node named {unknown[0]}" if len(unknown) == 1 else f"none of the {len(unknown):,} nodes asked for ({some(unknown)})"
    text = f"The capture {capture} holds {asked}. It holds {some(known)}."
    close = difflib.get_close_matches(unknown[0], known, 1) if len(unknown) == 1 else []
    return text + (f" Did you mean {close[0]}?" if close else " Give the name that Kubernetes knows the node by.")


def _same(left: str, right: str) -> bool:
    try:
        return filecmp.cmp(left, right, shallow=False)
    except OSError:
        return False


class ActionModule(ActionBase):
    _requires_connection = False
    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        result = super().run(tmp, task_vars)
        task_vars = task_vars or {}
        try:
            as_switch(task_vars.get("gpuops_fail_when_sick"))  # the role reads it after the verdict, and would take a slip for no
            self._task.args = checked(plain(self._task.args))
            try:
                _validation, args = self.validate_argument_spec(argument_spec=ARGUMENT_SPEC)
            except AnsibleActionFail as error:
                raise UserError(str(error)) from None  # without the dump of all arguments
            result.update(self._diagnose(plain(args), task_vars))
        except (UserError, CaptureError, report.ReportError) as error:
            raise AnsibleActionFail(str(error)) from None
        return result

    def _diagnose(self, args: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        options = as_options(args)
        capture = os.path.normpath(args["capture"]) if args["capture"] else ""
        if not capture:
            raise UserError("No capture was given. Name a folder or an archive with gpuops_capture (-e gpuops_capture=PATH).")
        hosts = plain(task_vars.get("ansible_play_batch") or [task_vars.get("inventory_hostname")])
        asked = list(dict.fromkeys(args["nodes"] if args["nodes"] is not None else hosts))
        if asked == ["localhost"] and not (task_vars.get("groups") or {}).get("all"):
            # The playbook falls back on this host, so that a run without an inventory does not end well without a verdict.
            names = session.evidence(capture).node_names()
            if names:
                raise UserError(
                    f"No inventory names a node. Name the nodes with -i, such as -i {names[0]}, (with the comma); "
                    f"the capture {capture} holds {some(names)}."
                )
        evidence = session.evidence(capture, asked[0] if len(asked) == 1 else None)
        nodes = self._known(asked, evidence.node_names(), capture, strict=args["nodes"] is not None)
        if options.pod:
            options.pod = known_pod(options.pod, evidence, capture)
        verdicts = diagnose(evidence, nodes, options)

        summary = report.summarise(verdicts)
        failed = set(summary["failed"])
        narration = report.narrate(verdicts, width=self._width(), verbose=display.verbosity > 0)
        out: dict[str, t.Any] = {
            "changed": False,
            "msg": report.exit_line(verdicts),
            "verdicts": {verdict["node"]: verdict for verdict in verdicts},
            "sick": {verdict["node"]: report.exit_line([verdict]) for verdict in verdicts if verdict["node"] in failed},
            "summary": summary,
            "narration": narration,
            "reports": [],
            # What a workflow in AWX passes on; small, because it is kept with the job.
            "ansible_stats": {"data": {"gpuops_summary": summary}, "per_host": False, "aggregate": False},
        }
        if args["narrate"]:
            self._tell(verdicts, narration, args["colour"], task_vars)
        if args["report_dir"]:
            out.update(self._report(verdicts, args["report_dir"], evidence, options))
        return out

    @staticmethod
    def _known(asked: list[str], known: list[str], capture: str, strict: bool) -> list[str]:
        """The nodes to judge: those asked for that the capture holds."""
        unknown = sorted(set(asked) - set(known), key=report.natural)
        if unknown and (strict or len(unknown) == len(asked)):
            raise UserError(not_in_capture(capture, unknown, known))
        if unknown:
            display.warning(
                f"The capture {capture} does not hold {len(unknown):,} of the {len(asked):,} hosts of this play, "
                f"which are not judged: {some(unknown)}."
            )
        return [node for node in asked if node in set(known)]

    @staticmethod
    def _width() -> int:
        columns = getattr(display, "columns", None)
        # Without a terminal Ansible assumes 79 columns; logs and AWX have more room than that.
        return min(columns, WIDEST) if columns and columns > 79 else PLAIN_WIDTH

    def _tell(self, verdicts: list[dict[str, t.Any]], narration: str, colour: str, task_vars: dict[str, t.Any]) -> None:
        # Printed by hand: as the result of a task it would be one line of JSON.
        in_awx = "awx_job_id" in task_vars or "tower_job_id" in task_vars
        painted = colour == "always" or (colour == "auto" and ANSIBLE_COLOR and not in_awx)
        shown = report.narrate(verdicts, colour=True, width=self._width(), verbose=display.verbosity > 0) if painted else narration
        display.display(f"\n{shown}\n\n", screen_only=True)
        display.display(narration, log_only=True)  # a log file gets no colour codes

    def _report(self, verdicts: list[dict[str, t.Any]], directory: str, evidence: t.Any, options: Options) -> dict[str, t.Any]:
        run = {
            "origin": evidence.origin,
            "form": evidence.form,
            "taken": evidence.taken,
            "now": options.now or evidence.taken,
            "price": options.price,
            "currency": options.currency,
            "resource": options.resource,
            "version": session.version(),
        }
        directory = os.path.normpath(directory)
        with tempfile.TemporaryDirectory() as scratch:
            # Written aside first: check mode can tell what would change, and a second run that changes nothing says so.
            names = [os.path.basename(path) for path in report.write_reports(verdicts, scratch, run)]
            same = all(_same(os.path.join(scratch, name), os.path.join(directory, name)) for name in names)
        if self._task.check_mode:
            return {"reports": [os.path.join(directory, name) for name in names], "changed": not same}
        written = report.write_reports(verdicts, directory, run)
        return {"reports": written, "changed": not same}
