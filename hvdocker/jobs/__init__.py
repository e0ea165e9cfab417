"""Jobs that exist: list, find, follow, stop, fetch and compare them. Package `training` starts jobs.

`lookup` observes the hosts and decides which job the user means; its FoundJob is the input of `logs`, `attach`,
`stop` and `fetch`. `jobs` lists all jobs and the queue; `diff` compares the capsules of two jobs. `job_container`
reads, follows and stops the master container of a job through the engine of its host. `follow` (for `train`) and
`attach` follow a job to its end: `log/reconnect` reopens a broken link, `head_loss` finds out whether the head is
gone, `orphan_ranks` ends the ranks that a killed supervisor left. `outcome` turns the end of a job into the error
that the user sees. `local_jobs` finds the copies under .hvdocker/jobs/ on the controller, and `history` parses
them.

Sub-packages: `log` reads output, `results` fetches and merges files, `capsule` describes what a job was made of,
`secrets` puts secrets into containers and removes them. Pure: `history`, `job_spec` (everything that defines a job),
`outcome`, `steps`, `log/rank_logs`, `results/{code_files,commands}`, `secrets/{plan,steps}` and
`capsule/{capsule,difference,patch}`.

A new step (one entry of a plan) goes into `steps.py`, and the function that carries it out into `ACTIONS` of
`actions.py` beside it. A new verb is one file here, plus one in cli/, an entry in cli/verb_table.py, the
README, and the reference (`make reference`)."""
