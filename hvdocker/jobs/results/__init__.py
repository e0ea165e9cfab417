"""Fetch the outputs and logs of a job from its hosts into one folder on the controller.

`fetch_files` unpacks a tar stream of each host into a staging folder and rejects unsafe entries. Then `merge`
moves the staged files of all hosts into the target folder and reports clashes (files that differ between hosts).
The caller is `jobs/fetch.py`, for the verbs `fetch` and `down` and after the loss of a head. Both files act on the
local disk; neither changes anything on a host."""
