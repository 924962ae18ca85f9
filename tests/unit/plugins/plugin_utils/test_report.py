# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""The narration, word for word and under hostile input; the files; the schema.

GPUOPS_UPDATE_GOLDEN=1 rewrites golden/: read the difference before you keep it.
"""

from __future__ import annotations

import copy
import json
import os
import pathlib
import re
import shlex
import time
import typing as t
import unicodedata

import jsonschema
import pytest
import referencing
from ansible_collections.gpuops.node.plugins.plugin_utils import report
from ansible_collections.gpuops.node.tests.unit.plugins.plugin_utils import report_verdicts as made
from hypothesis import given, settings
from hypothesis import strategies as st

GOLDEN = pathlib.Path(__file__).parent / "golden"
ANSI = re.compile(r"\x1b\[[0-9;]*m")


def columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def golden(name: str, text: str) -> None:
    path = GOLDEN / name
    if os.environ.get("GPUOPS_UPDATE_GOLDEN"):
        path.write_text(text + "\n", encoding="utf-8")
    assert text + "\n" == path.read_text(encoding="utf-8")


# --- the words ---


@pytest.mark.parametrize("name", made.ONE)
def test_golden_node(name: str) -> None:
    golden(f"narration_{name}.txt", report.narrate([made.ONE[name]()]))


def test_golden_fleet() -> None:
    golden("narration_fleet.txt", report.narrate(made.fleet()))


def test_golden_verbose() -> None:
    golden("narration_kernel_moved_verbose.txt", report.narrate([made.kernel_moved()], verbose=True))


@pytest.mark.parametrize("name", made.ONE)
def test_colour_only_paints(name: str) -> None:
    plain = report.narrate_one(made.ONE[name]())
    painted = report.narrate_one(made.ONE[name](), colour=True)
    assert "\x1b" not in plain
    assert painted != plain
    assert ANSI.sub("", painted) == plain


def test_colour_only_paints_a_fleet() -> None:
    assert ANSI.sub("", report.narrate(made.fleet(), colour=True)) == report.narrate(made.fleet())


@pytest.mark.parametrize("name", made.ONE)
@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_width(name: str, width: int) -> None:
    # The one line that may be wider is a command that cannot be cut without breaking it.
    lines = report.narrate_one(made.ONE[name](), width=width).splitlines()
    wide = [line for line in lines if columns(line) > width]
    assert all("tolerations" in line and name == "tainted" for line in wide)


def test_the_order_in_which_it_is_told() -> None:
    text = report.narrate_one(made.kernel_moved())
    places = [text.index(word) for word in ("gpu-17", "OK     hardware", "FAULT  driver", "ROOT", "ALSO", "LATENT", "MEND", "WAIT", "NEXT")]
    assert places == sorted(places)
    assert "$20.00 per hour, $140.00 so far, 56 idle GPU-hours" in text
    assert "64 GPUs, 7 h so far: 448 GPU-hours delayed" in text


def test_undetermined_says_what_to_collect_before_anything_is_mended() -> None:
    text = report.narrate_one(made.undetermined())
    assert text.index("COLLECT first:") < text.index("MEND")
    assert "certain" not in text and "possible" not in text
    assert "212 files (junk/000.core, junk/001.core, junk/002.core and 209 more)" in text
    assert text.count("junk/") == 3


def test_healthy_is_short_and_warns_of_nothing() -> None:
    lines = report.narrate_one(made.healthy()).splitlines()
    assert 3 <= len(lines) <= 6
    assert "hardware, driver, runtime skipped: All GPUs are allocatable" in "\n".join(lines)
    assert not re.search(r"WARN|FAULT|\?\?|MEND|WAIT|NEXT|unknown", "\n".join(lines))


def test_healthy_tells_latent_faults() -> None:
    verdict = {**made.healthy(), "latent": [{"what": "The next kernel has no module", "because": "not built", "evidence": []}]}
    assert "LATENT  The next kernel has no module. not built." in report.narrate_one(verdict)


def test_unknown_numbers_are_said_and_not_made_up() -> None:
    assert "how many GPUs stand idle is unknown" in report.narrate_one(made.undetermined())
    text = report.narrate_one(made.tainted())
    assert "8 GPUs idle, since when is unknown" in text
    assert "cost unknown" in text
    assert "$0" not in text


def test_currency() -> None:
    verdict = made.kernel_moved()
    verdict["impact"]["currency"] = "EUR"
    assert "EUR 20.00 per hour" in report.narrate_one(verdict)


def test_many_gangs_are_summed() -> None:
    verdict = made.kernel_moved()
    verdict["impact"]["gangs"] = [{"name": f"g{i}", "gpus": 8, "hours": 2.0, "gpu_hours_delayed": 16.0} for i in range(5)]
    verdict["impact"]["gpu_hours_delayed"] = 80.0
    text = report.narrate_one(verdict)
    assert text.count("queued: g") == 3
    assert "and 2 more queued, together 80 GPU-hours delayed" in text


def test_counts_are_not_told_twice() -> None:
    assert "nvidia.com/gpu: capacity" not in report.narrate_one(made.tainted())
    assert "nvidia.com/gpu: capacity 0, allocatable 0, expected 8" in report.narrate_one(made.kernel_moved())


def test_partial_objects_of_the_split() -> None:
    verdict = made.kernel_moved()
    verdict.update(ready=False, capacity=None, allocatable=None, expected=None, expected_from=None, split="")
    assert "capacity unknown, allocatable unknown, expected unknown; node NotReady." in report.narrate_one(verdict)


@pytest.mark.parametrize(
    ("level", "label"),
    [("error", "ERROR"), ("warning", "WARNING"), ("note", "note")],
)
def test_problem_labels(level: str, label: str) -> None:
    verdict = {**made.healthy(), "problems": [{"path": "a.txt", "text": "a.txt is cut.", "level": level}]}
    assert re.search(rf"^  {label} +a\.txt is cut\.$", report.narrate_one(verdict), re.M)


def test_unrecognised_sources_are_counted_once() -> None:
    sources = [{"path": f"x/{i}.bin", "kind": "unrecognised", "outcome": "seen", "used": False} for i in range(9)]
    verdict = {**made.healthy(), "sources": sources, "problems": [{"path": "x/0.bin", "text": "x/0.bin is empty.", "level": "note"}]}
    text = report.narrate_one(verdict)
    assert "x/0.bin is empty." in text
    assert "8 files not recognised and not judged: x/1.bin, x/2.bin, x/3.bin and 5 more." in " ".join(text.split())


def test_workload_fault_is_not_a_sick_node() -> None:
    verdict = made.tainted()
    verdict["root"] = {"fault": "workload_fault", "layer": None, "certainty": "certain", "because": "old image", "evidence": []}
    total = report.summarise([verdict, made.healthy()])
    assert (total["workload"], total["sick"], total["failed"]) == (1, 0, [])
    assert "ROOT    workload_fault (certain)" in report.narrate([verdict])


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({}, "case B: advertises all 8 GPUs"),
        ({"allocatable": 7}, "case B: advertises 7 of 8 GPUs"),
        ({"allocatable": 1, "expected": 1, "capacity": 1}, "case B: advertises its 1 GPU"),
        ({"allocatable": 1, "expected": 0, "capacity": 1}, "case B: advertises 1 GPU"),
        ({"expected": None, "capacity": None}, "case B: advertises 8 GPUs"),
        ({"gangs": [{"name": "g", "gpus": 8}]}, "case B: advertises 8 of 8 GPUs, pods are refused"),
        ({"notes": ["1 GPU pod outside any gang is Pending, for 4 GPUs in all."]}, "case B: advertises 8 of 8 GPUs, pods are refused"),
        ({"fault": "taint_not_tolerated"}, "case B: advertises 8 of 8 GPUs, pods are refused"),
        ({"text": "Warning FailedScheduling 0/1 nodes are available"}, "case B: advertises 8 of 8 GPUs, pods are refused"),
    ],
)
def test_pods_are_refused_only_where_some_are(keys: dict[str, t.Any], words: str) -> None:
    counts = {key: value for key, value in keys.items() if key in ("allocatable", "expected", "capacity")}
    verdict = made.verdict("gpu-1", case="B", **counts)
    verdict["root"] = {**verdict["root"], "fault": keys.get("fault", "node_cordoned"), "evidence": [{"text": keys.get("text", "x")}]}
    verdict["impact"] |= {key: keys[key] for key in ("gangs", "notes") if key in keys}
    assert report.case_words(report.view(verdict)) == words


def test_what_is_advertised_is_not_said_to_work() -> None:
    verdict = made.verdict("gpu-1", case="B")
    verdict["root"] = {**verdict["root"], "fault": "fabric_manager_down", "layer": "hardware"}
    verdict["impact"]["notes"] = [
        "The node advertises its GPUs, but new pods that get one fail: how many jobs that holds back is not known."
    ]
    text = " ".join(report.narrate_one(verdict).split())
    assert "no GPU stands idle" not in text
    assert "how many jobs that holds back is not known" in text
    assert report.gpus_out(verdict) is None


# --- fleets ---


def test_no_price_no_column_of_money() -> None:
    verdicts = [made.tainted("a"), made.verdict("b", root={"fault": "node_cordoned", "layer": "scheduler", "certainty": "certain"})]
    verdicts[1]["impact"]["idle_gpus"] = 0
    for text in (report.fleet_table(verdicts), report.fleet_table([made.undetermined("c")])):
        assert "COST" not in text and "$" not in text
    assert report.summarise(verdicts)["cost"] is None
    verdicts[1]["impact"]["price"] = 2.5
    assert "COST SO FAR" in report.fleet_table(verdicts)
    assert "$0.00" in report.fleet_table(verdicts)


def test_an_unknown_number_is_no_zero_in_the_table() -> None:
    verdict = made.verdict("a", root={"fault": "node_cordoned", "layer": "scheduler", "certainty": "certain"})
    verdict["impact"]["price"] = 2.5
    row = report.causes([verdict])[0]
    assert (row["gpus_out"], row["cost"], row["cost_per_hour"]) == (None, None, None)
    assert row["incomplete"] == list(report.SUMS)
    assert report.fleet_table([verdict]).splitlines()[1].split()[-3:] == ["?", "?", "?"]


def test_fleet_tells_causes_first_and_the_healthy_in_one_breath() -> None:
    text = report.narrate(made.fleet())
    assert text.index("CAUSE") < text.index("ROOT")
    assert "32 healthy, 256 GPUs allocatable." in text
    assert "gpu-00" not in text  # a healthy one
    assert "4 more nodes with this cause: gpu-11 (0/8), gpu-17 (0/8), gpu-18 (0/8, likely), gpu-25" in text
    assert "ALSO" not in text  # compact


def test_fleet_of_few_sick_is_told_in_detail() -> None:
    text = report.narrate([made.kernel_moved(), made.healthy()])
    assert "ALSO" in text and "LATENT" in text


def test_nodes_with_a_story_of_their_own_are_told() -> None:
    lost = [made.one_gpu_lost(f"gpu-{i}") for i in range(6)]
    for index, verdict in enumerate(lost):
        verdict["root"]["because"] = f"Xid 79 for 0000:{index}b:00"
    text = report.narrate([*lost, made.healthy()])
    assert text.count("ROOT") == report.TOLD_PER_CAUSE
    assert "3 more nodes with this cause" in text


def test_gangs_are_counted_once_however_many_nodes_they_wait_for() -> None:
    assert report.summarise(made.fleet())["gpu_hours_delayed"] == 448


def test_sums_that_lack_a_node_say_so() -> None:
    rows = {row["fault"]: row for row in report.causes(made.fleet())}
    assert rows["driver_not_built_for_kernel"]["cost"] == 700 and rows["driver_not_built_for_kernel"]["incomplete"] == []
    assert rows["taint_not_tolerated"]["cost"] is None
    assert "at least $700.00 so far" in report.fleet_line(made.fleet())
    assert ">= $700.00" in report.fleet_table(made.fleet())


def test_a_healthy_fleet_has_no_table() -> None:
    healthy = [made.healthy(f"n{i}") for i in range(3)]
    assert report.fleet_table(healthy) == ""
    assert report.narrate(healthy).startswith("3 nodes: 3 healthy.")


def test_nodes_sort_as_people_count() -> None:
    assert sorted(["gpu-10", "gpu-2", "gpu-1", "a"], key=report.natural) == ["a", "gpu-1", "gpu-2", "gpu-10"]


def test_order_of_verdicts_does_not_matter() -> None:
    assert report.narrate(made.fleet()[::-1]) == report.narrate(made.fleet())


def test_exit_line() -> None:
    assert report.exit_line([made.kernel_moved()]) == "gpu-17: driver_not_built_for_kernel (driver layer, certain), 8 GPUs out of service."
    assert report.exit_line([made.healthy()]) == "gpu-03: healthy."
    assert report.exit_line(made.fleet()).endswith("Not healthy: gpu-04, gpu-09, gpu-11, gpu-17, gpu-18, gpu-21, gpu-22, gpu-25.")


def test_no_verdict_at_all() -> None:
    assert report.narrate([]) == "No node was judged."


def test_a_thousand_healthy_nodes_cost_next_to_nothing() -> None:
    verdicts = [made.healthy(f"gpu-{i}") for i in range(999)] + [made.kernel_moved()]
    start = time.process_time()
    text = report.narrate(verdicts)
    assert time.process_time() - start < 0.8
    assert "999 healthy" in text
    assert len(text.splitlines()) < 70


# --- commands can be pasted ---


@pytest.mark.parametrize(
    "command",
    [
        "kubectl -n gpu-operator delete pod -l app=nvidia-operator-validator --field-selector spec.nodeName=gpu-17 --wait=true",
        "sh -c 'uname -r; dkms status; cat /proc/driver/nvidia/version /sys/module/nvidia/version' nvidia-smi -q -d ECC,ROW",
        'printf "%s %s\\n" "a b  c" d\\ e --aaaaaaaaaaaaaaaaaaaaaaa --bbbbbbbbbbbbbbbbbbbbbbbbb --cccccccccccccccccccccccc',
    ],
)
def test_a_cut_command_is_the_same_command(command: str) -> None:
    parts = report.break_command(command, 60)
    assert len(parts) > 1
    assert all(part.endswith(" \\") for part in parts[:-1])
    assert shlex.split("\n".join(parts).replace("\\\n", "")) == shlex.split(command)


def test_a_comment_or_a_quote_is_never_cut() -> None:
    quoted = "echo '" + "word " * 40 + "'"
    assert [part.strip() for part in report.break_command(quoted, 60)] == ["echo \\", quoted[5:]]
    comment = ("uname -r # " + "why " * 40).strip()
    assert report.break_command(comment, 60) == ["uname -r \\", "    " + comment[comment.index("#") :]]


def test_commands_with_line_breaks_are_several() -> None:
    verdict = {**made.kernel_moved(), "next": ["one\ntwo"]}
    assert report.narrate_one(verdict).splitlines()[-3:-1] == ["  NEXT    one", "          two"]


# --- hostile text ---


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[2J\x1b[H", ""),
        ("\x1b]0;title\x07x", "\\x1b]0;title\\x07x"),
        ("bell\x07", "bell\\x07"),
        ("a\tb\nc\r\x0bd", "a b c  d"),
        ("nul\0", "nul\\x00"),
        ("\u202egpj.exe", "\\u202egpj.exe"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\U000e0041"),
        ("שלום 世界 é", "שלום 世界 é"),
        ("x" * 5000, "x" * report.TEXT_LIMIT + "..."),
        (None, ""),
        (True, "yes"),
        pytest.param(10**6000, "?", id="long number"),
    ],
)
def test_clean(raw: t.Any, shown: str) -> None:
    assert report.clean(raw) == shown


def test_control_characters_of_evidence_never_reach_the_terminal() -> None:
    verdict = made.kernel_moved()
    verdict["root"]["evidence"][0]["text"] = "\x1b[1A\x1b[2K  OK     driver  \x9b31m all fine\r\x08"
    text = report.narrate_one(verdict)
    assert "> host/uname.txt:1: OK     driver  \\x9b31m all fine \\x08" in text


def test_evidence_keeps_its_spaces() -> None:
    assert "ii  linux-image-generic  5.15.0.119.119  amd64" in report.narrate_one(made.kernel_moved())


def check_page(text: str, verdicts: list[dict[str, t.Any]], width: int) -> None:
    assert all(char == "\n" or char.isprintable() for char in text)
    text.encode("utf-8")
    for line in text.splitlines():
        assert line == line.rstrip()
        if columns(line) > width:  # only a command may be, and only one that has no place to be cut
            commands = [part for verdict in verdicts for part in shown_commands(verdict)]
            assert any(line[10:].strip().removesuffix(" \\") in command for command in commands)


def shown_commands(verdict: dict[str, t.Any]) -> list[str]:
    seen = report.view(verdict)
    return [*seen["next"], *(command for item in seen["collect_next"] for command in item["command"])]


@settings(max_examples=200, deadline=None)
@given(made.hostile(), st.booleans(), st.sampled_from([60, 100]))
def test_one_node_survives_anything(verdict: dict[str, t.Any], verbose: bool, width: int) -> None:
    before = copy.deepcopy(verdict)
    text = report.narrate_one(verdict, verbose=verbose, width=width)
    check_page(text, [verdict], width)
    assert text == report.narrate_one(copy.deepcopy(before), verbose=verbose, width=width)
    assert ANSI.sub("", report.narrate_one(verdict, verbose=verbose, width=width, colour=True)) == text
    assert report.exit_line([verdict]).isprintable()


@settings(max_examples=80, deadline=None)
@given(st.lists(made.hostile(), min_size=2, max_size=5), st.booleans())
def test_a_fleet_survives_anything(verdicts: list[dict[str, t.Any]], verbose: bool) -> None:
    text = report.narrate(verdicts, verbose=verbose)
    check_page(text, verdicts, 100)
    assert text == report.narrate(copy.deepcopy(verdicts), verbose=verbose)
    assert ANSI.sub("", report.narrate(verdicts, verbose=verbose, colour=True)) == text
    json.loads(report.to_json(report.run_document(verdicts, made.RUN)))


@settings(deadline=None)
@given(made.NASTY, st.integers(8, 120), st.integers(0, 3))
def test_wrap_loses_no_word_and_keeps_to_its_room(raw: str, room: int, lines: int) -> None:
    text = report.clean(raw)
    out = report.wrap(text, room, lines=lines)
    assert all(columns(line) <= room for line in out)
    if lines:
        assert len(out) <= lines
    else:
        assert "".join(out).replace(" ", "") == text.replace(" ", "")


def test_a_cut_text_ends_with_a_whole_word() -> None:
    assert report.wrap("The node has fewer devices than it should have", 20, lines=1) == ["The node has ..."]
    assert report.wrap("The node has fewer devices", 13, lines=1) == ["The node ..."]
    assert report.wrap("x" * 40, 20, lines=1) == ["x" * 17 + "..."]
    cut = report.clean("word " * 1000)
    assert cut.endswith("word...") and len(cut) <= report.TEXT_LIMIT + 3


# --- files ---


def read(path: str) -> t.Any:
    return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))


def test_reports_are_written_and_named(tmp_path: pathlib.Path) -> None:
    paths = report.write_reports(made.fleet(), tmp_path / "new" / "dir", made.RUN)
    names = [pathlib.Path(path).name for path in paths]
    assert names[0] == "diagnosis.json" and names[-1] == "report.html" and "gpu-17.json" in names
    assert len(paths) == 42
    assert sorted(names) == sorted(os.listdir(tmp_path / "new" / "dir"))  # nothing temporary is left
    document = read(paths[0])
    assert document["schema"] == report.RUN_SCHEMA
    assert document["verdicts"] == made.fleet()
    assert read(str(tmp_path / "new" / "dir" / "gpu-09.json")) == made.one_gpu_lost()


def test_writing_again_gives_the_same_bytes(tmp_path: pathlib.Path) -> None:
    first = [pathlib.Path(path).read_bytes() for path in report.write_reports(made.fleet(), tmp_path, made.RUN)]
    assert [pathlib.Path(path).read_bytes() for path in report.write_reports(made.fleet(), tmp_path, made.RUN)] == first


def test_report_files_are_readable_for_others(tmp_path: pathlib.Path) -> None:
    umask = os.umask(0o022)
    try:
        paths = report.write_reports([made.healthy()], tmp_path, {})
    finally:
        os.umask(umask)
    assert {oct(os.stat(path).st_mode & 0o777) for path in paths} == {"0o644"}


def test_a_node_name_chooses_no_path(tmp_path: pathlib.Path) -> None:
    names = ["../../escaped", "/etc/passwd", "diagnosis", "Report", ".hidden", "a/b", "a_b", "", "x" * 400, "same", "same"]
    paths = report.write_reports([made.healthy(name) for name in names], tmp_path / "out", {})
    assert len(set(paths)) == len(names) + 2
    assert {pathlib.Path(path).resolve().parent for path in paths} == {(tmp_path / "out").resolve()}
    assert read(paths[0])["schema"] == report.RUN_SCHEMA
    assert os.listdir(tmp_path) == ["out"]


def test_a_directory_that_cannot_be_written_is_one_sentence(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(report.ReportError, match=r"^Cannot write the report to .*/file/sub: Not a directory\. .*gpuops_report_dir\.$"):
        report.write_reports([made.healthy()], tmp_path / "file" / "sub", {})


def test_a_write_that_fails_half_way_leaves_the_old_file(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report.write_reports([made.healthy()], tmp_path, {})
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def full(*_arguments: t.Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fchmod", full)
    with pytest.raises(report.ReportError, match="No space left on device"):
        report.write_reports([made.kernel_moved("gpu-03")], tmp_path, {})
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_json_has_no_word_that_json_lacks() -> None:
    text = report.to_json({"a": float("nan"), "b": [float("inf"), 1.5], "c": "\ud800\x1b", "d": pathlib.PurePosixPath("x")})
    assert text.isascii() and "\x1b" not in text
    assert json.loads(text, parse_constant=pytest.fail) == {"a": None, "b": [None, 1.5], "c": "\ud800\x1b", "d": "x"}


# --- the schema ---


def load(path: pathlib.Path) -> dict[str, t.Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def validator(path: pathlib.Path) -> jsonschema.Draft202012Validator:
    schemas = [load(report.SCHEMA_PATH), load(report.RUN_SCHEMA_PATH)]
    registry = referencing.Registry().with_resources([(item["$id"], referencing.Resource.from_contents(item)) for item in schemas])
    return jsonschema.Draft202012Validator(load(path), registry=registry)


def subschemas(schema: t.Any, where: str = "") -> t.Iterator[tuple[str, dict[str, t.Any]]]:
    if isinstance(schema, dict):
        if "type" in schema or "enum" in schema or "const" in schema:
            yield where, schema
        for key, item in schema.items():
            yield from subschemas(item, f"{where}/{key}")


@pytest.mark.parametrize("path", [report.SCHEMA_PATH, report.RUN_SCHEMA_PATH], ids=lambda path: path.name)
def test_schema_is_strict_and_every_field_is_described(path: pathlib.Path) -> None:
    schema = load(path)
    jsonschema.Draft202012Validator.check_schema(schema)
    found = list(subschemas(schema))
    assert len(found) > 15
    for where, item in found:
        assert item.get("description") or where.endswith("/incomplete/items"), where
        if item.get("type") == "object" and where != "/properties/run":
            assert item["additionalProperties"] is False, where
            assert set(item["required"]) <= set(item["properties"]), where


@pytest.mark.parametrize("name", made.ONE)
def test_verdicts_follow_the_schema(name: str) -> None:
    validator(report.SCHEMA_PATH).validate(made.ONE[name]())


def test_a_run_follows_its_schema() -> None:
    validator(report.RUN_SCHEMA_PATH).validate(json.loads(report.to_json(report.run_document(made.fleet(), made.RUN))))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("extra",), 1),
        (("root", "extra"), 1),
        (("root", "fault"), "Not An Id"),
        (("root", "certainty"), "sure"),
        (("case",), "C"),
        (("walk",), []),
        (("walk", 0, "outcome"), "fine"),
        (("impact", "since"), "yesterday"),
        (("mend", "would_change"), [{"kind": "feeling", "what": "x", "how": "y"}]),
        (("capacity",), -1),
        (("capacity",), "8"),
        (("root", "evidence", 0, "line"), 0),
        (("sources", 0, "outcome"), "guessed"),
        (("impact", "gangs", 0, "colour"), "red"),
    ],
)
def test_schema_refuses(path: tuple[t.Any, ...], value: t.Any) -> None:
    assert not validator(report.SCHEMA_PATH).is_valid(made.planted("kernel_moved", {path: value}))


@pytest.mark.parametrize("key", sorted(made.healthy()))
def test_schema_requires_every_field(key: str) -> None:
    verdict = made.healthy()
    del verdict[key]
    assert not validator(report.SCHEMA_PATH).is_valid(verdict)


DOCS = pathlib.Path(__file__).parents[4] / "docs" / "verdict.md"


@pytest.mark.parametrize("path", [report.SCHEMA_PATH, report.RUN_SCHEMA_PATH], ids=lambda path: path.name)
def test_every_field_is_in_the_docs(path: pathlib.Path) -> None:
    text = DOCS.read_text(encoding="utf-8")
    assert path.name in text
    fields = {name for _where, item in subschemas(load(path)) for name in item.get("properties", ())}
    assert [name for name in sorted(fields) if not re.search(rf"`([a-z_*]+(\[\])?\.)?{name}(\[\])?`", text)] == []
