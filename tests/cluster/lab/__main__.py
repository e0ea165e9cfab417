"""The lab from a shell: `python -m tests.cluster.lab up -n 3 | down | status | prune`."""

import argparse
import sys
import time

from tests.cluster.lab.host import LabHost
from tests.cluster.lab.lab import Lab
from tests.cluster.lab.wait import LabError, in_parallel


def main() -> int:
    arguments = _parser().parse_args()
    try:
        lab = Lab.attach()
        {"up": up, "down": down, "status": status, "prune": prune}[arguments.verb](lab, arguments)
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.cluster.lab", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    make = verbs.add_parser("up", help="make hosts, or find them running")
    make.add_argument("-n", type=int, default=3, metavar="N", help="how many (default 3)")
    make.add_argument("--user", default="trainer", help="the SSH user of the inventory (default trainer)")
    verbs.add_parser("down", help="take all hosts, their volumes and the network away")
    verbs.add_parser("status", help="the hosts that exist, and what answers on them")
    verbs.add_parser("prune", help="take away dead hosts and old images")
    return parser


def up(lab: Lab, arguments: argparse.Namespace) -> None:
    start = time.monotonic()
    hosts = lab.ensure(arguments.n)
    inventory = lab.write_inventory(lab.state.inventory, hosts, user=arguments.user)
    lab.say(f"{len(hosts)} hosts ready in {time.monotonic() - start:.1f} s")
    options = f"-i {lab.state.key} -o UserKnownHostsFile={lab.state.known_hosts}"
    print(inventory)
    print("try:")
    print(f"  hvdocker doctor -i {inventory}")
    print(f"  hvdocker up -i {inventory}")
    print(f"  ssh {options} {arguments.user}@{hosts[0].address}")
    print(f"  docker logs {hosts[0].container}")


def down(lab: Lab, arguments: argparse.Namespace) -> None:
    count = len(lab.hosts())
    lab.down()
    lab.say(f"{count} hosts removed")


def status(lab: Lab, arguments: argparse.Namespace) -> None:
    for line in in_parallel(_line, lab.hosts()):
        print(line)


def _line(host: LabHost) -> str:
    try:
        version = host.docker("version", "-f", "{{.Server.Version}}").strip()
        answers = f"Docker {version}, {len(host.docker('ps', '-q').split())} containers"
        ssh = "sshd answers" if host.probe() else "sshd does not answer"
    except LabError as error:
        answers, ssh = "not healthy", str(error).splitlines()[0]
    return f"{host.name:8} {host.address:14} {answers}, {ssh}"


def prune(lab: Lab, arguments: argparse.Namespace) -> None:
    lab.prune()


if __name__ == "__main__":
    sys.exit(main())
