"""Fetch the files of a job from its hosts into one folder on the controller: outputs, logs, and what the job left in
the code folder.

The entry is the function `fetch_job` in `fetch_files`. `commands` lists the code folder of a host, and `code_files`
decides which job left which files in it. `read_host` reads the files of one host as tar streams. `unpack` writes them
into a staging folder and rejects unsafe entries. Then `merge` moves the staged files of all hosts into the target
folder and reports clashes (files that differ between hosts). `fetch_marks` records what was fetched. The callers are
`jobs/fetch.py`, for the verb `fetch` and after the loss of a head, and `cluster/bring_home.py`, for `down` and `gc`. On
a host only permissions change, so that the SSH user can read its own files.

Pure: `code_files.py` and `commands.py`."""
