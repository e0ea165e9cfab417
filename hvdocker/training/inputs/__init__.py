"""What the user asks for, checked and read before any host is contacted.

request.py is the entry: `prepare_inputs` turns a TrainRequest, the flags as given, into JobInputs.
user_command.py resolves the script, module or command, job_environment.py (pure) merges the environment,
read_secrets.py reads the secrets, and resilience_flags.py (pure) checks the flags for restarts, elastic jobs
and hangs. To add a flag, touch TrainRequest, cli/train.py and the code that uses it."""
