"""Who is dead, and what nobody uses any more."""

from hvdocker.cluster.steps import RemoveContainer, RemoveTree
from hvdocker.gc.leftovers import HostLeftovers, RunFolder, UnusedImage
from hvdocker.gc.plan import DeadRun, combined_plan, dead_runs, plan_other_leftovers
from hvdocker.images.steps import RemoveImage
from hvdocker.jobs.secrets.steps import RemoveSecrets
from hvdocker.observe.state import ContainerSeen
from hvdocker.plan.plan import Plan, Stage, plan_of


def container(
    name: str,
    role: str,
    state: str = "running",
    cluster: str = "lab",
    run: str = "",
    owner: str = "ada",
    host: str = "b",
    **more: str,
) -> ContainerSeen:
    """`more` are further labels."""
    labels = {"hvdocker.cluster": cluster, "hvdocker.role": role, "hvdocker.owner": owner, **more}
    labels["hvdocker.host"] = host
    if run:
        labels["hvdocker.run"] = run
    return ContainerSeen(f"id-{name}", name, state, "sha256:aaaa", labels)


def of_run(cluster: str, run: str, owner: str = "ada") -> ContainerSeen:
    return container(f"{cluster}-worker", "worker", cluster=cluster, run=run, owner=owner)


def test_a_run_without_a_sign_of_life_where_its_containers_are_is_dead() -> None:
    here = HostLeftovers((of_run("lab-aaaa", "a1"), of_run("lab-bbbb", "b2")), live_tokens=frozenset({"b2"}))
    there = HostLeftovers((of_run("lab-aaaa", "a1"),), live_tokens=frozenset({"b2"}))
    assert dead_runs({"h1": here, "h2": there}) == [DeadRun("lab-aaaa", ("ada",), ("h1", "h2"))]


def test_one_sign_of_life_on_one_host_is_enough() -> None:
    silent, heard = (HostLeftovers((of_run("lab-aaaa", "a1"),), frozenset(s)) for s in ((), ("a1",)))
    assert dead_runs({"h1": silent, "h2": heard}) == []


def test_a_folder_without_containers_is_a_dead_runs_by_its_mark() -> None:
    left = HostLeftovers(folders=(RunFolder("lab-aaaa", "a1", "kim"), RunFolder("lab-bbbb", "b2", "kim")))
    heard = HostLeftovers(folders=left.folders, live_tokens=frozenset({"b2"}))
    [dead] = dead_runs({"h1": heard})
    assert dead == DeadRun("lab-aaaa", ("kim",), ("h1",))
    assert dead.is_of("kim") and not dead.is_of("ada")
    mixed = HostLeftovers((of_run("lab-aaaa", "a1"),), folders=left.folders[:1])
    assert not dead_runs({"h1": mixed})[0].is_of("ada"), "of two owners it is nobody's"


def test_clusters_that_up_made_are_nobodys_business() -> None:
    seen = HostLeftovers((container("w", "worker"), container("j", "master", "exited")))
    assert dead_runs({"h1": seen}) == []
    assert plan_other_leftovers("lab", {"h1": seen}, [], "ada").is_empty


def test_the_rest_is_what_never_started_and_what_was_left_behind() -> None:
    containers = (
        container("unborn", "master", "created"),
        container("of-kim", "master", "created", owner="kim"),
        container("going-anyway", "master", "created", cluster="lab-aaaa"),
        container("examined", "doctor", "exited"),
        container("examining", "doctor"),
        container("half-up", "worker", "created"),
    )
    found = {
        "h1": HostLeftovers(containers, feeds=("/var/tmp/hvdocker-feed-1",), parts=("hvdocker-part:x",)),
        "h2": HostLeftovers(containers[:1], images=(UnusedImage("doc-hvd:cpu", 7),)),
    }
    removed = [
        RemoveContainer("h1", "unborn", "id-unborn", "a job that never started"),
        RemoveContainer("h1", "examined", "id-examined", "of an earlier doctor"),
    ]
    whole_plan = plan_other_leftovers("lab", found, ["lab-aaaa"], "ada")
    assert whole_plan == plan_of(
        "gc",
        "lab",
        ("containers", [*removed]),
        ("files", [RemoveTree("h1", "/var/tmp/hvdocker-feed-1")]),
        ("images", [RemoveImage("h1", "hvdocker-part:x", "part of an image that was never sent whole")]),
        ("images", [RemoveImage("h2", "doc-hvd:cpu", "no container uses it", 7)]),
    )
    forced = {step.host: step for step in plan_other_leftovers("lab", found, ["lab-aaaa"], None).stages[0].steps}
    names = [getattr(step, "name", "") for step in plan_other_leftovers("lab", found, [], None).stages[0].steps]
    assert names == ["unborn", "of-kim", "going-anyway", "examined"] and set(forced) == {"h1"}


def test_secrets_of_a_job_that_never_started_go_before_its_master() -> None:
    """Hosts may have other names in the inventory of the user who cleans up."""
    told = {"hvdocker.job": "j-aaaa", "hvdocker.secrets": "TOKEN", "hvdocker.placement": '{"a":1,"b":1}'}
    unborn = container("unborn", "master", "created", host="a", **told)
    found = {
        "h1": HostLeftovers((unborn, container("w1", "worker", host="a"))),
        "h2": HostLeftovers((container("w2", "worker", host="b"), container("x", "worker", "running", "other"))),
        "h3": HostLeftovers((container("w3", "worker", host="c"),)),
    }
    removed = RemoveContainer("h1", "unborn", "id-unborn", "a job that never started")
    assert plan_other_leftovers("lab", found, [], "ada") == plan_of(
        "gc", "lab", ("secrets", [RemoveSecrets("h2", "w2", ("j-aaaa",))]), ("containers", [removed])
    )
    assert plan_other_leftovers("lab", found, [], "kim").is_empty, "another's secrets are left alone with his job"
    assert plan_other_leftovers("lab", found, [], "ada", is_whole=False) == plan_other_leftovers(
        "lab", found, [], "ada"
    )


def test_what_tells_of_secrets_on_a_host_that_is_away_stays() -> None:
    told = {"hvdocker.job": "j-aaaa", "hvdocker.placement": '{"a":1,"b":1}'}
    unborn = container("unborn", "master", "created", host="a", **told, **{"hvdocker.secrets": "TOKEN"})
    without = container("without", "master", "created", host="a", **told)
    found = {"h1": HostLeftovers((unborn, without, container("w1", "worker", host="a")))}
    removed = RemoveContainer("h1", "without", "id-without", "a job that never started")
    left = plan_other_leftovers("lab", found, [], "ada", is_whole=False)
    assert left == plan_of("gc", "lab", ("containers", [removed]))
    everybody_answered = plan_other_leftovers("lab", found, [], "ada")
    assert len(list(everybody_answered.steps)) == 2, "a worker that is gone has no secrets"


def test_it_is_shown_run_after_run() -> None:
    one = Plan("down", "lab-aaaa", (Stage("files", (RemoveTree("h1", "/a"),)),))
    rest = Plan("gc", "lab", (Stage("files", (RemoveTree("h1", "/b"),)),))
    assert [line.split()[-1] for line in combined_plan("lab", [one], rest).lines()] == ["/a", "/b"]


def test_containers_that_no_run_of_ours_can_have_made_are_left_alone() -> None:
    here = HostLeftovers((of_run("", "a1"), of_run("Lab; rm", "b2"), of_run("../lab", "c3")))
    assert dead_runs({"h1": here}) == []
