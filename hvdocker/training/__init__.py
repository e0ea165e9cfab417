"""Start jobs: the verbs `train` (train.py), `run` (run.py) and `replay` (replay.py).

A `train` goes through these files:
1. inputs/ checks the flags (TrainRequest) and reads everything that is needed from the controller (user command,
   environment, secrets, requirements) into JobInputs, before any host is contacted.
2. train.py connects to the hosts. With `--queue`, queue.py waits for free slots.
3. launch.py holds the locks of the hosts while decide.py decides and while the job is started.
4. decide.py observes the hosts, chooses the placement with choose_slots.py, plans new workers with
   requirements.py if the image has to change, and records the job in a capsule with make_capsule.py.
5. plan/ turns these decisions into a plan of the steps in steps.py, and actions.py carries them out.
6. jobs/follow.py follows the job to its end. report.py has what is shown and returned.

`run` calls `up`, `train` and `down` in a row. `replay` builds the TrainRequest from a capsule.

Pure: plan/, steps.py, inputs/job_environment.py, inputs/resilience_flags.py. To add a flag of `train`, change
TrainRequest in inputs/request.py, cli/train.py and the code that uses the flag. If a replay must not repeat the flag,
add it to make_capsule.NOT_IN_CAPSULE. To add a step, define it in steps.py, carry it out in actions.py, and render it
in script/script.py."""
