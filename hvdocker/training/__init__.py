"""Start jobs: the verbs `train` (train.py), `run` (run.py) and `replay` (replay.py).

A `train` goes through these files. inputs/ turns flags into a TrainRequest and reads everything that is
needed from the controller (user command, environment, secrets, requirements) into JobInputs, before any host
is contacted. train.py connects and calls launch.py, which holds the locks of the hosts while it decides and
starts. decide.py observes the hosts through queue.py, which with `--queue` waits for slots, chooses the
placement with choose_slots.py, plans new workers with requirements.py where the image has to change, and records
with make_capsule.py what the job is made of. plan/ turns all of it into a plan of the steps in steps.py, and
actions.py carries them out. jobs/follow.py then follows the job; report.py has what is shown and returned.
`run` calls `up`, `train` and `down` in a row; `replay` builds the TrainRequest from a capsule.

Pure: plan/, steps.py, inputs/resilience_flags.py. To add a flag of `train`, touch TrainRequest in
inputs/request.py, cli/train.py and the code that uses it; say in make_capsule.NOT_IN_CAPSULE if a replay must
not repeat it. To add a step, define it in steps.py, carry it out in actions.py, and render it in
script/script.py."""
