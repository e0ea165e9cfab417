"""The controller SIGKILLed in every kind of step that its plans have, and two controllers at once."""

from tests.cluster.faults.fixtures import TrialFactory
from tests.cluster.faults.jobs import await_progress, await_step
from tests.cluster.faults.kill_controller import StepKind, for_each_new, kill_during, step_kinds
from tests.cluster.faults.trial import (
    Trial,
    assert_nothing_left,
    change_inventory,
    fetched_outputs,
    inventory_of,
    outputs_on_hosts,
)
from tests.cluster.lab.wait import until
from tests.cluster.lab_cluster import SMALL_IMAGE
from tests.cluster.training import DATA, DEADLINE_S, await_ranks

SECRET = {"TOKEN": "not-to-be-seen"}


def up_nothing_there(t: Trial) -> None:
    t.hosts[1].attempt(["docker", "rmi", "-f", SMALL_IMAGE])


def up_one_worker_gone(t: Trial) -> None:
    t.site.up()
    t.hosts[1].docker("rm", "-f", t.site.worker)


def up_one_worker_asleep(t: Trial) -> None:
    t.site.up()
    t.hosts[1].docker("stop", t.site.worker)


def up_with_other_settings(t: Trial) -> None:
    change_inventory(t, shm="64MB")
    t.site.up()
    change_inventory(t, shm="32MB")


def test_controller_killed_at_each_step_of_up(trial: TrialFactory) -> None:
    """Where nothing is there, where a worker is gone or asleep, and where all are to be replaced."""
    with trial() as t:
        words = ("up", t.site.inventory)
        known: set[StepKind] = set()
        for prepare in (up_nothing_there, up_one_worker_gone, up_one_worker_asleep, up_with_other_settings):
            prepare(t)
            found = step_kinds(t.site, *words)

            def act(kind: StepKind, prepare=prepare) -> None:  # type: ignore[no-untyped-def]  # the loop's own
                prepare(t)
                kill_during(t.site, kind, *words)
                with t.reaction():
                    t.site.up()
                t.site.down()
                assert_nothing_left(t.site)

            for_each_new(found, known, act)
        assert len(known) >= 8


def test_controller_killed_at_each_step_of_a_join(training_trial: TrialFactory) -> None:
    """What `up` does beyond the ordinary where an elastic job runs and a host is new to the inventory."""
    with training_trial(count=3) as t:
        words = ("up", t.site.inventory)
        every = inventory_of(t)["hosts"]
        t.site.down()
        known = set(step_kinds(t.site, *words))
        ordinary = len(known)

        def two_run_and_one_is_new() -> None:
            change_inventory(t, hosts=every[:2])
            t.site.up()
            t.site.run("train", "-d", "code/elastic_horovod.py", "-np", "2", "--min-np", "1", "--", "never")
            await_step(t, 3, ranks=2)
            change_inventory(t, hosts=every)

        def act(kind: StepKind) -> None:
            two_run_and_one_is_new()
            kill_during(t.site, kind, *words)
            with t.reaction():
                t.site.up()
                await_progress(t, ranks=3)
            t.site.run("stop")
            t.site.down()
            assert_nothing_left(t.site)

        two_run_and_one_is_new()
        found = step_kinds(t.site, *words)
        t.site.run("stop")
        t.site.down()
        for_each_new(found, known, act)
        assert len(known) >= ordinary + 2


def test_controller_killed_at_each_step_of_train(training_trial: TrialFactory) -> None:
    """The same command again starts a job, or says who holds the slots: the job that was started."""
    with training_trial() as t:
        words = ("train", "-d", "code/gate.py", "--secret", "TOKEN", "--", "never")

        def act(kind: StepKind) -> None:
            kill_during(t.site, kind, *words, env=SECRET)
            with t.reaction():
                again = t.site.run(*words, env=SECRET, check=None)
                if again.code == 6:
                    assert "gate-" in again.err
                    t.site.run("stop")
                    again = t.site.run(*words, env=SECRET, check=None)
            assert again.code == 0
            await_ranks(t.site, "gate.py never")
            t.site.run("stop")

        known: set[StepKind] = set()
        for_each_new(step_kinds(t.site, *words, env=SECRET), known, act)
        assert len(known) >= 5


def test_controller_killed_at_each_step_of_down(training_trial: TrialFactory) -> None:
    """With a job that runs and has written outputs: they come home all the same."""
    with training_trial() as t:
        words = ("down", "-i", t.site.inventory, "-y")

        def running() -> set[tuple[str, str]]:
            t.site.up()
            t.site.run("train", "-d", "code/write_and_wait.py", "--", "never")
            return until(both_outputs, "both ranks have written", DEADLINE_S)

        def both_outputs() -> set[tuple[str, str]] | None:
            found = outputs_on_hosts(t.site)
            return found if len(found) == 2 else None

        def act(kind: StepKind) -> None:
            made = running()
            kill_during(t.site, kind, *words)
            with t.reaction():
                t.site.down()
            assert made <= fetched_outputs(t.site)
            assert_nothing_left(t.site)

        running()
        found = step_kinds(t.site, *words)
        t.site.down()
        known: set[StepKind] = set()
        for_each_new(found, known, act)
        assert len(known) >= 5


def test_two_controllers_at_once(trial: TrialFactory) -> None:
    """Of the same cluster: one does it, the other waits for it or is told who is at it."""
    with trial() as t:
        for words in (("up", t.site.inventory), ("down", "-y", "-i", t.site.inventory)):
            with t.reaction():
                both = [t.start(*words) for _ in range(2)]
                ends = [t.wait(process) for process in both]
            assert sorted(code for code, _, _ in ends)[0] == 0
            for code, _, err in ends:
                assert code in (0, 5), err
                assert code == 0 or ("h1: the host is locked" in err or "h2: the host is locked" in err)
            again = t.site.run(*words)
            assert again.out.startswith("nothing to do")


def test_up_and_down_at_once(trial: TrialFactory) -> None:
    """The second one gets an error, or finds the other's work; nothing is torn."""
    with trial() as t:
        t.site.up()
        t.hosts[1].docker("rm", "-f", t.site.worker)
        with t.reaction():
            both = [t.start("up", t.site.inventory), t.start("down", "-y", "-i", t.site.inventory)]
            ends = [t.wait(process) for process in both]
        assert {code for code, _, _ in ends} <= {0, 5}
        t.site.up()
        assert t.site.logins() == t.site.full_mesh()


def test_two_trains_at_once(training_trial: TrialFactory) -> None:
    """One gets the slots, the other is told who has them."""
    with training_trial() as t:
        with t.reaction():
            both = [t.start("train", "-d", "code/gate.py", "--", "race") for _ in range(2)]
            ends = [t.wait(process) for process in both]
        assert sorted(code for code, _, _ in ends) == [0, 6]
        (refused,) = [err for code, _, err in ends if code == 6]
        (job,) = [out.strip() for code, out, _ in ends if code == 0]
        assert job in refused
        await_ranks(t.site, "gate.py race")
        for host in t.hosts:
            host.exec(["touch", f"{DATA}/race"])
        assert t.site.run("logs", "-f", job).out.count("race has come") == 2
