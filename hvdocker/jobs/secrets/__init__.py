"""A job's secrets in containers: put them there, and remove them when the job has ended.

`training` reads the values into the apply context, as a type that prints stars. `plan` decides which
containers get secrets and which may still have some, and returns the steps of `steps`; both are pure, and
hold names only, no values. `actions` carries out the steps through the engine's API: the values of one
container travel as one archive. Secrets are put after the master is created and before it is started, so that
a label of the master names whatever may be left anywhere.

The supervisor removes them when the job ends, in its own container and, over ssh, in the workers. A rank
wrapper that loses its launcher removes them on its host, unless the job may be restarted. The steps here
handle the rest: a killed master, or a host that was unreachable when the job ended. `down` removes the
containers with all that is in them. To add a step, touch `steps`, `plan` and `ACTIONS` in `actions`."""
