"""Launchers: the programs, such as horovodrun, that start the ranks of a job. Pure; one file per launcher.

launcher.py has the Launcher protocol: a placement goes in, the command line that starts all ranks comes out.
training/decide.py chooses a launcher and stores that command line in job.json; the supervisor in the master runs it.
horovod.py builds the command line of horovodrun, horovod_flags.py checks the tuning flags that the user passes on to
horovodrun, and horovod_output.py removes horovodrun's noise from the output of a job. To add a launcher, add a file
here and choose it in training/decide.py; the image needs a counterpart in inside/launchers/."""
