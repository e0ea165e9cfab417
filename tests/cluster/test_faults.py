"""Faults of docs/faults.md that every `make test` tries, on hosts with the small image. All of them:
`make chaos`."""

from tests.cluster.faults.fault_injection import full_home
from tests.cluster.faults.fixtures import TrialFactory
from tests.cluster.faults.kill_controller import kill_during, step_kinds


def test_controller_killed_at_three_steps_of_up(trial: TrialFactory) -> None:
    """The first kind of step, the one in the middle and the last."""
    with trial() as t:
        words = ("up", t.site.inventory)
        found = step_kinds(t.site, *words)
        for kind in (found[0], found[len(found) // 2], found[-1]):
            kill_during(t.site, kind, *words)
            with t.reaction():
                t.site.up()
            t.site.down()


def test_disk_full_at_up(trial: TrialFactory) -> None:
    with trial() as t:
        with full_home(t.hosts[1]), t.reaction():
            said = t.run_expecting(3, "up", t.site.inventory)
        assert "h2: the disk of /home/trainer is full" in said and "h1" not in said
