"""A job's secrets in containers: put them there, and remove them when the job has ended.

`training` reads the values into the context in which steps are carried out (plan/apply.py), as a type that prints
stars. `plan` decides which containers get secrets and which may still have secrets of ended jobs. It returns the steps
that `steps` defines. Both files are pure, and hold only names of secrets, no values. `actions` carries out the steps
through the engine's API: the values for one container are sent as one archive. Secrets are put after the master is
created and before it is started. A label of the master names the secrets, so that later commands know what may be left
in containers.

The supervisor removes the secrets when the job ends, in its own container and, over ssh, in the workers. A rank wrapper
that loses the connection to the launcher removes the secrets on its host, unless the job may be restarted. The steps
here handle the rest: a killed master, or a host that was unreachable when the job ended. `down` removes the containers
with all that is in them. To add a step, touch `steps`, `plan` and `ACTIONS` in `actions`."""
