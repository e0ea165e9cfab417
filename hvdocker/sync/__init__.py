"""Sync: brings the same code to every host, in one round trip if nothing changed.

`walk.py` reads the code folder into a `Tree` (`tree.py`). Hashes of unchanged files come from `hash_cache.py`.
`ignore_files.py` finds the ignore files, `ignore_rules.py` applies their rules and `wildmatch.py` their patterns.
`host_query.py` asks each host what it holds, and `tree.py` computes the `Changes`: the files to send to that host and
to remove there. `sync.py` syncs all hosts together and chooses a compression (`codec.py`). `pack.py` makes one tar
stream of the missing files, `broadcast.py` copies the pieces of the stream to all hosts that lack the same files, and
`stream_sender.py` sends them. Before the stream, `large_files.py` sends large files, one by one. `commands.py` has the
shell scripts that run on a host. `steps.py` defines the plan step SyncCode, and `actions.py` carries it out.

A sync without changes takes one round trip and about a hundred bytes. A sync with changes takes two round trips. A
sync that sends more than 8 MB takes three, because it first sends a sample to measure the speed of the link.

Pure: `codec.py`, `commands.py`, `file_errors.py`, `ignore_rules.py`, `steps.py`, `tree.py` and `wildmatch.py`. To
add a codec, touch `codec.py`, `_UNPACK` in `commands.py` and `_compressor` in `pack.py`."""
