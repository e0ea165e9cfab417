"""Brings the same code to every host.

Each host is asked what it holds. The files that it lacks are sent as one stream, which is read and packed once for all
hosts that lack the same files. Files that an earlier sync wrote and that the code folder no longer has are removed;
files that jobs wrote stay. If they are in the way of new code, they are moved to the folder `SyncFolder.replaced`."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial

from hvdocker.sync.codec import Codec, LinkSpeed, bytes_per_s, choose_codec, sample_bytes
from hvdocker.sync.host_query import HostAnswer, SyncTarget, ask_host
from hvdocker.sync.large_files import split_large
from hvdocker.sync.pack import OnGrowth, StreamFiles, compressed_ratio
from hvdocker.sync.stream_sender import Progress, SendResult, StreamSender
from hvdocker.sync.tree import Changes, Tree
from hvdocker.transport.link import HostLink
from hvdocker.transport.pool import HostOutcomes, for_each_host


@dataclass(frozen=True)
class SyncReport:
    """What a sync did on one host.

    `sent` and `removed` are numbers of files. `sent_bytes` is the size of the files that were sent, `wire_bytes` the
    size of the streams, which may be compressed with `codec`. `tree_hash` is the hash of the code. `kept` is the number
    of files that a job had written and that the sync moved to the folder `SyncFolder.replaced`."""

    sent: int
    sent_bytes: int
    removed: int
    tree_hash: str
    codec: Codec = Codec.NONE
    wire_bytes: int = 0
    kept: int = 0


@dataclass(frozen=True)
class SyncOptions:
    """The options of a sync.

    With `checksum` the hosts hash the files that they hold. `progress` is called with host, bytes done and bytes in
    total. `on_interrupt` is called at Ctrl-C. `on_growth` is called with the path of a file that grew after it was
    hashed, perhaps by several threads and more than once. `choose` picks the compression for a host."""

    checksum: bool = False
    progress: Progress = lambda host, done, total: None
    on_interrupt: Callable[[], None] = lambda: None
    on_growth: OnGrowth = lambda path: None
    choose: Callable[[LinkSpeed], Codec] = choose_codec


def sync_host(link: HostLink, tree: Tree, folder: str, how: SyncOptions | None = None) -> SyncReport:
    """Bring the files of `tree` to one host and return its report, or raise HvdockerError. `folder` is the code folder
    on the host; `how` None means the defaults of SyncOptions."""
    outcomes = sync_all({link.name: SyncTarget(link, folder)}, tree, how)
    return outcomes.or_raise("syncing the code failed")[link.name]


def sync_all(targets: Mapping[str, SyncTarget], tree: Tree, how: SyncOptions | None = None) -> HostOutcomes[SyncReport]:
    """Sync all hosts together, in three phases: ask what each host holds, measure the links with a sample, send the
    rest. `targets` has the link and the code folder of each host, by host name. Return reports and errors by host.
    `how` None means the defaults of SyncOptions.

    If a host fails in the first or second phase, the result has only errors. If a host fails in the third phase, hosts
    that are finished have a report, and hosts that have not begun have neither a report nor an error. Errors in local
    files are raised. Hosts that lack the same files receive the same stream at the same time: these files are read and
    packed once for all of them."""
    how = how or SyncOptions()
    ids = {shared: tree.id(shared) for shared in {target.is_shared for target in targets.values()}}

    token = secrets.token_hex(4)

    def question(name: str) -> HostAnswer:
        return ask_host(targets[name], tree, ids[targets[name].is_shared], token, how.checksum)

    asked = for_each_host(targets, question, on_interrupt=how.on_interrupt)
    if asked.failed:
        return HostOutcomes({}, asked.failed)
    bases = {name: answer.base for name, answer in asked.done.items()}
    courier = StreamSender(targets, tree, ids, bases, token, how.progress, how.on_interrupt, how.on_growth)
    lacking = {name: answer for name, answer in asked.done.items() if not answer.changes.is_empty}
    samples = {name: found for name, answer in lacking.items() if (found := _sample_stream(tree, answer.changes))}
    try:
        sampled = courier.send(samples)
        if sampled.failed:
            courier.remove_inboxes(sampled.done)
            return HostOutcomes({}, sampled.failed)
        stream_files_by_host = _remaining_streams(tree, lacking, samples, sampled.done, how)
        spread = courier.send(stream_files_by_host)
    except BaseException:
        courier.remove_inboxes(lacking)
        raise
    if spread.failed:
        courier.remove_inboxes(name for name in lacking if name not in spread.done)
    reports = {
        name: _report(
            tree, answer.changes, stream_files_by_host.get(name), sampled.done.get(name), spread.done.get(name)
        )
        for name, answer in asked.done.items()
        if name not in lacking or name in spread.done
    }
    return HostOutcomes(reports, spread.failed)


def _sample_stream(tree: Tree, lacked: Changes) -> StreamFiles | None:
    """Return a stream that measures the speed of the link to a host. `lacked` is what the host lacks. The stream has
    the smallest of these files, uncompressed and padded to the size of a sample.

    Return None if too few bytes are missing to be worth a measurement."""
    wanted = sample_bytes(tree.bytes_of(lacked.send))
    if not wanted:
        return None
    size = 0
    taken: list[str] = []
    for path in sorted(lacked.send, key=lambda path: tree.entries[path].size):
        if size + tree.entries[path].size > wanted:
            break
        size += tree.entries[path].size
        taken.append(path)
    return StreamFiles(lacked, tuple(taken), is_last=False, padding=wanted - size)


def _remaining_streams(
    tree: Tree,
    answers: Mapping[str, HostAnswer],
    samples: Mapping[str, StreamFiles],
    sent: Mapping[str, SendResult],
    how: SyncOptions,
) -> dict[str, StreamFiles]:
    """Return for every host the stream with the files that were not in its sample.

    `answers` say what each host lacks. `samples` has the samples, and `sent` says how long they took. `how.choose`
    picks the compression for a host, from the speed of its sample and from how well the files can be compressed. A host
    without a sample gets all its files, uncompressed."""
    ratio = cache(partial(compressed_ratio, tree))
    rests: dict[str, StreamFiles] = {}
    for name, answer in answers.items():
        if name not in samples:
            rests[name] = StreamFiles(answer.changes, answer.changes.send)
            continue
        there = set(samples[name].paths)
        left = tuple(path for path in answer.changes.send if path not in there)
        speed = bytes_per_s(sent[name].wire_bytes, sent[name].took_s, answer.took_s)
        codec = how.choose(LinkSpeed(speed, ratio(left), answer.has_zstd))
        large_files, others = split_large(tree, left, codec)
        rests[name] = StreamFiles(answer.changes, others, is_first=False, codec=codec, large_files=large_files)
    return rests


def _report(tree: Tree, lacked: Changes, stream_files: StreamFiles | None, *sent: SendResult | None) -> SyncReport:
    return SyncReport(
        sent=sum(not tree.entries[path].is_folder for path in lacked.send),
        sent_bytes=tree.bytes_of(lacked.send),
        removed=len(lacked.drop),
        tree_hash=tree.hash,
        codec=stream_files.codec if stream_files else Codec.NONE,
        wire_bytes=sum(part.wire_bytes for part in sent if part),
        kept=sum(part.kept for part in sent if part),
    )
