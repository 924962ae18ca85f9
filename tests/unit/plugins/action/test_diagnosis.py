# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
from __future__ import annotations

import datetime
import json
import pathlib
import types
import typing as t
from unittest import mock

import pytest
from ansible.errors import AnsibleActionFail
from ansible.template import trust_as_template
from ansible_collections.gpuops.node.plugins.action import diagnosis
from ansible_collections.gpuops.node.plugins.plugin_utils.capture import CaptureError
from ansible_collections.gpuops.node.plugins.plugin_utils.evidence import Evidence

BUILTIN = (dict, list, str, int, float, bool, type(None))


def verdict(node: str, fault: str = "healthy", out: int = 0) -> dict[str, t.Any]:
    healthy = fault == "healthy"
    return {
        "schema": "gpuops.node/diagnosis/v1",
        "node": node,
        "case": "healthy" if healthy else "A",
        "resource": "nvidia.com/gpu",
        "ready": True,
        "capacity": 8 - out,
        "allocatable": 8 - out,
        "expected": 8,
        "expected_from": "declared",
        "split": "The node is told apart.",
        "root": {"fault": fault, "layer": None if healthy else "driver", "certainty": "certain", "because": "It says so.", "evidence": []},
        "contributing": [],
        "walk": [],
        "mend": {
            "by": "none",
            "role": None,
            "summary": "",
            "steps": [],
            "would_change": [],
            "reboot": "never",
            "disrupts": [],
            "refused_because": [],
        },
        "collect_next": [],
        "latent": [],
        "impact": {"idle_gpus": out, "notes": [], "gangs": []},
        "next": [],
        "sources": [],
        "problems": [],
    }


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, t.Any]]]:
    """What would have been printed."""
    printed: list[tuple[str, dict[str, t.Any]]] = []
    monkeypatch.setattr(diagnosis.display, "display", lambda text, **how: printed.append((text, how)))
    monkeypatch.setattr(diagnosis.display, "warning", lambda text, **how: printed.append((text, {"warning": True})))
    monkeypatch.setattr(diagnosis, "ANSIBLE_COLOR", True)
    return printed


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> dict[str, t.Any]:
    """A capture of three nodes, one of them sick; what the judges were given."""
    evidence = Evidence("/capture", "pasted", taken="2026-03-12T07:04:00Z")
    for name in ("gpu-1", "gpu-2", "gpu-3"):
        evidence.add("Node", {"metadata": {"name": name}})
    given: dict[str, t.Any] = {"evidence": evidence}

    def opened(path: str, node: str | None = None) -> Evidence:
        given.update(path=path, hint=node)
        return evidence

    def judge(_evidence: Evidence, nodes: list[str], options: t.Any) -> list[dict[str, t.Any]]:
        given.update(nodes=nodes, options=options)
        return [verdict(name, *(("driver_not_installed", 8) if name == "gpu-2" else ())) for name in nodes]

    monkeypatch.setattr(diagnosis.session, "evidence", opened)
    monkeypatch.setattr(diagnosis, "diagnose", judge)
    return given


def run(
    args: dict[str, t.Any], hosts: t.Sequence[str] = ("gpu-1", "gpu-2", "gpu-3"), check: bool = False, **variables: t.Any
) -> dict[str, t.Any]:
    task = mock.MagicMock(args=args, check_mode=check, async_val=0, environment=None, no_log=False, diff=False)
    shell = types.SimpleNamespace(tmpdir=None)
    action = diagnosis.ActionModule(
        task=task, connection=mock.MagicMock(_shell=shell), play_context=mock.MagicMock(), loader=None, templar=None, shared_loader_obj=None
    )
    return action.run(task_vars={"ansible_play_batch": list(hosts), "inventory_hostname": hosts[0], **variables})


def only_builtin(value: t.Any) -> bool:
    if value.__class__ is dict:
        return all(only_builtin(key) and only_builtin(item) for key, item in value.items())
    if value.__class__ is list:
        return all(map(only_builtin, value))
    return value.__class__ in BUILTIN


# -- plain values


def test_tagged_values_become_builtin_ones() -> None:
    tagged = trust_as_template("gpu-17")
    assert tagged.__class__ is not str
    made = diagnosis.plain({tagged: [tagged, (1, 2.5), True, None, {tagged}]})
    assert made == {"gpu-17": ["gpu-17", [1, 2.5], True, None, ["gpu-17"]]}
    assert only_builtin(made)


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime.datetime(2026, 3, 12, 7, 4), "2026-03-12T07:04:00Z"),
        (datetime.datetime(2026, 3, 12, 7, 4, tzinfo=datetime.UTC), "2026-03-12T07:04:00Z"),
        (datetime.datetime(2026, 3, 12, 7, 4, tzinfo=datetime.timezone(datetime.timedelta(hours=1))), "2026-03-12T07:04:00+01:00"),
    ],
)
def test_a_bare_yaml_time_is_a_time(moment: datetime.datetime, text: str) -> None:
    assert diagnosis.plain(moment) == text
    assert diagnosis.as_time(diagnosis.plain(moment), "It") == text


# -- options


@pytest.mark.parametrize(
    ("value", "meant"),
    [(None, None), ("", None), ({}, None), (8, 8), ("8", 8), (0, 0), ("0", 0), ({"gpu-1": "4", "gpu-2": 0}, {"gpu-1": 4, "gpu-2": 0})],
)
def test_expected_counts(value: t.Any, meant: t.Any) -> None:
    assert diagnosis.as_expected(value) == meant


@pytest.mark.parametrize("value", ["eight", -1, True, 7.5, [8], {"gpu-1": "many"}, {"gpu-1": -2}])
def test_what_is_no_count_is_said(value: t.Any) -> None:
    with pytest.raises(diagnosis.UserError, match="gpuops_expected_gpus.* must be a number of GPUs such as 8, not "):
        diagnosis.as_expected(value)


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        *(({"price": price}, f"gpuops_gpu_hour_price.* such as 2.50, not {price}") for price in (-1, "inf", "nan", "2,5", "cheap", True)),
        ({"pod": "trainer-0"}, "gpuops_pod.* namespace/name, not trainer-0"),
        *(({"resource": name}, f"gpuops_resource.* not {name or 'nothing'}.") for name in ("amd.com/gpu", "gpu", "nvidia.com/", "")),
        ({"now": "yesterday"}, "gpuops_now.* a time such as .*, not yesterday"),
        ({"now": "2026-03-12"}, "a time such as"),
        ({"now": "2026-13-12T00:00:00Z"}, "a time such as"),
        ({"now": 7}, "a time such as .*, not 7"),
        ({"gangs": [{"name": "big", "gpus": -64}]}, "size of the gang big .*gpuops_gangs.* must be a number of GPUs"),
        ({"gangs": [{"name": "big", "gpus": "many"}]}, "must be a number of GPUs .* not many"),
        ({"gangs": [{"name": "big", "gpus": 64, "since": "noon"}]}, "start of the gang big .* must be a time"),
        ({"gangs": [{"gpus": 64}]}, "gpuops_gangs.* needs a name and gpus.*64"),
        ({"gangs": [{"name": "big", "gpus": 64, "untl": "noon"}]}, "gpuops_gangs.*untl"),
        ({"gangs": 64}, "gpuops_gangs.*64"),
        ({"expected": "lots"}, "a number of GPUs such as 8, not lots"),
        ({"expected": {"gpu-1": "lots"}}, "count of gpu-1 .*gpuops_expected_gpus"),
        ({"validation_taints": {"a": 1}}, "validation_taints"),
        ({"nodes": ["gpu-9"]}, "holds no node named gpu-9. It holds gpu-1, gpu-2, gpu-3. Did you mean"),
        ({"nodes": ["gpu-1", "other"]}, "holds no node named other.*Give the name that Kubernetes knows"),
        ({"capture": ""}, "No capture was given"),
        ({"colour": "pink"}, "gpuops_colour.* auto, always or never, not pink"),
        ({"captrue": "x"}, "captrue"),
    ],
)
def test_a_mistake_is_one_sentence(judged: dict[str, t.Any], shown: list[t.Any], args: dict[str, t.Any], sentence: str) -> None:
    with pytest.raises(AnsibleActionFail, match=sentence) as caught:
        run({"capture": "/capture", **args})
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is None  # Ansible would print it, with a dump of all arguments
    assert not shown


@pytest.mark.parametrize(("word", "wrong"), [("maybe", True), ("", True), ("yes", False), (True, False), ("{{ nightly }}", False)])
def test_a_switch_that_is_neither_on_nor_off(judged: dict[str, t.Any], shown: list[t.Any], word: t.Any, wrong: bool) -> None:
    if wrong:
        with pytest.raises(AnsibleActionFail, match="^gpuops_fail_when_sick must be true or false, not"):
            run({"capture": "/capture"}, gpuops_fail_when_sick=word)
    else:
        run({"capture": "/capture"}, gpuops_fail_when_sick=word)


def pod(name: str, space: str | None = "ml", node: str | None = None, gpus: int = 1) -> dict[str, t.Any]:
    resources = {"limits": {"nvidia.com/gpu": str(gpus)} if gpus else {}}
    return {
        "metadata": {"name": name, **({"namespace": space} if space else {})},
        "spec": {"containers": [{"name": "c", "resources": resources}], **({"nodeName": node} if node else {})},
        "status": {"phase": "Running" if node else "Pending"},
    }


def test_a_pod_of_the_capture_is_taken(judged: dict[str, t.Any], shown: list[t.Any]) -> None:
    evidence = judged["evidence"]
    for one in (pod("waits"), pod("runs", node="gpu-1"), pod("bare", space=None)):
        evidence.add("Pod", one)
    evidence.add("Event", {"metadata": {}, "involvedObject": {"kind": "Pod", "namespace": "ml", "name": "told"}})
    for asked, meant in {"ml/waits": "ml/waits", "ml/runs": "ml/runs", "ml/bare": "bare", "ml/told": "ml/told"}.items():
        run({"capture": "/capture", "pod": asked})
        assert judged["options"].pod == meant


@pytest.mark.parametrize(
    ("pods", "sentence"),
    [
        ([], "No pod waits in it."),
        ([pod("runs", node="gpu-1")], "No pod waits in it."),
        ([pod("web", gpus=0)], "Waiting in it: ml/web."),
        ([pod("web", gpus=0), pod("w1")], "Waiting for GPUs in it: ml/w1."),
        ([pod(f"w{i}") for i in range(8)], "Waiting for GPUs in it: ml/w0, ml/w1, ml/w2, ml/w3, ml/w4 and 3 more."),
    ],
)
def test_a_pod_that_the_capture_lacks(judged: dict[str, t.Any], shown: list[t.Any], pods: list[dict[str, t.Any]], sentence: str) -> None:
    for one in pods:
        judged["evidence"].add("Pod", one)
    for name in ("ml/nope", "other/w1"):
        with pytest.raises(AnsibleActionFail) as caught:
            run({"capture": "/capture", "pod": name})
        assert str(caught.value) == f"The capture /capture holds no pod {name} (gpuops_pod). {sentence}"


def test_without_an_inventory_the_capture_names_the_nodes(judged: dict[str, t.Any], shown: list[t.Any]) -> None:
    with pytest.raises(AnsibleActionFail, match=r"No inventory names a node.* -i gpu-1, .* holds gpu-1, gpu-2, gpu-3\."):
        run({"capture": "/capture"}, hosts=("localhost",), groups={"all": []})


def test_what_is_said_reaches_the_judges(judged: dict[str, t.Any], shown: list[t.Any]) -> None:
    since = "2026-03-12T00:04:00Z"
    run(
        {
            "capture": "/capture/",
            "nodes": ["gpu-2"],
            "price": "2.50",
            "currency": "EUR ",
            "expected": {"gpu-2": 8},
            "gangs": [{"name": "big", "gpus": "64", "since": since}],
            "now": datetime.datetime(2026, 3, 12, 7, 4),
            "resource": "nvidia.com/mig-1g.10gb",
            "validation_taints": ["example.com/proving"],
        }
    )
    options = judged["options"]
    assert (judged["path"], judged["hint"], judged["nodes"]) == ("/capture", "gpu-2", ["gpu-2"])
    assert (options.price, options.currency, options.expected, options.pod) == (2.5, "EUR ", {"gpu-2": 8}, None)
    assert options.gangs == [{"name": "big", "gpus": 64, "since": since}]
    assert (options.now, options.resource, options.validation_taints) == (
        "2026-03-12T07:04:00Z",
        "nvidia.com/mig-1g.10gb",
        ["example.com/proving"],
    )
    assert only_builtin([options.expected, options.gangs, options.validation_taints, options.now, judged["nodes"]])


def test_a_capture_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch, shown: list[t.Any]) -> None:
    monkeypatch.setattr(diagnosis.session, "evidence", mock.Mock(side_effect=CaptureError("The capture /x is a socket.")))
    with pytest.raises(AnsibleActionFail, match="^The capture /x is a socket.$"):
        run({"capture": "/x"})


# -- results


def test_the_hosts_of_the_play_are_judged(judged: dict[str, t.Any], shown: list[tuple[str, dict[str, t.Any]]]) -> None:
    result = run({"capture": "/capture"})
    assert judged["nodes"] == ["gpu-1", "gpu-2", "gpu-3"]
    assert judged["hint"] is None  # nameless output cannot belong to three nodes
    assert list(result["verdicts"]) == ["gpu-1", "gpu-2", "gpu-3"]
    assert list(result["sick"]) == ["gpu-2"]
    assert "driver_not_installed" in result["sick"]["gpu-2"]
    assert result["summary"]["failed"] == ["gpu-2"]
    assert result["ansible_stats"]["data"] == {"gpuops_summary": result["summary"]}
    assert result["changed"] is False
    assert result["reports"] == []
    assert only_builtin(result["verdicts"])
    json.dumps(result)


def test_hosts_that_the_capture_lacks_are_told_and_left_out(judged: dict[str, t.Any], shown: list[tuple[str, dict[str, t.Any]]]) -> None:
    result = run({"capture": "/capture"}, hosts=("gpu-1", "storage-1", "storage-2"))
    assert judged["nodes"] == ["gpu-1"]
    assert list(result["verdicts"]) == ["gpu-1"]
    warnings = [text for text, how in shown if how.get("warning")]
    assert warnings == ["The capture /capture does not hold 2 of the 3 hosts of this play, which are not judged: storage-1, storage-2."]


def test_none_of_the_hosts_is_in_the_capture(judged: dict[str, t.Any], shown: list[t.Any]) -> None:
    with pytest.raises(AnsibleActionFail, match="none of the 2 nodes asked for"):
        run({"capture": "/capture"}, hosts=("storage-1", "storage-2"))


def test_a_node_named_twice_is_judged_once(judged: dict[str, t.Any], shown: list[t.Any]) -> None:
    run({"capture": "/capture", "nodes": ["gpu-2", "gpu-1", "gpu-2"]})
    assert judged["nodes"] == ["gpu-2", "gpu-1"]


# -- telling


@pytest.mark.parametrize(
    ("colour", "variables", "painted"),
    [
        ("auto", {}, True),
        ("auto", {"awx_job_id": 7}, False),
        ("auto", {"tower_job_id": 7}, False),
        ("always", {"awx_job_id": 7}, True),
        ("never", {}, False),
    ],
)
def test_colour(
    judged: dict[str, t.Any], shown: list[tuple[str, dict[str, t.Any]]], colour: str, variables: dict[str, t.Any], painted: bool
) -> None:
    result = run({"capture": "/capture", "colour": colour}, **variables)
    screen = [text for text, how in shown if how.get("screen_only")]
    logged = [text for text, how in shown if how.get("log_only")]
    assert len(screen) == len(logged) == 1
    assert ("\x1b[" in screen[0]) is painted
    assert logged == [result["narration"]]
    assert "\x1b[" not in result["narration"]


@pytest.mark.parametrize(("columns", "width"), [(None, 100), (79, 100), (90, 90), (119, 119), (250, 120)])
def test_width(monkeypatch: pytest.MonkeyPatch, columns: int | None, width: int) -> None:
    monkeypatch.setattr(diagnosis.display, "columns", columns)
    assert diagnosis.ActionModule._width() == width


def test_without_colour_in_ansible_there_is_none(judged: dict[str, t.Any], shown: list[t.Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "ANSIBLE_COLOR", False)
    run({"capture": "/capture"})
    assert "\x1b[" not in shown[0][0]


def test_nothing_is_printed_when_not_wanted(judged: dict[str, t.Any], shown: list[t.Any]) -> None:
    assert "gpu-2" in run({"capture": "/capture", "narrate": False})["narration"]
    assert shown == []


# -- reports


def test_reports_are_written_once(judged: dict[str, t.Any], shown: list[t.Any], tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "a" / "reports"
    args = {"capture": "/capture", "report_dir": str(folder)}
    predicted = run(dict(args), check=True)
    assert predicted["changed"] is True
    assert not folder.exists()
    first = run(dict(args))
    assert first["changed"] is True
    assert first["reports"] == predicted["reports"]
    assert sorted(first["reports"]) == sorted(map(str, folder.iterdir()))
    assert json.loads((folder / "diagnosis.json").read_text())["summary"] == first["summary"]
    assert run(dict(args))["changed"] is False
    assert run(dict(args), check=True)["changed"] is False
    (folder / "gpu-2.json").write_text("{}")
    assert run(dict(args), check=True)["changed"] is True


def test_a_directory_that_cannot_be_written(judged: dict[str, t.Any], shown: list[t.Any], tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(AnsibleActionFail, match="gpuops_report_dir"):
        run({"capture": "/capture", "report_dir": str(tmp_path / "file" / "reports")})
