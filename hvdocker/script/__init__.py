"""Write a plan as a bash script (`--dry-run --script`) that uses ssh, docker, tar and ssh-keygen. Only the steps that
build an image of ours or fetch jobs call hvdocker.

The command line calls `as_script` in script.py, which adds what is not in the plan: the template of the SSH
configuration and the hosts that need sudo. script.py writes the script: a header, one shell function per host,
then the lines of every step, from a table of one render function per type of step. images.py has the render
functions for steps on images, join.py those for hosts that join a running job, and writer.py the building blocks
of the lines. All files but script.py, which reads the template, are pure. No secret and no private key stands in a
script: it makes or copies keys, and reads secrets, when it runs. To add a step, add a function to the table in
script.py; a test compares the table with all steps."""
