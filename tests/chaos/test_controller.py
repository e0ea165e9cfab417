"""The controller SIGKILLed in every kind of step that its plans have, and two controllers at once."""

from tests.cluster.faults.fixtures import Trials
from tests.cluster.faults.jobs import await_progress, await_step
from tests.cluster.faults.killing import Kind, each_new, kill_in, kinds
from tests.cluster.faults.trial import Trial, at_home, change, inventory_of, nothing_is_left, outputs
from tests.cluster.site import SMALL_IMAGE
from tests.cluster.training import DATA, await_ranks

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
    change(t, shm="64MB")
    t.site.up()
    change(t, shm="32MB")


def test_controller_killed_at_each_step_of_up(trial: Trials) -> None:
    """Where nothing is there, where a worker is gone or asleep, and where all are to be replaced."""
    with trial() as t:
        words = ("up", t.site.inventory)
        known: set[Kind] = set()
        for prepare in (up_nothing_there, up_one_worker_gone, up_one_worker_asleep, up_with_other_settings):
            prepare(t)
            found = kinds(t.site, *words)

            def act(kind: Kind, prepare=prepare) -> None:  # type: ignore[no-untyped-def]  # the loop's own
                prepare(t)
                kill_in(t.site, kind, *words)
                with t.reaction():
                    t.site.up()
                t.site.down()
                nothing_is_left(t.site)

            each_new(found, known, act)
        assert len(known) >= 8


def test_controller_killed_at_each_step_of_a_join(training_trial: Trials) -> None:
    """What `up` does beyond the ordinary where an elastic job runs and a host is new to the inventory."""
    with training_trial(count=3) as t:
        words = ("up", t.site.inventory)
        every = inventory_of(t)["hosts"]
        t.site.down()
        known = set(kinds(t.site, *words))
        ordinary = len(known)

        def two_run_and_one_is_new() -> None:
            change(t, hosts=every[:2])
            t.site.up()
            t.site.run("train", "-d", "code/supple.py", "-np", "2", "--min-np", "1", "--", "never")
            await_step(t, 3, ranks=2)
            change(t, hosts=every)

        def act(kind: Kind) -> None:
            two_run_and_one_is_new()
            kill_in(t.site, kind, *words)
            with t.reaction():
                t.site.up()
                await_progress(t, ranks=3)
            t.site.run("stop")
            t.site.down()
            nothing_is_left(t.site)

        two_run_and_one_is_new()
        found = kinds(t.site, *words)
        t.site.run("stop")
        t.site.down()
        each_new(found, known, act)
        assert len(known) >= ordinary + 2


def test_controller_killed_at_each_step_of_train(training_trial: Trials) -> None:
    """The same command again starts a job, or says who holds the slots: the job that was started."""
    with training_trial() as t:
        words = ("train", "-d", "code/gate.py", "--secret", "TOKEN", "--", "never")

        def act(kind: Kind) -> None:
            kill_in(t.site, kind, *words, env=SECRET)
            with t.reaction():
                again = t.site.run(*words, env=SECRET, check=None)
                if again.code == 6:
                    assert "gate-" in again.err
                    t.site.run("stop")
                    again = t.site.run(*words, env=SECRET, check=None)
            assert again.code == 0
            await_ranks(t.site, "gate.py never")
            t.site.run("stop")

        known: set[Kind] = set()
        each_new(kinds(t.site, *words, env=SECRET), known, act)
        assert len(known) >= 5


def test_controller_killed_at_each_step_of_down(training_trial: Trials) -> None:
    """With a job that runs and has written outputs: they come home all the same."""
    with training_trial() as t:
        words = ("down", "-i", t.site.inventory, "-y")

        def running() -> set[tuple[str, str]]:
            t.site.up()
            t.site.run("train", "-d", "code/diary.py", "--", "never")
            await_ranks(t.site, "diary.py never")
            return outputs(t.site)

        def act(kind: Kind) -> None:
            made = running()
            kill_in(t.site, kind, *words)
            with t.reaction():
                t.site.down()
            assert len(made) == 2 and made <= at_home(t.site)
            nothing_is_left(t.site)

        running()
        found = kinds(t.site, *words)
        t.site.down()
        known: set[Kind] = set()
        each_new(found, known, act)
        assert len(known) >= 5


def test_two_controllers_at_once(trial: Trials) -> None:
    """Of the same cluster: one does it, the other waits for it or is told who is at it."""
    with trial() as t:
        for words in (("up", t.site.inventory), ("down", "-y", "-i", t.site.inventory)):
            with t.reaction():
                both = [t.start(*words) for _ in range(2)]
                ends = [t.end_of(process) for process in both]
            assert sorted(code for code, _, _ in ends)[0] == 0
            for code, _, err in ends:
                assert code in (0, 5), err
                assert code == 0 or ("h1: the host is locked" in err or "h2: the host is locked" in err)
            again = t.site.run(*words)
            assert again.out.startswith("nothing to do")


def test_up_and_down_at_once(trial: Trials) -> None:
    """Whoever comes second is told, or finds the other's work; nothing is torn."""
    with trial() as t:
        t.site.up()
        t.hosts[1].docker("rm", "-f", t.site.worker)
        with t.reaction():
            both = [t.start("up", t.site.inventory), t.start("down", "-y", "-i", t.site.inventory)]
            ends = [t.end_of(process) for process in both]
        assert {code for code, _, _ in ends} <= {0, 5}
        t.site.up()
        assert t.site.logins() == t.site.full_mesh()


def test_two_trains_at_once(training_trial: Trials) -> None:
    """One gets the slots, the other is told who has them."""
    with training_trial() as t:
        with t.reaction():
            both = [t.start("train", "-d", "code/gate.py", "--", "race") for _ in range(2)]
            ends = [t.end_of(process) for process in both]
        assert sorted(code for code, _, _ in ends) == [0, 6]
        (refused,) = [err for code, _, err in ends if code == 6]
        (job,) = [out.strip() for code, out, _ in ends if code == 0]
        assert job in refused
        await_ranks(t.site, "gate.py race")
        for host in t.hosts:
            host.exec(["touch", f"{DATA}/race"])
        assert t.site.run("logs", "-f", job).out.count("race has come") == 2
