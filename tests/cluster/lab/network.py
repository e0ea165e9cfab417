"""The lab's two Docker networks on this machine's engine."""

import docker
import docker.errors

from tests.cluster.lab.spec import GATEWAY, LABEL_FILTER, LABELS, NETWORK, SECOND_NETWORK, SECOND_SUBNET, SUBNET


def ensure_network(engine: docker.APIClient) -> None:
    _ensure(engine, NETWORK, docker.types.IPAMPool(subnet=SUBNET, gateway=GATEWAY))
    _ensure(engine, SECOND_NETWORK, docker.types.IPAMPool(subnet=SECOND_SUBNET))


def _ensure(engine: docker.APIClient, name: str, pool: docker.types.IPAMPool) -> None:
    # The engine matches parts of names.
    found = engine.networks(names=[name], filters={"label": LABEL_FILTER})
    if not any(network["Name"] == name for network in found):
        ipam = docker.types.IPAMConfig(pool_configs=[pool])
        engine.create_network(name, driver="bridge", ipam=ipam, labels=LABELS, check_duplicate=True)


def remove_network(engine: docker.APIClient) -> None:
    for network in engine.networks(filters={"label": LABEL_FILTER}):
        # An engine that was killed can leave endpoints of hosts that no longer exist.
        for endpoint in (engine.inspect_network(network["Id"])["Containers"] or {}).values():
            engine.disconnect_container_from_network(endpoint["Name"], network["Id"], force=True)
        engine.remove_network(network["Id"])
