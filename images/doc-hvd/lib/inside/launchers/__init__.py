"""Code that knows one launcher (a program such as horovodrun that starts the ranks): its command line, its output
format, its failures. Files here are pure and import only `inside/protocol` and `inside/runtime`.

Today only `host_prefix.py` is here. It rewrites the rank prefix that horovodrun puts before each line, and the
supervisor calls it for the start of every line. Other code that depends on horovodrun is still in
`supervisor/restarts.py`, `supervisor/attempt.py`, `supervisor/line_splitter.py`, `protocol/marks.py`, `hang/idle.py`,
`hang/odd_rank.py`, `rank/environment.py`, `rank/usage.py` and `rank/rank.py`. To add a launcher, add a file here and
one of the same name in `hvdocker/launchers`."""
