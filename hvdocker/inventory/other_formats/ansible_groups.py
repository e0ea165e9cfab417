"""Hosts and groups of an Ansible inventory, and which variables a host gets from them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from hvdocker.inventory.other_formats.host_pattern import MOST_HOSTS, expand

ALL = "all"


@dataclass
class AnsibleGroups:
    """An Ansible inventory: hosts with their own variables in the order of the file, and the hosts, child groups and
    variables of each group. `notes` say what was not read."""

    hosts: dict[str, dict[str, str]] = field(default_factory=dict)
    members: dict[str, dict[str, None]] = field(default_factory=dict)
    children: dict[str, dict[str, None]] = field(default_factory=dict)
    variables: dict[str, dict[str, str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add_host(self, group: str, pattern: str, variables: Mapping[str, str]) -> None:
        """Add a host, or a range of hosts, to a group. At most MOST_HOSTS hosts are kept."""
        for name in (pattern,) if len(self.hosts) == MOST_HOSTS else expand(pattern):
            if name not in self.hosts and len(self.hosts) == MOST_HOSTS:
                self.notes.append(f"only the first {MOST_HOSTS:,} hosts are taken")
                return
            self.hosts.setdefault(name, {}).update(variables)
            self.members.setdefault(group, {})[name] = None

    def host_variables(self) -> dict[str, dict[str, str]]:
        """Return the variables of every host, with those of its groups. As in Ansible, a child group has precedence
        over its parents, of groups at the same depth the last by name, and a host's own variables over all."""
        found: dict[str, dict[str, str]] = {name: {} for name in self.hosts}
        depths = self._depths()
        for group in sorted(self.variables, key=lambda group: (depths.get(group, 1), group)):
            for name in self.hosts if group == ALL else self._hosts_in(group):
                found[name].update(self.variables[group])
        for name, own in self.hosts.items():
            found[name].update(own)
        return found

    def _depths(self) -> dict[str, int]:
        """Return how deep each group is below `all`, along the longest way. Groups in a circle are left out."""
        groups = dict.fromkeys((*self.members, *self.variables, *self.children, *self._all_children()))
        parents = dict.fromkeys(groups, 0)
        for child in self._all_children():
            parents[child] += 1
        depths = {group: 0 if group == ALL else 1 for group in groups if not parents[group]}
        ready = list(depths)
        for group in ready:
            for child in self.children.get(group, ()):
                depths[child] = max(depths.get(child, 0), depths[group] + 1)
                parents[child] -= 1
                if not parents[child]:
                    ready.append(child)
        return depths

    def _all_children(self) -> Iterator[str]:
        return (child for children in self.children.values() for child in children)

    def _hosts_in(self, group: str) -> dict[str, None]:
        """Return the hosts of a group and of the groups in it."""
        reached, waiting = {group: None}, [group]
        for one in waiting:
            waiting += [child for child in self.children.get(one, ()) if child not in reached]
            reached |= dict.fromkeys(self.children.get(one, ()))
        return {host: None for one in reached for host in self.members.get(one, ())}
