"""Sync: brings the same code to every host, in one round trip where nothing changed.

`walk.py` reads the code folder into a `Tree` (`tree.py`); hashes of unchanged files come from
`hash_cache.py`. `host_query.py` asks each host what it holds, and `tree.py` computes the `Changes` that it
lacks. `sync.py` leads through these steps and chooses a compression (`codec.py`). `pack.py` makes one tar
stream of the missing files, `broadcast.py` copies its pieces to all hosts that lack the same files, and
`stream_sender.py` sends them. `commands.py` has the shell scripts that run on a host. `steps.py` defines the
step SyncCode of a plan, and `actions.py` carries it out.

A sync without changes takes one round trip and about a hundred bytes, one with changes two, and one of more
than 8 MB three, because a sample measures the link first. Pure: `codec.py`, `commands.py`, `steps.py` and
`tree.py`. To add a codec, touch `codec.py`, `_UNPACK` in `commands.py` and `_compressor` in `pack.py`.
"""
