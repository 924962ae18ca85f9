# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""Every test and check of the checkout: what `make test` runs.

    check.py [STEP ...]      all steps, or those named (a beginning is enough: "unit" runs unit-2.19 and unit-2.21)
    check.py --list          the steps

The output of each step is kept in tests/output/check/STEP.log. The last line counts the checks.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import typing as t

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import doclint
import env
import excerpt

ROOT = env.ROOT
LOGS = ROOT / "tests" / "output" / "check"
OLD, NEW = "core-2.19", "core-2.21"
SAMPLE, SAMPLE_NODE = env.SAMPLE, "gpu-17"
HOST_PYTHONS = ("3.8", "3.9")  # the oldest that GPU hosts may have; ansible-core 2.19 still knows 3.8

# A sanity run never leaves its own home: what ansible-test downloads and caches is kept out of the user's.
STEPS: dict[str, t.Callable[[Check], None]] = {}


def step(name: str) -> t.Callable[[t.Callable[[Check], None]], t.Callable[[Check], None]]:
    def keep(function: t.Callable[[Check], None]) -> t.Callable[[Check], None]:
        STEPS[name] = function
        return function

    return keep


@dataclasses.dataclass
class Done:
    """A command that ran."""

    rc: int
    out: str
    seconds: float


class Check:
    """One step: runs commands, keeps their output, counts what was checked."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.passed = 0
        self.failed: list[str] = []
        self.skipped: list[str] = []
        LOGS.mkdir(parents=True, exist_ok=True)
        self.log = LOGS / f"{name}.log"
        self.log.write_text("", "utf-8")

    # -- counting

    def expect(self, what: str, ok: bool, detail: str = "") -> bool:
        if ok:
            self.passed += 1
        else:
            self.failed.append(f"{what}: {detail}" if detail else what)
        self.note(f"[{'ok' if ok else 'FAILED'}] {what}{': ' + detail if detail and not ok else ''}")
        return ok

    def skip(self, what: str, why: str) -> None:
        self.skipped.append(f"{what}: {why}")
        self.note(f"[skipped] {what}: {why}")

    def note(self, text: str) -> None:
        with open(self.log, "a", encoding="utf-8") as stream:
            stream.write(text.rstrip("\n") + "\n")

    # -- running

    def run(self, command: t.Sequence[t.Any], *, leg: str = OLD, cwd: t.Any = ROOT, timeout: int = 900, **more: str) -> Done:
        """Run a command in the environment of a leg and keep what it printed."""
        words = [str(word) for word in command]
        environ = env.environ(ready(leg), ANSIBLE_FORCE_COLOR="0", NO_COLOR="1", PY_COLORS="0", **more)
        self.note("\n$ " + " ".join(words) + f"    (in {cwd})")
        started = time.monotonic()
        try:
            done = subprocess.run(
                words,
                cwd=cwd,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=timeout,
                check=False,
            )
            rc, out = done.returncode, done.stdout
        except subprocess.TimeoutExpired as error:
            rc, out = 124, (error.stdout or b"") + f"\n(stopped after {timeout} s)".encode()
        text = out.decode("utf-8", "replace")
        self.note(text + f"(exit status {rc}, {time.monotonic() - started:.1f} s)")
        if "DEPRECATION WARNING" in text:
            line = next(line for line in text.splitlines() if "DEPRECATION WARNING" in line)
            self.expect(f"{words[0].rsplit('/', 1)[-1]} without deprecation warnings", False, line[:300])
        return Done(rc, text, time.monotonic() - started)

    def command(self, what: str, command: t.Sequence[t.Any], rc: int = 0, **more: t.Any) -> Done:
        """Run a command whose exit status is the check."""
        done = self.run(command, **more)
        self.expect(what, done.rc == rc, f"exit status {done.rc}: {tail(done.out)}")
        return done

    def pytest(self, arguments: t.Sequence[t.Any], leg: str, **more: str) -> None:
        """Run tests; each of them counts."""
        more.setdefault("PYTHONPATH", str(ROOT / "collections"))  # for the processes that tests start themselves
        done = self.run(["python", "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments], leg=leg, timeout=1800, **more)
        counts = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|errors?|skipped|xfailed)", tail(done.out, 1))}
        self.passed += counts.get("passed", 0)
        bad = [line for line in done.out.splitlines() if line.startswith(("FAILED ", "ERROR "))]
        self.failed += bad or ([f"pytest ended with status {done.rc}: {tail(done.out)}"] if done.rc else [])
        self.skipped += [line.removeprefix("SKIPPED ") for line in done.out.splitlines() if line.startswith("SKIPPED ")]
        if not counts.get("passed") and not done.rc:
            self.failed.append("pytest ran no test")


_ready: dict[str, pathlib.Path | env.EnvError] = {}


def ready(leg: str) -> pathlib.Path:
    """The environment of a leg, made on first use. Raises EnvError where there can be none."""
    if leg not in _ready:
        try:
            _ready[leg] = env.ensure(leg, install=True)
        except env.EnvError as error:
            _ready[leg] = error
    found = _ready[leg]
    if isinstance(found, env.EnvError):
        raise found
    return found


def legs(check: Check) -> t.Iterator[str]:
    """The versions of Ansible that this machine can run; the other is told."""
    for leg in (OLD, NEW):
        try:
            ready(leg)
        except env.NoPython as error:
            check.skip(leg, str(error))
        else:
            yield leg


def tail(text: str, lines: int = 5) -> str:
    return "\n".join([line for line in text.splitlines() if line.strip()][-lines:])


# ---------------------------------------------------------------------------------------------------------------------
# Trees


def tracked() -> list[str]:
    """The files of the checkout that belong to it: known to git, or new and not ignored."""
    done = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, stdout=subprocess.PIPE, check=False)
    names = [name for name in done.stdout.decode("utf-8", "surrogateescape").split("\0") if name]
    if done.returncode:  # not a git checkout: everything that is there
        names = [str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if path.is_file() and "/collections/" not in f"/{path}/"]
    return sorted({name for name in names if os.path.lexists(ROOT / name)})


def work(name: str) -> pathlib.Path:
    """An empty folder of this checkout, outside of it."""
    mine = hashlib.sha256(str(ROOT).encode()).hexdigest()[:12]
    folder = env.cache_dir() / f"work-{mine}" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def no_config() -> str:
    """An ansible.cfg that says nothing, for runs that must not read ours or the user's."""
    path = env.cache_dir() / "empty.cfg"
    path.write_text("", "utf-8")
    return str(path)


def tree(name: str, leg: str, without: t.Sequence[str] = ("tests/cases/",)) -> pathlib.Path:
    """A copy of the checkout where ansible-test wants it, with the collections it depends on beside it."""
    top = work(name)
    copy = top / "ansible_collections" / "gpuops" / "node"
    for file in tracked():
        if file.startswith(("collections/", "playbooks/collections", *without)):
            continue
        target = copy / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / file, target, follow_symlinks=False)
    (top / "ansible_collections" / "kubernetes").symlink_to(site_packages(leg) / "ansible_collections" / "kubernetes")
    return copy


def site_packages(leg: str) -> pathlib.Path:
    return next((ready(leg) / "lib").glob("python3*/site-packages"))


def python_version(leg: str) -> str:
    return next((ready(leg) / "lib").glob("python3*")).name.removeprefix("python")


def shadows() -> list[str]:
    """Files beside which ansible-test's scripts would run, and that hide modules of Python's own."""
    folder = pathlib.Path(tempfile.gettempdir() if "TMPDIR" not in os.environ else "/tmp")
    return [str(folder / f"{name}.py") for name in sorted(sys.stdlib_module_names) if (folder / f"{name}.py").exists()]


def ansible_test(check: Check, what: str, leg: str, copy: pathlib.Path, arguments: t.Sequence[t.Any], path: str = "") -> Done:
    """ansible-test, without a network and without touching the user's home."""
    hidden = shadows() if "sanity" in arguments else []
    if hidden:
        check.expect(what, False, f"it runs scripts beside {', '.join(hidden)}, which would be taken for Python's own module: move it away")
        return Done(1, "", 0)
    home = env.cache_dir() / "home"
    cache = home / ".ansible" / "test" / "cache"
    cache.mkdir(parents=True, exist_ok=True)
    for version in ("24_2", "25_2"):  # the names that ansible-core 2.19 and 2.20+ look for
        shutil.copyfile(ROOT / "tests" / "tools" / "get_pip_standin.py", cache / f"get_pip_{version}.py")
    more = {"HOME": str(home), "ANSIBLE_COLLECTIONS_PATH": str(copy.parents[2]), "ANSIBLE_CONFIG": no_config()}
    # The interpreter's own folder comes first: a shim of that name on PATH may not run.
    own = os.path.dirname(os.path.realpath(ready(leg) / "bin" / "python"))
    more["PATH"] = os.pathsep.join(filter(None, [str(ready(leg) / "bin"), path, own, os.environ.get("PATH", os.defpath)]))
    config = pathlib.Path(os.path.expanduser("~")) / ".config" / "pip" / "pip.conf"
    if config.is_file() and "PIP_CONFIG_FILE" not in os.environ:
        more["PIP_CONFIG_FILE"] = str(config)
    return check.command(what, ["ansible-test", *arguments], leg=leg, cwd=copy, timeout=1800, **more)


# ---------------------------------------------------------------------------------------------------------------------
# Steps, quick ones first


@step("ruff")
def ruff(check: Check) -> None:
    check.command("ruff check", ["ruff", "check", "--no-cache", "."])


@step("yamllint")
def yamllint(check: Check) -> None:
    check.command("yamllint", ["yamllint", "--strict", "."])


@step("changelog")
def changelog(check: Check) -> None:
    check.command("antsibull-changelog lint", ["antsibull-changelog", "lint"])


@step("docs")
def docs(check: Check) -> None:
    for problem in doclint.problems(ROOT, tracked()):
        check.expect("documentation", False, problem)
    check.expect("links, commands and variables in the documentation", True)
    extra = {"gpuops_capture": str(SAMPLE), "gpuops_gpu_hour_price": float(env.SAMPLE_PRICE)}
    told = check.command("the sample", ["ansible-playbook", "diagnose.yml", "-l", SAMPLE_NODE, "-e", json.dumps(extra)])
    readme = excerpt.README.read_text("utf-8")
    shown = told.rc == 0 and "<!-- excerpt -->" in readme and excerpt.written(readme, told.out) == readme
    check.expect("README.md shows what the sample says", shown, "it does not; make readme puts it right")
    copy = tree("docs", OLD)
    command = ["antsibull-docs", "lint-collection-docs", "--plugin-docs", "--skip-rstcheck", copy]
    check.command("antsibull-docs", command, ANSIBLE_COLLECTIONS_PATH=str(copy.parents[2]))


@step("lint")
def lint(check: Check) -> None:
    copy = tree("lint", OLD)
    # A fresh repository, so that the linter sees the same files as we do.
    subprocess.run(["git", "init", "-q", "."], cwd=copy, check=True)
    more = {"ANSIBLE_COLLECTIONS_PATH": str(copy.parents[2]), "ANSIBLE_CONFIG": no_config()}
    more["ANSIBLE_HOME"] = str(copy.parents[2] / "home")
    check.command("ansible-lint, production profile", ["ansible-lint", "--offline", "--strict", "--nocolor"], cwd=copy, **more)


def unit(check: Check, leg: str) -> None:
    check.pytest(["-n", "2", "tests/unit"], leg)


@step("unit-2.19")
def unit_old(check: Check) -> None:
    unit(check, OLD)


@step("unit-2.21")
def unit_new(check: Check) -> None:
    unit(check, NEW)


@step("integration-2.19")
def integration_old(check: Check) -> None:
    check.pytest(["tests/integration"], OLD)


@step("integration-2.21")
def integration_new(check: Check) -> None:
    check.pytest(["tests/integration"], NEW)


# ansible-doc's word for the folder of a plugin type
DOC_TYPES = {"modules": "module"}
UNDOCUMENTED = {"action", "module_utils", "plugin_utils", "doc_fragments"}


@step("ansible-doc")
def ansible_doc(check: Check) -> None:
    for leg in legs(check):
        for folder in sorted((ROOT / "plugins").iterdir()):
            if not folder.is_dir() or folder.name in UNDOCUMENTED:
                continue
            kind = DOC_TYPES.get(folder.name, folder.name)
            names = sorted({path.stem for path in folder.iterdir() if path.suffix in (".py", ".yml") and not path.stem.startswith("_")})
            for name in names:
                done = check.run(["ansible-doc", "-t", kind, "--json", f"gpuops.node.{name}"], leg=leg)
                check.expect(
                    f"ansible-doc -t {kind} gpuops.node.{name}", done.rc == 0 and '"short_description"' in done.out, tail(done.out)
                )
        for role in sorted(path.parent.parent.name for path in (ROOT / "roles").glob("*/tasks/main.yml")):
            done = check.run(["ansible-doc", "-t", "role", f"gpuops.node.{role}"], leg=leg)
            check.expect(f"ansible-doc -t role gpuops.node.{role}", done.rc == 0 and "ENTRY POINT: " in done.out, tail(done.out))


def build(check: Check, folder: pathlib.Path) -> pathlib.Path | None:
    """The collection as it would be published."""
    source = tree("source", OLD, without=())
    metadata = source / "galaxy.yml"
    if "\nrepository:" not in metadata.read_text("utf-8"):
        # Galaxy takes no collection without one, and its importer says nothing else then.
        metadata.write_text(metadata.read_text("utf-8") + "repository: https://example.com/gpuops.node\n", "utf-8")
    done = check.command("ansible-galaxy collection build", ["ansible-galaxy", "collection", "build", "--output-path", folder, source])
    found = sorted(folder.glob("gpuops-node-*.tar.gz"))
    return found[0] if done.rc == 0 and found else None


# What an installed collection is made of; anything else in the archive is a mistake.
SHIPPED = re.compile(
    r"(plugins|roles|playbooks|meta|docs|changelogs|extensions|tests/(config\.yml|sanity(/.*)?))(/|$)|tests/?$|[A-Z_]+(\.(md|rst|json))?$"
)


def narration_of(output: str) -> str:
    """What the play told, without the words of Ansible around it."""
    return "\n".join(line for line in output.splitlines() if not line.startswith(("PLAY", "TASK", "ok:", "skipping:", "[WARNING]")))


@step("package")
def package(check: Check) -> None:
    folder = work("package")
    archive = build(check, folder)
    if archive is None:
        return
    with tarfile.open(archive) as stream:
        names = stream.getnames()
    strange = [name for name in names if not SHIPPED.match(name)]
    check.expect("the archive holds only what an installed collection needs", not strange, ", ".join(strange[:10]))
    size = archive.stat().st_size
    check.expect("the archive is under 2 MiB", size < 2 << 20, f"{size:,} bytes")

    elsewhere = work("elsewhere")
    for leg in legs(check):
        clean = work(f"clean-{leg}")
        install = ["ansible-galaxy", "collection", "install", archive, "--offline", "-p", clean]
        plain = {"ANSIBLE_CONFIG": no_config(), "ANSIBLE_COLLECTIONS_PATH": str(clean)}
        check.command(f"offline installation ({leg})", install, leg=leg, cwd=elsewhere, **plain)
        extra = ["-l", SAMPLE_NODE, "-e", json.dumps({"gpuops_capture": str(SAMPLE), "gpuops_gpu_hour_price": 2.5})]
        hosts = ["-i", SAMPLE_NODE + ","]
        by_name = check.command(
            f"installed, by full name, from another directory ({leg})",
            ["ansible-playbook", "gpuops.node.diagnose", *hosts, *extra],
            leg=leg,
            cwd=elsewhere,
            **plain,
        )
        checkout = check.command(f"checkout, from its root ({leg})", ["ansible-playbook", "playbooks/diagnose.yml", *extra], leg=leg)
        bare = {"ANSIBLE_CONFIG": no_config(), "ANSIBLE_COLLECTIONS_PATH": str(elsewhere)}
        by_path = check.command(
            f"checkout, by path, from another directory ({leg})",
            ["ansible-playbook", ROOT / "playbooks" / "diagnose.yml", *hosts, *extra],
            leg=leg,
            cwd=elsewhere,
            **bare,
        )
        linked = {"ANSIBLE_CONFIG": no_config(), "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections")}
        by_link = check.command(
            f"checkout, by full name, from another directory ({leg})",
            ["ansible-playbook", "gpuops.node.diagnose", *hosts, *extra],
            leg=leg,
            cwd=elsewhere,
            **linked,
        )
        told = {narration_of(done.out) for done in (by_name, checkout, by_path, by_link)}
        check.expect(
            f"the same words in all four ways ({leg})", len(told) == 1 and "ROOT" in by_name.out, f"{len(told)} different narrations"
        )


@step("galaxy")
def galaxy(check: Check) -> None:
    folder = work("galaxy")
    archive = build(check, folder)
    if archive is None:
        return
    config = folder / "galaxy-importer.cfg"
    config.write_text(
        "[galaxy-importer]\nRUN_ANSIBLE_TEST = False\nCHECK_REQUIRED_TAGS = True\nCHECK_CHANGELOG = True\nRUN_ANSIBLE_LINT = False\n",
        "utf-8",
    )
    # The importer looks at an installed collection, so it must not find the checkout first.
    more = {"GALAXY_IMPORTER_CONFIG": str(config), "ANSIBLE_COLLECTIONS_PATH": str(folder), "ANSIBLE_CONFIG": no_config()}
    done = check.command("galaxy-importer", ["python", "-m", "galaxy_importer.main", archive], cwd=folder, **more)
    bad = [line for line in done.out.splitlines() if re.match(r"(WARNING|ERROR|CRITICAL)", line)]
    check.expect(
        "galaxy-importer has nothing to say",
        not bad and "Importer processing completed successfully" in done.out,
        "; ".join(bad[:5]) or tail(done.out),
    )


@step("ee")
def execution_environment(check: Check) -> None:
    copy = tree("ee", OLD)
    done = check.command("ansible-builder introspect", ["ansible-builder", "introspect", "--sanitize", copy.parents[2]])
    check.expect("its Python dependencies are found", "kubernetes" in done.out, tail(done.out))


@step("awx")
def awx(check: Check) -> None:
    """The checkout as an AWX project: the commands of a project update, then a job."""
    top = work("awx")
    project = top / "project"
    for file in tracked():
        target = project / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / file, target, follow_symlinks=False)
    installed = top / "requirements_collections"
    install = ["ansible-galaxy", "collection", "install", "--offline", "-r", "collections/requirements.yml", "-p", installed]
    check.command(
        "project update", install, cwd=project, ANSIBLE_CONFIG=str(project / "ansible.cfg"), ANSIBLE_COLLECTIONS_PATH=str(installed)
    )
    job = top / "job"
    (job / "env").mkdir(parents=True)
    (job / "inventory").mkdir()
    (job / "inventory" / "hosts").write_text(f"{SAMPLE_NODE}\n", "utf-8")
    (job / "project").symlink_to(project)
    capture = project / SAMPLE.relative_to(ROOT)
    extra = {"gpuops_capture": str(capture), "gpuops_gpu_hour_price": "2.50", "awx_job_id": 1}
    (job / "env" / "extravars").write_text(json.dumps(extra), "utf-8")
    variables = {"ANSIBLE_COLLECTIONS_PATH": str(installed), "ANSIBLE_FORCE_COLOR": "1", "NO_COLOR": ""}
    (job / "env" / "envvars").write_text(json.dumps(variables), "utf-8")
    done = check.command(
        "job", ["ansible-runner", "run", job, "-p", "playbooks/diagnose.yml", "--limit", SAMPLE_NODE, "--ident", "1"], ANSIBLE_CONFIG=""
    )
    artifacts = job / "artifacts" / "1"
    events = [json.loads(path.read_text("utf-8")) for path in sorted(artifacts.glob("job_events/*.json"))]
    printed = [event["stdout"] for event in events if "ROOT" in event.get("stdout", "")]
    check.expect(
        "the narration is an event of its own, without colour",
        len(printed) == 1 and "\x1b[" not in printed[0],
        f"{len(printed)} events: {printed[:1]}",
    )
    stats = [event["event_data"].get("artifact_data", {}) for event in events if event.get("event") == "playbook_on_stats"]
    summary = stats[0].get("gpuops_summary", {}) if stats else {}
    check.expect("the job passes its summary on", summary.get("failed") == [SAMPLE_NODE], f"{stats}")
    check.expect("the job ends well", (artifacts / "rc").read_text("utf-8").strip() == "0", tail(done.out))


@step("sanity-2.19")
def sanity_old(check: Check) -> None:
    ansible_test(
        check, "ansible-test sanity", OLD, tree("sanity-2.19", OLD), ["sanity", "--local", "--python", python_version(OLD), "--color", "no"]
    )


@step("sanity-2.21")
def sanity_new(check: Check) -> None:
    ansible_test(
        check, "ansible-test sanity", NEW, tree("sanity-2.21", NEW), ["sanity", "--local", "--python", python_version(NEW), "--color", "no"]
    )


@step("host-python")
def host_python(check: Check) -> None:
    """What travels to a GPU host compiles and imports under the oldest Python that may be there."""
    for version in HOST_PYTHONS:
        found = env.find_python(version)
        if not found:
            check.skip(f"host code on Python {version}", f"no Python {version} on this machine")
            continue
        arguments = ["sanity", "--local", "--python", version, "--test", "compile", "--test", "import", "--color", "no"]
        ansible_test(check, f"host code on Python {version}", OLD, tree("host-python", OLD), arguments, path=os.path.dirname(found))


@step("units-ansible-test")
def units_ansible_test(check: Check) -> None:
    """The unit tests as ansible-test runs them: host code apart from what may use the controller's own.

    The judges' tests are left to pytest above: they are the same there, they are many, and nothing about them depends
    on how they are started.
    """
    copy = tree("units", OLD, without=())
    # As installed: at a galaxy.yml pytest-ansible would take the tree for a checkout, and put its own paths first.
    version = re.search(r"^version: (\S+)", (copy / "galaxy.yml").read_text("utf-8"), re.MULTILINE)
    (copy / "MANIFEST.json").write_text(json.dumps({"collection_info": {"version": version[1] if version else ""}}), "utf-8")
    (copy / "galaxy.yml").unlink()
    parts = [f"tests/unit/plugins/{part}/" for part in ("action", "inventory", "module_utils")]
    arguments = ["units", "--local", "--python", python_version(OLD), "--color", "no", *parts]
    done = ansible_test(check, "ansible-test units", OLD, copy, arguments)
    counts = [int(number) for number in re.findall(r"^=+ (\d+) passed", done.out, re.MULTILINE)]
    check.expect("it ran tests of the host and of the controller", len(counts) == 2, f"{len(counts)} runs: {tail(done.out)}")
    check.passed += sum(counts)


def best(check: Check, command: t.Sequence[t.Any], times: int = 3) -> float:
    runs = [check.run(command) for _count in range(times)]
    for done in runs:
        if done.rc:
            check.expect(" ".join(map(str, command[:2])), False, tail(done.out))
    return min(done.seconds for done in runs)


@step("speed")
def speed(check: Check) -> None:
    """The promises about time."""
    make = ["make", "--no-print-directory", "-C", ROOT, "diagnose"]
    with contextlib.ExitStack() as stack:
        cold_cache = work("cold")
        stack.callback(shutil.rmtree, cold_cache, True)
        cold = check.run(make, XDG_CACHE_HOME=str(cold_cache))
        check.expect(
            "make diagnose, nothing set up yet, under 90 s",
            cold.rc == 0 and cold.seconds < 90,
            f"{cold.seconds:.1f} s, status {cold.rc}: {tail(cold.out)}",
        )
        warm = check.run(make, XDG_CACHE_HOME=str(cold_cache))
        check.expect(
            "make diagnose again under 15 s",
            warm.rc == 0 and warm.seconds < 15,
            f"{warm.seconds:.1f} s, status {warm.rc}: {tail(warm.out)}",
        )
    empty = work("empty") / "empty.yml"
    empty.write_text("- hosts: all\n  gather_facts: false\n  tasks: []\n", "utf-8")
    extra = ["-l", SAMPLE_NODE, "-e", json.dumps({"gpuops_capture": str(SAMPLE)})]
    nothing = best(check, ["ansible-playbook", empty, *extra])
    one = best(check, ["ansible-playbook", ROOT / "playbooks" / "diagnose.yml", *extra])
    check.note(f"make diagnose: cold {cold.seconds:.1f} s, warm {warm.seconds:.1f} s; empty playbook {nothing:.2f} s; one node {one:.2f} s")
    check.expect(
        "one node: at most 1.5 times an empty playbook, and a second", one <= 1.5 * nothing + 1, f"{one:.2f} s against {nothing:.2f} s"
    )


# ---------------------------------------------------------------------------------------------------------------------


def chosen(wanted: t.Sequence[str]) -> list[str]:
    unknown = [name for name in wanted if not any(step_name.startswith(name) for step_name in STEPS)]
    if unknown:
        raise SystemExit(f"No step is called {', '.join(unknown)}. The steps: {' '.join(STEPS)}")
    return [name for name in STEPS if not wanted or name.startswith(tuple(wanted))]


def main(arguments: t.Sequence[str]) -> int:
    if "--list" in arguments:
        print("\n".join(STEPS))
        return 0
    names = chosen(arguments)
    started = time.monotonic()
    try:
        ready(OLD)  # without it nothing can be told
    except env.EnvError as error:
        raise SystemExit(f"gpuops.node: {error}") from None
    passed, failed, skipped = 0, [], []
    for name in names:
        check = Check(name)
        began = time.monotonic()
        print(f"{name:<20}", end="", flush=True)
        try:
            STEPS[name](check)
        except env.NoPython as error:
            check.skip(name, str(error))
        except Exception as error:  # a step that breaks must not hide the others
            check.expect(name, False, f"{type(error).__name__}: {error}")
        seconds = time.monotonic() - began
        words = (
            f"{check.passed} passed"
            + (f", {len(check.failed)} FAILED" if check.failed else "")
            + (f", {len(check.skipped)} skipped" if check.skipped else "")
        )
        print(f"{seconds:7.1f} s   {words}", flush=True)
        for line in check.failed:
            print("    " + line.replace("\n", "\n      ")[:2000])
        if check.failed:
            print(f"    The whole output: {check.log.relative_to(ROOT)}")
        passed += check.passed
        failed += check.failed
        skipped += [f"{name}: {line}" for line in check.skipped]
    if skipped:
        print("\nNot run:")
        for line in skipped:
            print("  " + line)
    print(f"\n{time.monotonic() - started:.0f} s in all")
    print(f"{passed} passed, {len(failed)} failed" + (f", {len(skipped)} skipped" if skipped else ""))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
