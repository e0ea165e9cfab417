"""The Docker engine of a host, over its link: container specifications, files and commands in containers.

Plans describe containers and files as values: `container_spec.py` (a container, rendered for the Docker API and
for the docker CLI) and `file_spec.py` (a file in a container, and the container's user). `container_commands.py`
gives the commands that are run in containers. These three files are pure. The others act through `link.engine()`:
`archive.py` puts files into containers and reads them, `container_exec.py` runs and ends commands in them, and
`container_errors.py` detects that a container was removed while it is being used.

To add a setting of containers, add a field to `ContainerSpec` and render it in both `create_body` and
`create_command`. Every field is part of the fingerprint unless `fingerprint` removes it, so a new field makes `up`
replace existing workers."""
