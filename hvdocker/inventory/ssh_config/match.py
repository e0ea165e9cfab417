"""Selects the lines of an OpenSSH configuration that apply to a host, as OpenSSH's readconf.c does.

This covers Host, Match, Include and the second pass that `Match final` and CanonicalizeHostname require. Paramiko's
reader does not know Include, takes unknown conditions as true, and refuses `Match final all`, which Fedora's own file
has. A test compares the results with `ssh -G`."""

from __future__ import annotations

import getpass
import re
import socket
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import paramiko

from hvdocker.errors import UsageProblem
from hvdocker.inventory.ssh_config.lines import Criterion, SshConfigLine
from hvdocker.inventory.ssh_config.patterns import matches_patterns

EXEC_TIMEOUT_S = 30.0

_PROXY_KEYWORDS = ("proxyjump", "proxycommand")


@dataclass
class SshHostOptions:
    """The options of one host. `values` has the values by keyword in lower case.

    The first value of an option wins, but all IdentityFiles are kept. `own` has the keywords that were set by
    the user's file and not by the system's file."""

    host: str
    values: dict[str, list[str]] = field(default_factory=dict)
    own: set[str] = field(default_factory=set)

    def get(self, name: str, default: str = "") -> str:
        """Return the first value of an option, or `default` if it is not set. `name` is the keyword in lower case."""
        return self.values.get(name, [default])[0]

    def take(self, line: SshConfigLine, is_own: bool) -> None:
        """Add the option in `line`, unless it is already set: the first line about an option wins.

        All IdentityFiles are kept. If both ProxyJump and ProxyCommand occur, only the first of them is kept. `is_own`
        says that the line is from the user's file."""
        word = line.keyword
        if word not in self.values:
            if word in _PROXY_KEYWORDS and any(way in self.values for way in _PROXY_KEYWORDS):
                return
            self.values[word] = [line.value]
            self.own |= {word} if is_own else set()
        elif word == "identityfile" and line.value not in self.values[word]:
            self.values[word].append(line.value)

    def address(self, host: str) -> str:
        """Return HostName with %h replaced by `host`, or `host` if there is no HostName."""
        name = self.get("hostname", host)
        return re.sub("%[h%]", lambda token: host if token[0] == "%h" else "%", name)


def options_for_host(host: str, own: Iterable[SshConfigLine], system: Iterable[SshConfigLine]) -> SshHostOptions:
    """Return the options of a host from the lines of the user's file (`own`), then of the system's file (`system`).

    A second pass over both files follows if CanonicalizeHostname is `yes` or `always`, or if a `Match final` line
    exists."""
    files = ((tuple(own), True), (tuple(system), False))
    options = SshHostOptions(host)
    first = _Pass(options, host, host)
    for lines, is_own in files:
        first.read(lines, is_own)
    is_canonical = options.get("canonicalizehostname").lower() in ("yes", "always")
    if is_canonical or first.needs_second_pass:
        named = options.address(host)
        actual = _canonical_name(named, options) if is_canonical else named
        options.values["hostname"] = [actual]  # set first, so the second pass cannot change it
        second = _Pass(options, actual, host, is_final=True)
        for lines, is_own in files:
            second.read(lines, is_own)
    elif "hostname" in options.values:
        options.values["hostname"] = [options.address(host)]
    return options


@dataclass
class _Pass:
    """One pass over all lines, which collects the host's options in `options`.

    `host` is the name that Host lines are compared with; in the second pass it is the HostName. `original` is
    the name that the user gave. `is_final` marks the second pass. `needs_second_pass` is set by a `Match final`
    line."""

    options: SshHostOptions
    host: str
    original: str
    is_final: bool = False
    needs_second_pass: bool = False

    def read(self, lines: Iterable[SshConfigLine], is_own: bool, is_active: bool = True) -> None:
        """Apply the lines that match the host. `is_own` says that the lines are from the user's file.

        `is_active` says whether the lines before the first Host or Match apply. For an included file it is False if the
        Include line itself does not apply; then nothing in the file applies."""
        is_outer_active = is_active
        for line in lines:
            if line.keyword == "host":
                is_active = is_outer_active and matches_patterns(line.arguments, self.host)
            elif line.keyword == "match":
                self.needs_second_pass |= any(criterion.kind == "final" for criterion in line.criteria)
                is_active = is_outer_active and all(self._is_met(criterion) for criterion in line.criteria)
            elif line.keyword == "include":
                for file in line.files:
                    self.read(file, is_own, is_active)
            elif is_active:
                self.options.take(line, is_own)

    def _is_met(self, criterion: Criterion) -> bool:
        """Return whether a condition holds. A condition of an unknown kind (localnetwork, version, …) never
        holds, not even with `!` in front."""
        found = self._is_true(criterion.kind, criterion.value)
        return found is not None and found != criterion.is_negated

    def _is_true(self, kind: str, value: str) -> bool | None:
        if kind == "all":
            return True
        if kind in ("final", "canonical"):
            return self.is_final
        if kind == "exec":
            return _command_succeeds(value, self._tokens())
        tested = {
            "host": self.options.address(self.host).lower(),
            "originalhost": self.original.lower(),
            "user": self.options.get("user", getpass.getuser()),
            "localuser": getpass.getuser(),
            "tagged": self.options.get("tag"),
        }
        patterns = (value.lower() if kind in ("host", "originalhost") else value).split(",")
        return matches_patterns(patterns, tested[kind]) if kind in tested else None

    def _tokens(self) -> Mapping[str, str]:
        node = socket.gethostname()
        return {
            "%%": "%",
            "%d": str(Path.home()),
            "%h": self.options.address(self.host),
            "%L": node.partition(".")[0],
            "%l": node,
            "%n": self.original,
            "%p": self.options.get("port", "22"),
            "%r": self.options.get("user", getpass.getuser()),
            "%u": getpass.getuser(),
        }


def _command_succeeds(command: str, tokens: Mapping[str, str]) -> bool:
    """Run the command of a `Match exec` and return whether it exits with 0.

    Return False if it cannot start or takes too long. `tokens` maps tokens such as %h to their values."""
    words = re.sub("%.", lambda token: tokens.get(token[0], token[0]), command)
    try:
        done = subprocess.run(
            ["sh", "-c", words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=EXEC_TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _canonical_name(host: str, host_options: SshHostOptions) -> str:
    """Return the host's full name in the first of the CanonicalDomains in which it resolves.

    Return the host unchanged if it is an IPv6 address, has too many dots, or is reached through a proxy (unless
    CanonicalizeHostname is `always`). If it resolves in none of the domains, return it unchanged too, or raise
    UsageProblem if CanonicalizeFallbackLocal is `no`."""
    is_direct = all(host_options.get(way, "none").lower() == "none" for way in _PROXY_KEYWORDS)
    if not is_direct and host_options.get("canonicalizehostname").lower() != "always":
        return host
    most = host_options.get("canonicalizemaxdots", "1")
    if ":" in host or host.count(".") > (int(most) if most.isdecimal() else 1):
        return host
    options = paramiko.SSHConfigDict(
        addressfamily=host_options.get("addressfamily", "any"),
        canonicalizefallbacklocal=host_options.get("canonicalizefallbacklocal", "yes").lower(),
    )
    try:
        name: str = paramiko.SSHConfig().canonicalize(host, options, host_options.get("canonicaldomains").split())
    except paramiko.CouldNotCanonicalize as error:
        raise UsageProblem(
            f"{host} is in none of the CanonicalDomains, and CanonicalizeFallbackLocal is no",
            fix="see what ssh makes of it: ssh -G host",
        ) from error
    return name
