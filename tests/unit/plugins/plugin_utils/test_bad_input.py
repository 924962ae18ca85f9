# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""Captures of people in a hurry and of people who mean harm: one sentence names the trouble, the rest is still judged."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import pathlib
import re
import signal
import socket
import stat
import subprocess
import sys
import tarfile
import tempfile
import time
import typing as t
import zipfile

import pytest
from ansible_collections.gpuops.node.plugins.plugin_utils import capture as capture_module
from ansible_collections.gpuops.node.plugins.plugin_utils import report
from ansible_collections.gpuops.node.plugins.plugin_utils.capture import CaptureError, UnknownNode, open_capture
from ansible_collections.gpuops.node.plugins.plugin_utils.diagnose import diagnose
from ansible_collections.gpuops.node.plugins.plugin_utils.evidence import Evidence

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "tests" / "tools"))
import env  # noqa: E402
import spec  # noqa: E402

GOOD = spec.load(spec.CASES / "driver" / "driver_not_built_for_kernel-added.yml")
FAULT, NODE = GOOD["expect"]["fault"], GOOD["node"]
XID = "[  99.1] NVRM: Xid (PCI:0000:4c:00): 79, pid=1, GPU has fallen off the bus.\n"
Make = t.Callable[[pathlib.Path], t.Any]
MIB = 1024**2


@contextlib.contextmanager
def within(seconds: int) -> t.Iterator[None]:
    """Whatever hangs is interrupted."""

    def hangs(_number: int, _frame: t.Any) -> t.NoReturn:
        raise AssertionError(f"still at it after {seconds} s")

    before = signal.signal(signal.SIGALRM, hangs)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def tree(folder: pathlib.Path) -> dict[str, tuple[int, int, int]]:
    """Everything below a folder as it is now; nothing of it is opened."""
    found = {}
    for base, folders, files in os.walk(os.fsencode(folder)):
        for name in folders + files:
            info = os.lstat(os.path.join(base, name))
            found[repr(os.path.join(base, name))] = (info.st_mode, info.st_size, info.st_mtime_ns)
    return found


def sentence(text: str) -> str:
    """One sentence that can be printed, and that says what to do."""
    assert "\n" not in text
    assert text.isprintable(), ascii(text)
    assert len(text) < 1500
    assert "Traceback" not in text
    return text


def opened(path: pathlib.Path, node: str | None = NODE, seconds: int = 60) -> Evidence:
    """The evidence; the capture is as it was before."""
    before = tree(path.parent)
    with within(seconds):
        evidence = open_capture(str(path), node)
        for doc in evidence.documents:
            assert isinstance(doc.text, str)
    assert tree(path.parent) == before
    return evidence


def told(evidence: Evidence, *words: str) -> None:
    """Exactly one problem has these words."""
    found = [problem.text for problem in evidence.problems if all(word in sentence(problem.text) for word in words)]
    assert len(found) == 1, [problem.text for problem in evidence.problems]


def root_of(evidence: Evidence, node: str = NODE) -> str:
    with within(60):
        verdicts = diagnose(evidence, [node])
        assert report.narrate(verdicts)
    return verdicts[0]["root"]["fault"]


# ---- bad files among good ones ------------------------------------------------------------------------------------------


def put(name: str, content: str | bytes) -> Make:
    def make(folder: pathlib.Path) -> None:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode())

    return make


def special(folder: pathlib.Path) -> None:
    os.mkfifo(folder / "kubectl-get-nodes.txt")
    (folder / "dmesg.txt").mkdir()
    (folder / "loop").symlink_to(folder)
    (folder / "self").symlink_to(folder / "self")
    (folder / "dangling").symlink_to(folder / "nowhere")
    (folder / "passwd.txt").symlink_to("/etc/passwd")
    (folder / "endless.txt").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as sock, contextlib.chdir(folder):
        sock.bind("sock")
    with contextlib.suppress(PermissionError):  # needs root
        os.mknod(folder / "zero.txt", stat.S_IFCHR | 0o666, os.makedev(1, 5))


PODS = json.dumps(
    {
        "apiVersion": "v1",
        "kind": "List",
        "items": [
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{n}", "namespace": "x"}, "spec": {"containers": []}}
            for n in range(50)
        ],
    }
)
BOMB = "apiVersion: v1\nkind: List\na: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(9)
)

# What is put beside good files, and what must be said of it.
BESIDE: dict[str, tuple[Make, list[tuple[str, ...]]]] = {
    "binary junk": (put("junk.bin", bytes(range(256)) * 400), [("junk.bin", "not text")]),
    "binary junk under a good name": (put("kubectl-get-pods.txt", b"\x7fELF\0\1\2\3" * 99), [("kubectl-get-pods.txt", "not text")]),
    "only NUL bytes": (put("dmesg-old.txt", bytes(5000)), [("dmesg-old.txt", "not text")]),
    "some NUL bytes": (put("x.txt", b"abc\0def\n"), [("x.txt", "not text")]),
    "an empty file": (put("lspci.txt", ""), [("lspci.txt", "empty", "run its command again")]),
    "cut JSON": (put("pods.json", PODS[: len(PODS) // 2]), [("pods.json", "cut off", "24 objects", "export it again")]),
    "JSON cut before anything": (put("nodes.json", '{"apiVersion":"v1","kind":"List","items":[{"kind":"No'), [("nodes.json", "0 objects")]),
    "deep JSON": (put("deep.json", "[" * 100_000 + "]" * 100_000), [("deep.json", "nested too deeply")]),
    "deep JSON objects": (put("deep.json", '{"a":' * 50_000 + "1" + "}" * 50_000), [("deep.json", "nested too deeply")]),
    "deep YAML": (
        put("n.yaml", "apiVersion: v1\nkind: Node\nmetadata: " + "{a: " * 5000 + "1" + "}" * 5000),
        [("n.yaml", "none could be read")],
    ),
    "deep YAML lists": (put("list.yaml", "- " * 5000 + "x"), []),
    "a YAML bomb": (put("bomb.yaml", BOMB + "items: *j\n"), [("bomb.yaml", "aliases", "export them with kubectl")]),
    "YAML that contains itself": (
        put("self.yaml", "apiVersion: v1\nkind: Node\nmetadata: &a {name: x, labels: *a}\n"),
        [("self.yaml", "none could be read")],
    ),
    "YAML that runs programs": (put("tag.yaml", "!!python/object/apply:os.system ['touch pwned']\n"), []),
    "pipes, devices, links, loops": (
        special,
        [
            ("kubectl-get-nodes.txt", "not a regular file"),
            ("sock is", "not a regular file"),
            ("loop", "link to a folder"),
            ("self", "cannot be opened"),
            ("dangling", "cannot be opened"),
            ("passwd.txt", "leaves the capture"),
            ("endless.txt", "leaves the capture"),
        ],
    ),
    "a cut gz": (put("dmesg.log.gz", gzip.compress(XID.encode() * 99)[:40]), [("dmesg.log.gz", "cannot be unpacked", "copy it again")]),
    "a gz that is none": (put("dmesg.gz", "no gzip"), []),
    "Latin 1": (put("notes.txt", "Grüße aus München\n".encode("latin-1") * 9), [("notes.txt", "not UTF-8")]),
    "UTF-32": (put("uptime.txt", " 08:00:01 up 1 day\n".encode("utf-32")), []),
    "one endless line": (put("build.txt", "x" * (20 * MIB)), [("build.txt", "is large")]),
    "one endless string": (put("state.json", json.dumps({"a": "y" * (20 * MIB)})), []),
    "one endless JSON line of a logger": (put("app.txt", '{"log":"' + "NVRM: " * (3 * MIB) + '"}'), [("app.txt", "is large")]),
    "an archive in an archive": (put("more.zip", b"PK\x03\x04junk"), [("more.zip", "not a readable zip")]),
    "names that break lines": (put("a\nb\x1b[31m.txt", bytes(50)), [("a?b?[31m.txt", "not text")]),
    "a name that is no text": (put(os.fsdecode(b"bad\xff.txt"), bytes(50)), [("bad", "not text")]),
    "a very long name": (put("n" * 250, bytes(50)), [("nnn...", "not text")]),
    "taints that are a word": (
        put("n.json", json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}, "spec": {"taints": "x"}})),
        [("n.json", f"spec.taints of Node {NODE}", "left out")],
    ),
    "two clusters": (
        put("ns.yaml", "\n---\n".join(f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: kube-system, uid: {uid}}}" for uid in "ab")),
        [("two clusters", "kube-system", "by itself")],
    ),
}


@pytest.mark.parametrize("what", list(BESIDE))
def test_one_bad_file_among_good_ones(what: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make, said = BESIDE[what]
    folder = tmp_path / "capture"
    spec.lay(GOOD["files"], folder)
    make(folder)
    monkeypatch.chdir(tmp_path)
    evidence = opened(folder)
    for words in said:
        told(evidence, *words)
    if not said:
        assert [problem.text for problem in evidence.problems] == []
    assert root_of(evidence) == FAULT
    assert not (tmp_path / "pwned").exists()


def test_everything_bad_at_once(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "capture"
    spec.lay(GOOD["files"], folder)
    for number, (make, _said) in enumerate(BESIDE.values()):
        (folder / f"more-{number:02}").mkdir()
        make(folder / f"more-{number:02}")
    evidence = opened(folder)
    assert root_of(evidence) == FAULT
    for problem in evidence.problems:
        sentence(problem.text)


def test_the_whole_capture_in_utf_16(tmp_path: pathlib.Path) -> None:
    spec.lay({}, tmp_path)
    for name, text in GOOD["files"].items():
        put(f"capture/{name}", text.encode("utf-16"))(tmp_path)
    evidence = opened(tmp_path / "capture")
    assert evidence.problems == []
    assert root_of(evidence) == FAULT


# ---- too much ---------------------------------------------------------------------------------------------------------------


def test_a_huge_log(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "capture"
    spec.lay(GOOD["files"], folder)
    line = '[12345.678901] audit: type=1400 audit(1741766400.000:1): apparmor="ALLOWED" operation="open" profile="x"\n'
    with open(folder / "dmesg.txt", "w", encoding="utf-8") as stream:
        stream.write(line * 1000 + XID)
        for _block in range(200 * MIB // (len(line) * 1000)):
            stream.write(line * 1000)
    begun = time.process_time()
    evidence = opened(folder)
    told(evidence, "dmesg.txt", "of 200 MiB", "cut the file")
    verdict = diagnose(evidence, [NODE])[0]
    assert verdict["root"]["fault"] == "gpu_fallen_off_bus"
    assert verdict["root"]["evidence"][0]["line"] == 1001
    assert time.process_time() - begun < 20


def test_a_list_of_50_mib_on_one_line(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "capture"
    spec.lay(GOOD["files"], folder)
    pod = json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "NAME", "namespace": "x", "annotations": {"a": "z" * 700}}})
    text = '{"apiVersion":"v1","kind":"List","items":[' + ",".join(pod.replace("NAME", f"p{n}") for n in range(50 * MIB // len(pod))) + "]}"
    put("pods.json", text)(folder)
    evidence = opened(folder)
    assert evidence.problems == []
    assert len(evidence.of("Pod")) == 50 * MIB // len(pod)
    assert root_of(evidence) == FAULT


def test_very_many_files() -> None:
    """A tenth of what was measured by hand: 100,000 files take 11 s."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch) / "capture"
        spec.lay(GOOD["files"], folder)
        (folder / "many").mkdir()
        for number in range(10_000):
            (folder / "many" / f"{number}.txt").write_text("" if number % 3 else f"hello {number % 100}\n")
        begun = time.process_time()
        evidence = opened(folder)
        assert root_of(evidence) == FAULT
        assert time.process_time() - begun < 10
        told(evidence, "6,666 files", "each is empty")
        told(evidence, "files say the same as others", "read once")
        assert len(evidence.problems) == 2


class Zeros(io.RawIOBase):
    def __init__(self, size: int):
        self.left = size

    def read(self, size: int = -1) -> bytes:
        size = min(self.left, MIB, size if size > 0 else MIB)
        self.left -= size
        return bytes(size)


def packed(path: pathlib.Path, members: t.Iterable[tuple[tarfile.TarInfo, t.Any]] = ()) -> pathlib.Path:
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for name, text in GOOD["files"].items():
            info = tarfile.TarInfo(f"capture/{name}")
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
        for info, stream in members:
            archive.addfile(info, stream)
    return path


def member(name: str, size: int = 0, **more: t.Any) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size = size
    for key, value in more.items():
        setattr(info, key, value)
    return info


def test_archive_members_that_escape(tmp_path: pathlib.Path) -> None:
    names = ["../../evil.txt", "/etc/evil.txt", "C:\\evil.txt", "capture\\..\\..\\evil.txt", "capture/a\nb/../../../evil.txt"]
    members = [(member(name, 2), io.BytesIO(b"x\n")) for name in names]
    members += [
        (member("capture/l", type=tarfile.SYMTYPE, linkname="/etc/passwd"), None),
        (member("capture/h", type=tarfile.LNKTYPE, linkname="../../etc/passwd"), None),
        (member("capture/pipe", type=tarfile.FIFOTYPE), None),
        (member("capture/zero", type=tarfile.CHRTYPE, devmajor=1, devminor=5), None),
    ]
    (tmp_path / "in").mkdir()
    evidence = opened(packed(tmp_path / "in" / "c.tar.gz", members))
    told(evidence, "the path leaves the capture", "../../evil.txt", "/etc/evil.txt", "C:\\evil.txt")
    told(evidence, "a link is not followed", "capture/l", "capture/h")
    told(evidence, "it is not a regular file", "capture/pipe", "capture/zero")
    assert root_of(evidence) == FAULT
    assert not [doc for doc in evidence.documents if "evil" in doc.path or "root:" in doc.text]


def test_archives_that_unpack_to_too_much(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture_module, "MAX_TOTAL", 64 * MIB)
    evidence = opened(packed(tmp_path / "bomb.tar.gz", [(member("zero.bin", 100 * MIB), Zeros(100 * MIB))]))
    told(evidence, "bomb.tar.gz", "more than 64 MiB", "pack only")
    assert root_of(evidence) == FAULT
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in GOOD["files"].items():
            archive.writestr(name, text)
        archive.writestr("zero.bin", bytes(100 * MIB))
        for number in range(3):
            archive.writestr(f"part-{number}.txt", b"A" * (30 * MIB))
    evidence = opened(tmp_path / "bomb.zip")
    told(evidence, "zero.bin", "over a thousand times its size")
    told(evidence, "bomb.zip", "more than 64 MiB")
    assert root_of(evidence) == FAULT


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_archives_that_are_cut(share: float, tmp_path: pathlib.Path) -> None:
    path = packed(tmp_path / "c.tar.gz", [(member("more.txt", 300_000), io.BytesIO(os.urandom(150_000).hex().encode()))])
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    evidence = opened(path)
    told(evidence, "c.tar.gz", "damaged or cut off", "copy it again")
    assert root_of(evidence) == FAULT


# ---- our own format ------------------------------------------------------------------------------------------------------


def own(manifest: str, **files: str) -> Make:
    def make(folder: pathlib.Path) -> None:
        put("capture.json", manifest)(folder)
        for name, text in files.items():
            put(name.replace("__", "/"), text)(folder)

    return make


V1 = '{"format": "gpuops.node/capture/v1", "nodes": ["gpu-17"]'
NODES = json.dumps(
    {"items": [{"metadata": {"name": "gpu-17"}, "status": {"allocatable": {"nvidia.com/gpu": "8"}, "capacity": {"nvidia.com/gpu": "8"}}}]}
)
OWN: dict[str, tuple[Make, tuple[str, ...], str]] = {
    "a damaged manifest": (own(V1, **{"cluster__nodes.json": NODES}), ("capture.json is damaged", "collect again"), "healthy"),
    "another version": (own(V1.replace("v1", "v9") + "}", **{"cluster__nodes.json": NODES}), ("v9", "use the version"), "healthy"),
    "files that are not there": (
        own(V1 + ', "files": [{"path": "nodes/gpu-17/host/dmesg", "outcome": "seen"}]}', **{"cluster__nodes.json": NODES}),
        ("nodes/gpu-17/host/dmesg", "not there"),
        "healthy",
    ),
    "files outside": (
        own(
            V1 + ', "files": [{"path": "../../../../../etc/passwd", "node": "gpu-17", "kind": "os_release"}]}',
            **{"cluster__nodes.json": NODES},
        ),
        ("etc/passwd", "not there"),
        "healthy",
    ),
    "a cut list": (
        own(V1 + "}", **{"cluster__nodes.json": NODES, "cluster__pods.json": PODS[:3000]}),
        ("cluster/pods.json", "cut off"),
        "healthy",
    ),
    "binary objects": (
        own(V1 + "}", **{"cluster__nodes.json": NODES, "cluster__events.json": "\0\1\2" * 99}),
        ("cluster/events.json", "not text"),
        "healthy",
    ),
    "objects of no shape": (
        own(V1 + "}", **{"cluster__nodes.json": NODES.replace('"8"', "[8]")}),
        ("cluster/nodes.json", "not of the type"),
        "undetermined",
    ),
}


@pytest.mark.parametrize("what", list(OWN))
def test_our_own_format_damaged(what: str, tmp_path: pathlib.Path) -> None:
    make, words, fault = OWN[what]
    make(tmp_path / "capture")
    evidence = opened(tmp_path / "capture", "gpu-17")
    told(evidence, *words)
    assert root_of(evidence, "gpu-17") == fault
    assert not [doc for doc in evidence.documents if "root:" in doc.text]


# ---- nothing to judge -----------------------------------------------------------------------------------------------------


def gone(folder: pathlib.Path) -> pathlib.Path:
    return folder / "gone"


def file(name: str, content: bytes) -> t.Callable[[pathlib.Path], pathlib.Path]:
    def make(folder: pathlib.Path) -> pathlib.Path:
        (folder / name).write_bytes(content)
        return folder / name

    return make


def with_folder(make: Make) -> t.Callable[[pathlib.Path], pathlib.Path]:
    def made(folder: pathlib.Path) -> pathlib.Path:
        (folder / "capture").mkdir()
        make(folder / "capture")
        return folder / "capture"

    return made


def pipe(folder: pathlib.Path) -> pathlib.Path:
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


def link(target: str) -> t.Callable[[pathlib.Path], pathlib.Path]:
    def make(folder: pathlib.Path) -> pathlib.Path:
        (folder / "link").symlink_to(target)
        return folder / "link"

    return make


NOTHING: dict[str, tuple[t.Callable[[pathlib.Path], pathlib.Path], tuple[str, ...]]] = {
    "no such path": (gone, ("There is no capture at", "give the path")),
    "a dangling link": (link("nowhere"), ("There is no capture at",)),
    "a link to itself": (link("link"), ("There is no capture at",)),
    "an empty folder": (with_folder(lambda _folder: None), ("There is no evidence in", "it is empty")),
    "nothing but binary junk": (with_folder(put("junk.bin", bytes(range(256)) * 99)), ("There is no evidence in", "junk.bin is not text")),
    "nothing but empty files": (with_folder(put("dmesg.txt", "")), ("There is no evidence in", "dmesg.txt is empty")),
    "nothing but a pipe": (with_folder(lambda folder: os.mkfifo(folder / "p")), ("There is no evidence in", "p is not a regular file")),
    "a pipe": (pipe, ("neither a folder nor a file",)),
    "an endless device": (link("/dev/zero"), ("neither a folder nor a file",)),
    "an empty archive": (file("c.tar", b""), ("is empty", "collect the capture again")),
    "no archive": (file("c.tar.gz", b"hello"), ("Nothing in", "damaged or cut off")),
    "no zip": (file("c.zip", b"PK\x03\x04junk"), ("Nothing in", "not a readable zip file")),
}


@pytest.mark.parametrize("what", list(NOTHING))
def test_nothing_to_judge(what: str, tmp_path: pathlib.Path) -> None:
    make, words = NOTHING[what]
    path = make(tmp_path)
    with within(20), pytest.raises(CaptureError) as caught:
        open_capture(str(path), NODE)
    assert all(word in sentence(str(caught.value)) for word in words), str(caught.value)


def test_a_wrong_name(tmp_path: pathlib.Path) -> None:
    names = ["gpu-1", "gpu-2", "gpu\n3", *(f"gpu-{n}" for n in range(20, 40))]
    put(
        "nodes.json", json.dumps({"kind": "List", "items": [{"kind": "Node", "apiVersion": "v1", "metadata": {"name": n}} for n in names]})
    )(tmp_path)
    with pytest.raises(UnknownNode) as caught:
        open_capture(str(tmp_path), "gpu-99\n")
    assert all(word in sentence(str(caught.value)) for word in ("no node gpu-99?", "gpu-1, gpu-2, gpu?3", "and 15 more"))


# ---- the same through a real playbook -------------------------------------------------------------------------------------

BIN = pathlib.Path(sys.prefix) / "bin"
playbooks = pytest.mark.skipif(not (BIN / "ansible-playbook").exists(), reason="needs ansible-playbook beside this Python")


def play(path: pathlib.Path, *arguments: str, **extra: t.Any) -> tuple[int, str]:
    """The exit status and the output of the playbook; the capture is as it was before."""
    place = path if path.is_dir() else path.parent
    before = tree(place)
    done = subprocess.run(
        [str(BIN / "ansible-playbook"), "playbooks/diagnose.yml", "-e", json.dumps({"gpuops_capture": str(path), **extra}), *arguments],
        cwd=ROOT,
        env=env.environ(BIN.parent, ANSIBLE_FORCE_COLOR="0", ANSIBLE_NOCOLOR="1", GPUOPS_CAPTURE=""),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        check=False,
    )
    out = (done.stdout + done.stderr).decode("utf-8", "replace")
    assert "Traceback" not in out, out
    assert tree(place) == before
    return done.returncode, out


@playbooks
@pytest.mark.parametrize("what", ["no such path", "an empty folder", "nothing but binary junk", "a pipe", "no archive"])
def test_a_play_with_nothing_to_judge(what: str, tmp_path: pathlib.Path) -> None:
    make, words = NOTHING[what]
    status, out = play(make(tmp_path), "-l", NODE)
    assert status == 2
    messages = re.findall(r'^fatal: \[\S+\]: FAILED! => \{"changed": false, "msg": "(.*)"\}$', out, re.MULTILINE)
    assert len(messages) == 1, out
    assert all(word in messages[0] for word in words), out


@playbooks
def test_a_play_with_everything_bad(tmp_path: pathlib.Path) -> None:
    """Words in a capture are words: not even a template or a terminal's command is more."""
    folder = tmp_path / "capture"
    spec.lay(GOOD["files"], folder)
    for number, what in enumerate(
        ("binary junk", "cut JSON", "deep JSON", "a YAML bomb", "pipes, devices, links, loops", "names that break lines")
    ):
        (folder / f"more-{number}").mkdir()
        BESIDE[what][0](folder / f"more-{number}")
    touch = "{{ lookup('ansible.builtin.pipe', 'touch " + str(tmp_path / "pwned") + "') }}"
    put("host/dmesg.txt", f"[1.0] NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name={touch}\x1b]0;pwned\x07, GPU has fallen off the bus.\n")(
        folder
    )
    put(f"{touch.replace('/', '_')}.bin", bytes(100))(folder)
    status, out = play(
        folder, "-l", NODE, gpuops_fail_when_sick=True, gpuops_report_dir=str(tmp_path / "reports" / "new"), gpuops_hosts="all"
    )
    assert status == 2
    assert "ROOT" in out
    assert "gpu_fallen_off_bus" in out
    assert "lookup('ansible.builtin.pipe'" in out
    assert "\x1b" not in out
    assert not (tmp_path / "pwned").exists()
    printed = re.sub(r"\s+", " ", out)
    for words in (("pods.json", "cut off"), ("bomb.yaml", "aliases"), ("passwd.txt", "leaves the capture")):
        assert all(word in printed for word in words), words
    written = json.loads((tmp_path / "reports" / "new" / f"{NODE}.json").read_text())
    said = "\n".join(problem["text"] for problem in written["problems"])
    for words in (
        ("junk.bin", "not text"),
        ("deep.json", "nested too deeply"),
        ("a?b?[31m.txt",),
        ("kubectl-get-nodes.txt", "not a regular file"),
    ):
        assert all(word in said for word in words), words


@playbooks
def test_a_play_over_names_no_node_can_have(tmp_path: pathlib.Path) -> None:
    touch = "{{ lookup('ansible.builtin.pipe', 'touch " + str(tmp_path / "pwned") + "') }}"
    names = ["gpu-1", touch, "a\nb", "../../x", "x" * 300, "gpu-[1:3]", "host:22", "\ud800", "true", "-l", "localhost"]
    nodes = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name},
            "status": {"capacity": {"nvidia.com/gpu": "8"}, "allocatable": {"nvidia.com/gpu": "8"}},
        }
        for name in names
    ]
    put("capture/nodes.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes}))(tmp_path)
    status, out = play(tmp_path / "capture", gpuops_report_dir=str(tmp_path / "reports"))
    assert status == 0, out
    assert len(list((tmp_path / "reports").iterdir())) == len(names) + 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["capture", "reports"]
    assert f"{len(names)} nodes" in out
    assert not (tmp_path / "pwned").exists()
