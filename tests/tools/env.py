# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""Python environments, made on first use and kept outside the checkout.

    env.py path NAME         make the environment if need be and print its folder
    env.py diagnose          run diagnose.yml on a capture (CAPTURE, LIMIT, PRICE, CURRENCY, REPORT in the environment)
    env.py cases             judge a folder of cases (CASES, REPORT in the environment)
    env.py check [STEP ...]  run tests and checks
    env.py readme            put what the sample says into README.md
    env.py link              make this checkout the collection that Ansible finds in the user's home
    env.py clean | distclean remove what was built; and the environments too

An environment is named after its Python and what is installed in it, so a changed requirements file or another
Python gives a new one, and two checkouts share one. Only the standard library is used, and Python 3.8 can read
this file: the sentence that says "too old" must not be a syntax error.
"""

import contextlib
import fcntl
import glob
import hashlib
import json
import locale
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
REQUIREMENTS = ROOT / "tests" / "requirements"
SAMPLE = ROOT / "tests" / "cases" / "samples" / "overnight-kernel-update"
SAMPLE_NODE = "gpu-17"
SAMPLE_PRICE = "2.50"

# Which Pythons each environment runs on, best first.
PYTHONS = {
    "diagnose": ("3.11", "3.12", "3.13", "3.14"),
    "core-2.19": ("3.11", "3.12", "3.13"),
    "core-2.21": ("3.13", "3.12", "3.14"),
}


class EnvError(Exception):
    """No environment can be made; the text says why and what to do."""


class NoPython(EnvError):
    """This machine has no Python that would do."""


def cache_dir():
    """Where everything that is not source is kept."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return pathlib.Path(base) / "gpuops-node"


def say(text):
    print(text, file=sys.stderr, flush=True)


# ---------------------------------------------------------------------------------------------------------------------
# Finding a Python


def _candidates(version):
    """Paths that may be this Python, likeliest first. A name on PATH can be a shim that does not run."""
    name = "python" + version
    if "{}.{}".format(*sys.version_info[:2]) == version:
        yield sys.executable
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        if folder:
            yield os.path.join(folder, name)
    home = os.path.expanduser("~")
    for pattern in (
        os.path.join(os.environ.get("PYENV_ROOT") or os.path.join(home, ".pyenv"), "versions", version + ".*", "bin", name),
        os.path.join(home, ".local", "share", "uv", "python", "cpython-" + version + ".*", "bin", name),
        os.path.join("/opt", "*", "bin", name),
        os.path.join("/usr/local/bin", name),
        os.path.join("/usr/bin", name),
    ):
        yield from sorted(glob.glob(pattern), reverse=True)


_PROBE = "import sys, ssl, venv; print('%d.%d' % sys.version_info[:2]); print(sys.base_prefix)"


def _works(path, version):
    """The interpreter behind a path, when it is the version asked for and complete; else None."""
    if not (os.path.isfile(path) and os.access(path, os.X_OK)):
        return None
    try:
        out = subprocess.run([path, "-I", "-c", _PROBE], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = out.stdout.decode("utf-8", "replace").splitlines()
    if out.returncode or len(lines) != 2 or lines[0] != version:
        return None
    # Inside a virtual environment: the Python it was made from outlives it.
    base = os.path.join(lines[1], "bin", "python" + version)
    return base if os.access(base, os.X_OK) else path


def find_python(version):
    seen = set()
    for path in _candidates(version):
        if path not in seen:
            seen.add(path)
            found = _works(path, version)
            if found:
                return found
    return None


def install_python(version):
    """Install this Python from the system's packages, where we may and it has it; else None."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return None
    name = "python" + version
    policy = subprocess.run(["apt-cache", "policy", name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    # apt takes a name it does not know for a pattern, and answers about other packages.
    if not re.match(re.escape(name).encode() + rb":\n.*\n +Candidate: (?!\(none\))", policy.stdout):
        return None
    say(f"Installing {name} from the system's packages ...")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stdin": subprocess.DEVNULL}
    subprocess.run(["apt-get", "install", "-y", "--no-install-recommends", name, name + "-venv"], check=False, **quiet)
    return find_python(version)


def python_for(name, install=False):
    """The best Python for an environment. Raises EnvError with the reason when there is none."""
    mine = "{}.{}".format(*sys.version_info[:2])
    # Nothing to search for when this Python will do; the tests want a particular one.
    for version in sorted(PYTHONS[name], key=lambda version: version != mine) if name == "diagnose" else PYTHONS[name]:
        found = find_python(version)
        if found:
            return version, found
    if install:
        for version in PYTHONS[name]:
            found = install_python(version)
            if found:
                return version, found
    wanted = PYTHONS[name]
    raise NoPython(
        "no Python {} is on this machine (this is {}.{}). Install one of them, for example with your system's "
        "packages, and run the command again.".format(" or ".join(sorted(wanted)), *sys.version_info[:2])
    )


# ---------------------------------------------------------------------------------------------------------------------
# Making an environment


def requirement_files(path):
    """A requirements file and the ones it names."""
    found = [path]
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("-r "):
            found += requirement_files(path.parent / line[3:].strip())
    return found


@contextlib.contextmanager
def _locked(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def _run(command, log):
    """Run quietly; the output goes to a log, its end into the error."""
    with open(log, "a", encoding="utf-8") as stream:
        stream.write("$ {}\n".format(" ".join(map(str, command))))
        stream.flush()
        rc = subprocess.run(
            [str(part) for part in command], stdout=stream, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, check=False
        ).returncode
    if rc:
        tail = [line for line in log.read_text("utf-8", "replace").splitlines() if line.strip()][-6:]
        raise EnvError("{} failed:\n  {}\nThe whole output is in {}.".format(" ".join(map(str, command[:4])), "\n  ".join(tail), log))


def _venv(python, folder, log):
    """A virtual environment and the command that installs into it."""
    try:
        _run([python, "-m", "venv", folder], log)
        return [folder / "bin" / "python", "-m", "pip"]
    except EnvError as error:
        first = error
    # Debian ships Python without ensurepip: another pip can fill the environment, or the package brings it.
    shutil.rmtree(folder, ignore_errors=True)
    has_pip = subprocess.run([python, "-m", "pip", "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    if has_pip.returncode == 0:
        _run([python, "-m", "venv", "--without-pip", folder], log)
        return [python, "-m", "pip", "--python", folder / "bin" / "python"]
    version = os.path.basename(python)
    package = version + "-venv" if version[-1].isdigit() and "." in version else "python3-venv"
    if os.geteuid() == 0 and shutil.which("apt-get"):
        say(f"Installing {package} from the system's packages ...")
        environ = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
        for command in (["apt-get", "update"], ["apt-get", "install", "-y", "--no-install-recommends", package]):
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environ, check=False)
        _run([python, "-m", "venv", folder], log)
        return [folder / "bin" / "python", "-m", "pip"]
    raise EnvError(f"{python} cannot make a virtual environment. Install the package {package} and run the command again.\n{first}")


def ensure(name, install=False):
    """The folder of an environment, made when it is not there yet."""
    version, python = python_for(name, install)
    files = requirement_files(REQUIREMENTS / (name + ".txt"))
    digest = hashlib.sha256(b"\0".join([python.encode()] + [path.read_bytes() for path in files])).hexdigest()[:12]
    folder = cache_dir() / f"venv-{name}-py{version}-{digest}"
    stamp = folder / ".complete"

    def whole():
        # An environment that was moved is broken: its scripts name the old place.
        return stamp.is_file() and stamp.read_text("utf-8") == str(folder) and (folder / "bin" / "python").exists()

    if whole():
        return folder
    with _locked(cache_dir() / (folder.name + ".lock")):
        if whole():
            return folder
        started = time.monotonic()
        say(f"Setting up {name} (Python {version}) in {folder} ...")
        shutil.rmtree(folder, ignore_errors=True)
        log = cache_dir() / (folder.name + ".log")
        log.write_text("", "utf-8")
        pip = _venv(python, folder, log)
        quiet = ["--quiet", "--disable-pip-version-check", "--no-input"]
        _run([*pip, "install", *quiet, "-r", files[0]], log)
        stamp.write_text(str(folder), "utf-8")
        say(f"... done in {time.monotonic() - started:.0f} s.")
    return folder


def environ(folder, **more):
    """The environment variables under which Ansible runs from this checkout."""
    env = dict(os.environ)
    env["PATH"] = os.pathsep.join([str(folder / "bin"), env.get("PATH", os.defpath)])
    env["VIRTUAL_ENV"] = str(folder)
    # The link in collections/ makes the checkout the collection, by path and by full name, from any directory.
    env["ANSIBLE_COLLECTIONS_PATH"] = str(ROOT / "collections")
    env["ANSIBLE_CONFIG"] = str(ROOT / "ansible.cfg")
    env.pop("PYTHONHOME", None)
    if "utf" not in locale.getpreferredencoding(False).lower():
        env["LC_ALL"] = "C.UTF-8"  # Ansible starts under no other kind
    env.update(more)
    return env


# ---------------------------------------------------------------------------------------------------------------------
# What make calls


def from_caller(path):
    """A path that the user gave; a relative one counts from where make was called."""
    return str(pathlib.Path(os.environ.get("GPUOPS_CALLER_DIR") or os.getcwd(), os.path.expanduser(path)))


def diagnose_command(folder, given):
    """The command line for what the user said."""
    capture = given.get("CAPTURE")
    extra = {"gpuops_capture": from_caller(capture) if capture else str(SAMPLE)}
    price = given.get("PRICE") or ("" if capture else SAMPLE_PRICE)
    if price:
        extra["gpuops_gpu_hour_price"] = price
    if given.get("CURRENCY"):
        extra["gpuops_currency"] = given["CURRENCY"]
    if given.get("REPORT"):
        extra["gpuops_report_dir"] = from_caller(given["REPORT"])
    command = [str(folder / "bin" / "ansible-playbook"), str(ROOT / "diagnose.yml")]
    command += ["-i", str(ROOT / "inventory" / "gpuops_capture.yml"), "-e", json.dumps(extra)]
    limit = given.get("LIMIT") or ("" if capture else SAMPLE_NODE)
    return command + (["-l", limit] if limit else [])


def diagnose():
    folder = ensure("diagnose")
    command = diagnose_command(folder, os.environ)
    os.execve(command[0], command, environ(folder))


def cases():
    if not os.environ.get("CASES"):
        raise EnvError("name the folder of cases: make cases CASES=DIR REPORT=out.json")
    folder = ensure("diagnose")
    command = [str(folder / "bin" / "python"), str(ROOT / "tests" / "tools" / "cases.py"), from_caller(os.environ["CASES"])]
    if os.environ.get("REPORT"):
        command += ["--report", from_caller(os.environ["REPORT"])]
    os.execve(command[0], command, environ(folder, PYTHONPATH=str(ROOT / "collections")))


def check(steps):
    folder = ensure("core-2.19", install=True)
    command = [str(folder / "bin" / "python"), str(ROOT / "tests" / "tools" / "check.py"), *steps]
    os.execve(command[0], command, environ(folder))


def readme():
    folder = ensure("diagnose")
    command = [str(folder / "bin" / "python"), str(ROOT / "tests" / "tools" / "excerpt.py")]
    os.execve(command[0], command, environ(folder, ANSIBLE_FORCE_COLOR="0", ANSIBLE_NOCOLOR="1"))


def link():
    """A link in the user's collections; whatever else is there stays."""
    place = pathlib.Path(os.path.expanduser("~")) / ".ansible" / "collections" / "ansible_collections" / "gpuops" / "node"
    if place.is_symlink() and place.resolve() == ROOT:
        say(f"{place} already leads here.")
        return
    if place.is_symlink() or place.exists():
        raise EnvError(f"{place} is there already and is not this checkout. Remove it and run the command again.")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(ROOT)
    say(f"{place} -> {ROOT}\nansible-playbook gpuops.node.diagnose now works from any directory.")


def clean(environments):
    remove = [ROOT / "tests" / "output", *ROOT.glob("gpuops-node-*.tar.gz")]
    remove += [ROOT / name for name in (".ansible", ".hypothesis", ".pytest_cache", ".ruff_cache")]
    remove += [path for path in ROOT.rglob("__pycache__") if "collections" not in path.relative_to(ROOT).parts]
    remove += [cache_dir()] if environments else list(cache_dir().glob("work-*"))
    for path in remove:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        elif path.exists():
            path.unlink()


def main(arguments):
    actions = {
        "diagnose": diagnose,
        "cases": cases,
        "link": link,
        "readme": readme,
        "clean": lambda: clean(False),
        "distclean": lambda: clean(True),
    }
    try:
        if arguments[:1] == ["path"] and len(arguments) == 2 and arguments[1] in PYTHONS:
            print(ensure(arguments[1]))
        elif arguments[:1] == ["check"]:
            check(arguments[1:])
        elif len(arguments) == 1 and arguments[0] in actions:
            actions[arguments[0]]()
        else:
            say(__doc__)
            return 2
    except EnvError as error:
        say(f"gpuops.node: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
