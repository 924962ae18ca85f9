# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""What the parsers of all layers share: outcomes of a look, lines, times, redaction, bounding of kernel logs.

Everything here is pure. Logs come from anywhere and may be large or odd, so nothing here backtracks: regular
expressions see one line, cut to L(MATCH_LIMIT), and every quantifier in them is bounded or unambiguous.
"""

from __future__ import annotations

import json
import re
import time
import typing as t

# How a look ended; the same words as plugin_utils/evidence.py, which cannot be imported on a GPU host.
SEEN = "seen"
ABSENT = "absent"
DENIED = "denied"
FAILED = "failed"
TIMED_OUT = "timed_out"
NOT_LOOKED = "not_looked"
OUTCOMES = (SEEN, ABSENT, DENIED, FAILED, TIMED_OUT, NOT_LOOKED)

MATCH_LIMIT = 4096  # a log line longer than this is matched by its head only
QUOTE_LIMIT = 2000  # longest line kept for quoting

# ------------------------------------------------------------------------------------------------ lines

_ANSI = re.compile(r"\x1b\[[0-9;?]{0,16}[A-Za-z]")
# Line ends of str.splitlines() besides "\n": with one of them in the text, line numbers must be counted its way.
_ODD_ENDS = ("\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029")


def text_of(text: t.Any) -> str:
    """Any input as text without colour codes and byte order mark."""
    if text is None:
        return ""
    if isinstance(text, (bytes, bytearray)):
        text = bytes(text).decode("utf-8", "replace")
    elif not isinstance(text, str):
        text = str(text)
    if text.startswith("\ufeff"):
        text = text[1:]
    return _ANSI.sub("", text) if "\x1b" in text else text


def _odd(text: str) -> bool:
    return text.count("\r") != text.count("\r\n") or any(end in text for end in _ODD_ENDS)


def numbered(text: str) -> t.Iterator[tuple[int, str]]:
    """(1-based line number, line without its end), counted as str.splitlines() counts but without a copy of the whole."""
    if _odd(text):
        yield from enumerate(text.splitlines(), 1)
        return
    start, number, size = 0, 1, len(text)
    while start < size:
        end = text.find("\n", start)
        if end < 0:
            end = size
        line = text[start:end]
        yield number, line[:-1] if line.endswith("\r") else line
        start, number = end + 1, number + 1


def lines_of(text: str) -> t.Iterator[str]:
    for _number, line in numbered(text):
        yield line


def grep(text: str, words: t.Iterable[str]) -> t.Iterator[tuple[int, str]]:
    """(line number, line) of every line that holds one of the words. Much faster than looking at each line of a large log."""
    words = tuple(words)
    if _odd(text):
        for number, line in enumerate(text.splitlines(), 1):
            if any(word in line for word in words):
                yield number, line
        return
    following = {word: text.find(word) for word in words}
    number, counted = 1, 0
    while True:
        hits = [position for position in following.values() if position >= 0]
        if not hits:
            return
        hit = min(hits)
        start = text.rfind("\n", 0, hit) + 1
        end = text.find("\n", hit)
        if end < 0:
            end = len(text)
        number += text.count("\n", counted, start)
        counted = start
        line = text[start:end]
        yield number, line[:-1] if line.endswith("\r") else line
        for word, position in following.items():
            if 0 <= position < end:
                following[word] = text.find(word, end)


def quote(line: str) -> str:
    """The exact line as it may be quoted: only its end, and what is beyond any reader, is cut."""
    line = line.rstrip()
    return line if len(line) <= QUOTE_LIMIT else line[:QUOTE_LIMIT] + "..."


def head(line: str) -> str:
    return line if len(line) <= MATCH_LIMIT else line[:MATCH_LIMIT]


_PROMPT = re.compile(r"^\s{0,8}(?:\[[^\]]{1,80}\]|\(?[\w.@:~/()-]{0,80} ?)[$#]\s{1,4}(\S.*)$")


def prompt_command(line: str) -> str | None:
    """The command of a pasted shell line (C(root@gpu:~# uname -r)), else None. A comment of a configuration file looks the same."""
    match = _PROMPT.match(head(line))
    return match.group(1).rstrip() if match else None


def _small_int(digits: str) -> int:
    # Numbers of thousands of digits cost seconds to convert and mean nothing here.
    return int(digits) if len(digits) <= 20 else 0


def load_json(text: str) -> t.Any:
    """JSON or ValueError with one sentence; never another exception."""
    try:
        return json.loads(text, parse_int=_small_int)
    except RecursionError:
        raise ValueError("nested too deeply") from None


# ------------------------------------------------------------------------------------------------ times

_MONTHS = {name: number for number, name in enumerate("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), 1)}
_MON = "|".join(_MONTHS)
_CLOCK = r"([0-2]\d):([0-5]\d):([0-6]\d)"
_ZONE = r"(Z|UTC|GMT|[+-][01]\d:?[0-5]\d)(?![\w:])"
# 2024-05-01T10:00:00.5Z, 2024-05-01 10:00:00,123 +0200, Fri 2024-05-03 10:00:00 UTC
_T_ISO = re.compile(r"(?<!\d)((?:19|20)\d\d)-([01]\d)-([0-3]\d)[T ]" + _CLOCK + r"(?:[.,]\d{1,9})?(?: ?" + _ZONE + ")?")
# Fri Mar 22 21:33:48 2024, Fri Mar 22 21:33:48 UTC 2024
_T_CTIME = re.compile(
    r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (" + _MON + r") {1,2}([0-3]?\d) " + _CLOCK + r"(?: ([A-Z]{1,5}|[+-]\d{4}))? ((?:19|20)\d\d)(?!\d)"
)
# Wed 01 May 2024 03:00:01 AM UTC
_T_DNF = re.compile(
    r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) ([0-3]?\d) (" + _MON + r") ((?:19|20)\d\d) " + _CLOCK + r"(?: ([AP]M))?(?: ([A-Z]{1,5}|[+-]\d{2,4}))?"
)
_T_GO = re.compile(r"(?<!\d)((?:19|20)\d\d)/([01]\d)/([0-3]\d) " + _CLOCK)
_T_EPOCH = re.compile(r"(?:^\s{0,8}|\"ts\":)(1(?:\.\d{4,18}e\+09|\d{9}(?:\.\d{1,9})?))(?![\w.])")
_T_KLOG = re.compile(r"(?<!\w)[IWEF]([01]\d)([0-3]\d) " + _CLOCK + r"\.\d{1,9}")
_T_SYSLOG = re.compile(r"(?<![A-Za-z])(" + _MON + r") {1,2}([0-3]?\d) " + _CLOCK)
_STAMP_WITHIN = 64  # a stamp starts this early in a line; a date further right belongs to the message


def _zone(text: str | None) -> str:
    if not text:
        return ""
    if text in ("Z", "UTC", "GMT"):
        return "Z"
    if text[0] in "+-" and len(text) >= 5:
        return text if text[3] == ":" else text[:3] + ":" + text[3:5]
    return ""  # CEST and the like: the offset is not known from the name


def _joined(year: str | None, month: int, day: int, clock: tuple[str, str, str], zone: str = "") -> str | None:
    if not (1 <= month <= 12 and 1 <= day <= 31 and int(clock[0]) <= 23):
        return None
    date = f"{month:02d}-{day:02d}T{':'.join(clock)}"
    return f"{year}-{date}{zone}" if year else date


def _iso(match: t.Any) -> str | None:
    year, month, day, hour, minute, second, zone = match.groups()
    return _joined(year, int(month), int(day), (hour, minute, second), _zone(zone))


def _ctime(match: t.Any) -> str | None:
    month, day, hour, minute, second, zone, year = match.groups()
    return _joined(year, _MONTHS[month], int(day), (hour, minute, second), _zone(zone))


def _dnf(match: t.Any) -> str | None:
    day, month, year, hour, minute, second, half, zone = match.groups()
    if half:
        hour = f"{int(hour) % 12 + (12 if half == 'PM' else 0):02d}"
    return _joined(year, _MONTHS[month], int(day), (hour, minute, second), _zone(zone))


def _go(match: t.Any) -> str | None:
    year, month, day, hour, minute, second = match.groups()
    return _joined(year, int(month), int(day), (hour, minute, second))


def _epoch(match: t.Any) -> str | None:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(float(match.group(1)))))


def _klog(match: t.Any) -> str | None:
    month, day, hour, minute, second = match.groups()
    return _joined(None, int(month), int(day), (hour, minute, second))


def _syslog(match: t.Any) -> str | None:
    month, day, hour, minute, second = match.groups()
    return _joined(None, _MONTHS[month], int(day), (hour, minute, second))


_STAMPS = (
    (_T_ISO, _iso, True),
    (_T_CTIME, _ctime, True),
    (_T_DNF, _dnf, True),
    (_T_GO, _go, True),
    (_T_EPOCH, _epoch, True),
    (_T_KLOG, _klog, False),
    (_T_SYSLOG, _syslog, False),
)


def line_stamp(line: str) -> tuple[str | None, str | None]:
    """(time as printed, time normalised) of a log line; (None, None) when it carries none.

    Normalised is RFC 3339 where the line says the year (without offset where it does not say one), else
    C(MM-DDTHH:MM:SS): klog and syslog print no year. Fractions are dropped so that times compare as text.
    """
    start_of_line = line[:200]
    found: list[tuple[int, bool, str, str]] = []
    for pattern, convert, has_year in _STAMPS:
        match = pattern.search(start_of_line)
        if match and match.start() <= _STAMP_WITHIN:
            value = convert(match)
            if value:
                found.append((match.start(), has_year, match.group(0).strip(), value))
    if not found:
        return None, None
    found.sort(key=lambda item: (item[0], not item[1]))
    first = found[0]
    if not first[1]:
        # journalctl -o short-iso before klog's own stamp, or the other way round: same moment, and one knows the year.
        for other in found[1:]:
            if other[1] and other[3][5:16] == first[3][:11]:
                first = other
                break
    return first[2], first[3]


def line_time(line: str) -> str | None:
    return line_stamp(line)[1]


_T_MINUTE = re.compile(r"(?<![A-Za-z])(" + _MON + r") {1,2}([0-3]?\d) ([0-2]\d):([0-5]\d)(?!\d)")
_T_ISO_MINUTE = re.compile(r"(?<!\d)((?:19|20)\d\d)-([01]\d)-([0-3]\d) ([0-2]\d):([0-5]\d)(?![\d:])")


def listing_time(line: str) -> str | None:
    """The time in a line of C(ls -l) or C(who -b): Mar  1 10:00, 2024-03-01 10:00, or a full one."""
    line = head(line)
    match = _T_ISO.search(line)
    if match:
        return _iso(match)
    match = _T_ISO_MINUTE.search(line)
    if match:
        year, month, day, hour, minute = match.groups()
        return _joined(year, int(month), int(day), (hour, minute, "00"))
    match = _T_MINUTE.search(line)
    if match:
        month_name, day, hour, minute = match.groups()
        return _joined(None, _MONTHS[month_name], int(day), (hour, minute, "00"))
    return None


# ------------------------------------------------------------------------------------------------ redaction

REDACTED = "[REDACTED]"

# A name is secret when it ends in one of these words, whatever stands before: NGC_API_KEY, client-key-data, .dockerconfigjson.
_SECRET_NAME = re.compile(
    r"(?:token|secret|passw(?:or)?d|passwd|passphrase|passcode|pwd|credentials?|auth|authorization"
    r"|(?:api|access|private|secret|ssh|encryption|signing|client|account|license|master|storage|shared)[_.-]?key"
    r"|[_-]key|dockerconfigjson|dockercfg|client-certificate-data|certificate-authority-data)"
    r"(?:[_-]?(?:id|data|value|b64|base64))?$",
    re.IGNORECASE,
)
# Names that end that way and are none: a module's signing key id, a selector's key, the name of a pull secret, the working directory.
_OPEN_NAME = re.compile(
    r"(?:^|[_.-])(?:sig|pub|public|topology|label|taint|node|resource|annotation)[_.-]?key$|pull-?_?secret$|^(?:old)?pwd$|^auth-key$",
    re.IGNORECASE,
)
# "key:" alone is a taint's or a selector's key, "auth" objects hold more keys; both are told apart by their values below.
_HINT = re.compile(
    r"token|secret|passw|passphrase|passcode|pwd|credential|auth|key|dockercfg|dockerconfig|-data|bearer|://|eyj|nvapi|ghp_|github_pat|glpat"
    r"|hf_|akia|xox|k10",
    re.IGNORECASE,
)
_PLAIN_VALUES = frozenset(
    "true false null none nil yes no on off enabled disabled optional required default unknown <none> <nil> <unset> <set>"
    " {} [] - * ** *** ****".split()
)
_FILE = re.compile(
    r"^@?/(?:etc|var|usr|lib|lib64|run|home|root|opt|tmp|dev|proc|sys|boot|mnt|host|srv|snap|nix|driver-root|config|secrets?|data)(?:/|$)"
)
_NAME = re.compile(r"(?<![\w.-])(?P<name>[A-Za-z_.-][\w.-]{0,127})(?P<sep>\\{0,4}[\"']?\s{0,16}(?:=|:)\s{0,64})")
_VALUE = re.compile(r"\\{1,4}\"[^\"\\]*|\"(?:[^\"\\]|\\.)*\"?|'[^']*'?|[^\s,;}\"'][^\s,;}\"']*")
_ENV_PAIR = re.compile(
    r"(?P<head>\\{0,4}[\"']name\\{0,4}[\"']\s{0,8}:\s{0,8}\\{0,4}[\"'](?P<name>[\w.-]{1,128})\\{0,4}[\"']\s{0,8},\s{0,8}"
    r"\\{0,4}[\"']value\\{0,4}[\"']\s{0,8}:\s{0,8}\\{0,4}[\"'])(?P<value>[^\"'\\]*)"
)
_FLAG = re.compile(r"(?<!\S)(?P<head>--?(?P<name>[A-Za-z][\w-]{0,63})\s{1,4})(?P<value>[^\s-]\S*)")
_ENV_NAME = re.compile(r"^\s{0,64}(?:- )?[\"']?name[\"']?\s{0,4}:\s{0,8}[\"']?(?P<name>[\w.-]{1,128})[\"']?\s{0,4},?\s*$")
_ENV_VALUE = re.compile(r"^(?P<head>\s{0,64}(?:- )?[\"']?value[\"']?\s{0,4}:\s{0,8})(?P<value>\S.*)$")
_BLOCK = re.compile(r"^(?P<indent>\s{0,128})(?:- )?[\"']?(?P<name>[A-Za-z_.][\w.-]{0,127})[\"']?\s{0,4}:\s{0,4}[|>][+-]?\d?\s*$")
_YAML_ROW = re.compile(
    r"^(?P<head>\s{0,128}(?:- )?(?P<quote>[\"']?)(?P<name>[A-Za-z_.][\w.-]{0,127})(?P=quote)\s{0,4}:\s{1,64})(?P<value>\S.*)$"
)
_DATA = re.compile(r"^(?P<indent>\s{0,128})(?:- )?[\"']?(?:data|stringData)[\"']?\s{0,4}:\s*\{?\s*$")
_SECRET_OBJECT = re.compile(r"[\"']?kind[\"']?\s{0,4}:\s{0,4}[\"']?Secret[\"']?\s{0,4}(?:,|$)", re.MULTILINE)
# Shapes that are secret wherever they stand.
_SHAPES = (
    (re.compile(r"(?<![\w.-])eyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*)?"), REDACTED),
    (re.compile(r"(?i)(?<!\w)(bearer\s{1,4})(?=[\w.~+/-]*\d)[\w.~+/-]{12,}={0,2}"), r"\g<1>" + REDACTED),
    (re.compile(r"(?<!\w)(?:nvapi-|ghp_|gho_|ghs_|github_pat_|glpat-|hf_|xox[abprs]-)[\w-]{10,}"), REDACTED),
    (re.compile(r"(?<![A-Za-z0-9])AKIA[0-9A-Z]{16}(?![0-9A-Za-z])"), REDACTED),
    (re.compile(r"(?<!\w)K10[0-9a-f]{32,128}::[\w:.-]{8,256}"), REDACTED),
    (re.compile(r"(?<=://)[^\s/:@\"'\[]{0,128}:[^\s/@\"'\[]{1,256}(?=@)"), REDACTED),
)
_AUTH_HEADER = re.compile(r"(?i)(?<!\w)((?:proxy-)?authorization\s{0,4}[:=]\s{0,4}(?:basic|bearer|digest|negotiate)\s{1,4})([^\s\"',]+)")
_PEM_BEGIN = "-----BEGIN "
_PEM_END = "-----END "
_PEM_BODY = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\\ \t\r\n,:-\"'|>")


def _secret_name(name: str) -> bool:
    name = name.rstrip(".")
    return bool(_SECRET_NAME.search(name)) and not _OPEN_NAME.search(name)


def _plain(value: str) -> bool:
    """Values that say something and give nothing away: flags, files, references, what is already redacted."""
    bare = value.strip().strip("\\\"'").strip()
    if not bare or bare.lower().rstrip(",") in _PLAIN_VALUES or REDACTED in value or "REDACTED" in bare:
        return True
    return bool(_FILE.match(bare)) or bare.startswith(("<set", "$(", "${", "{", "["))


def _hidden(value: str) -> str:
    """The replacement keeps the quotes, so that JSON and TOML stay readable for a parser."""
    stripped = value.lstrip("\\")
    lead = value[: len(value) - len(stripped)]
    if stripped[:1] in ('"', "'"):
        mark = stripped[0]
        return lead + mark + REDACTED + (mark if len(stripped) > 1 and stripped.endswith(mark) else "")
    return REDACTED


def _pems(text: str) -> str:
    if _PEM_BEGIN not in text or "PRIVATE KEY-----" not in text:
        return text
    out: list[str] = []
    done = 0
    while True:
        start = text.find(_PEM_BEGIN, done)
        if start < 0:
            break
        body = text.find("-----", start + len(_PEM_BEGIN), start + 80)
        if body < 0 or not text[start:body].endswith("PRIVATE KEY"):
            out.append(text[done : start + len(_PEM_BEGIN)])
            done = start + len(_PEM_BEGIN)
            continue
        body += 5
        out.append(text[done:body])
        # To the end mark, or as far as the text can be the key when the end was cut off.
        stop = body
        while stop < len(text) and text[stop] in _PEM_BODY and not text.startswith(_PEM_END, stop):
            stop += 1
        key = text[body:stop]
        if key.strip():
            # The line end before the end mark stays, so that the marks stay on lines of their own.
            key = REDACTED + ("\n" if key.endswith("\n") else "")
        out.append(key)
        done = stop
    out.append(text[done:])
    return "".join(out)


def _pairs(line: str) -> str:
    """name=value, name: value and "name": "value" with a secret-looking name lose their value."""
    out: list[str] = []
    done = position = 0
    while True:
        match = _NAME.search(line, position)
        if not match:
            break
        position = match.end()
        name = match.group("name")
        if not _secret_name(name):
            continue
        shouting = name.upper() == name and len(name) > 3
        bare = ":" in match.group("sep") and line[position : position + 1] not in ('"', "'", "\\")
        first = match.start() <= 160 and not line[: match.start()].strip(" \t-{,[\"'")
        # "failed to fetch anonymous token: unexpected status" is prose: YAML has the name first and one word after it.
        if bare and not shouting and not first:
            continue
        found = _VALUE.match(line, position)
        if not found:
            continue
        if _plain(found.group(0)):
            position = found.end()
            continue
        if bare and not shouting:
            rest = line[found.end() :].strip()
            if rest and not rest.startswith((",", "}", "#")):
                continue
        # "kubectl describe pod" prints an environment value as it is, with its spaces.
        end = len(line) if bare and shouting and first else found.end()
        out.append(line[done:position] + _hidden(found.group(0)))
        done = position = end
    out.append(line[done:])
    return "".join(out)


def _redact_line(line: str) -> str:
    def keep_head(match: t.Any) -> str:
        if not _secret_name(match.group("name")) or _plain(match.group("value")):
            return match.group(0)
        return match.group("head") + _hidden(match.group("value"))

    line = _AUTH_HEADER.sub(lambda m: m.group(1) + REDACTED, line)
    for shape, replacement in _SHAPES:
        line = shape.sub(replacement, line)
    if "value" in line:
        line = _ENV_PAIR.sub(keep_head, line)
    if "--" in line:
        line = _FLAG.sub(keep_head, line)
    return _pairs(line)


def redact(text: str) -> str:
    """The text without what must not leave the host: private keys, tokens, passwords, secret-looking environment values.

    Names stay, so a reader still sees that something was set. Doing it twice changes nothing.
    """
    text = _pems(text if isinstance(text, str) else text_of(text))
    if not _HINT.search(text):
        return text
    secret_object = bool(_SECRET_OBJECT.search(text))
    out: list[str] = []
    pending = 0  # lines left in which "value:" belongs to a secret-looking "name:"
    block: int | None = None  # indent of a "password: |" whose text follows
    data: int | None = None  # indent of a Secret's "data:"
    for line in text.splitlines(True):
        body = line.rstrip("\r\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")
        end = line[len(body) :]
        indent = len(body) - len(body.lstrip())
        if block is not None and body.strip():
            if indent > block:
                out.append((body[:indent] + REDACTED if REDACTED not in body else body) + end)
                continue
            block = None
        if data is not None and body.strip():
            if indent > data:
                row = _YAML_ROW.match(body)
                if row and not _plain(row.group("value")):
                    body = row.group("head") + _hidden(row.group("value").rstrip(",")) + ("," if body.rstrip().endswith(",") else "")
                    out.append(body + end)
                    continue
            else:
                data = None
        if secret_object and data is None:
            opened = _DATA.match(body)
            if opened:
                data = len(opened.group("indent"))
        if pending:
            value = _ENV_VALUE.match(body)
            if value and not _plain(value.group("value")):
                shown = value.group("value").rstrip()
                comma = "," if shown.endswith(",") else ""
                body = value.group("head") + _hidden(shown.rstrip(",")) + comma
                pending = 0
                out.append(body + end)
                continue
            pending -= 1
        if _HINT.search(body):
            named = _ENV_NAME.match(body)
            if named:
                pending = 2 if _secret_name(named.group("name")) else 0
            opened = _BLOCK.match(body)
            if opened and _secret_name(opened.group("name")):
                block = len(opened.group("indent"))
            else:
                body = _redact_line(body)
        out.append(body + end)
    return "".join(out)
