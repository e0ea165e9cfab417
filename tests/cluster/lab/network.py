"""The lab's Docker network on this machine's engine."""

import docker
import docker.errors

from tests.cluster.lab.spec import GATEWAY, LABEL_FILTER, LABELS, NETWORK, SUBNET


def ensure_network(engine: docker.APIClient) -> None:
    if not engine.networks(names=[NETWORK], filters={"label": LABEL_FILTER}):
        pool = docker.types.IPAMPool(subnet=SUBNET, gateway=GATEWAY)
        ipam = docker.types.IPAMConfig(pool_configs=[pool])
        engine.create_network(NETWORK, driver="bridge", ipam=ipam, labels=LABELS, check_duplicate=True)


def remove_network(engine: docker.APIClient) -> None:
    for network in engine.networks(filters={"label": LABEL_FILTER}):
        # An engine that was killed can leave endpoints of hosts that no longer exist.
        for endpoint in (engine.inspect_network(network["Id"])["Containers"] or {}).values():
            engine.disconnect_container_from_network(endpoint["Name"], network["Id"], force=True)
        engine.remove_network(network["Id"])
