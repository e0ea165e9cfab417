"""Start jobs: the verbs `train` (train.py), `run` (run.py) and `replay` (replay.py).

A `train` goes through these files. request.py turns flags into a TrainRequest and reads everything that is
needed from the controller (user command, environment, secrets, requirements) into JobInputs, before any host
is contacted. queue.py observes the hosts and, with `--queue`, waits for slots. slots.py chooses the
placement. requirements.py plans new workers where the image has to change. make_capsule.py records what the
job was made of. plan/ turns all of it into a plan of the steps in steps.py, and actions.py carries them out.
`run` calls `up`, `train` and `down` in a row; `replay` builds the TrainRequest from a capsule.

Pure: plan/, steps.py, resilience_flags.py. To add a flag of `train`, touch TrainRequest in request.py,
cli/train.py and the code that uses it; say in make_capsule.NOT_IN_CAPSULE if a replay must not repeat it. To
add a step, define it in steps.py, carry it out in actions.py, and render it in script/script.py."""
