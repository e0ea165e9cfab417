"""The inputs of a job from the controller: flags and files, checked and read before any host is contacted.

request.py is the entry: `prepare_inputs` turns a TrainRequest (the flags as given) into JobInputs.
user_command.py resolves the script, module or command. job_environment.py (pure) merges the environment variables.
read_secrets.py reads the secrets. resilience_flags.py (pure) checks the flags for restarts, elastic jobs and hangs.
To add a flag, change TrainRequest, cli/train.py and the code that uses the flag."""
