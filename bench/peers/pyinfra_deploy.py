"""Creates the same workers as `hvdocker up`, with pyinfra. Run by the Python of the peers' environment."""

from pyinfra import host
from pyinfra.operations import server

seen = host.data
server.shell(name="create", commands=[f"{seen.folders} && {seen.create}"])
server.shell(name="files in", commands=[f"echo {seen.files} | base64 -d | docker cp - {seen.worker}:/"])
server.shell(name="start", commands=[f"docker start {seen.worker}"])
server.shell(name="wait for sshd", commands=[seen.await_sshd])
