"""JobSpec: everything that defines a job, as the controller knows it. The job's containers get a part of it, job.json.
Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hvdocker.launchers.choose import BY_DEFAULT
from hvdocker.protocol.job_file import MASTER_PORT, Job, JobHost, JobLauncher
from hvdocker.protocol.placement import Placement
from hvdocker.protocol.resilience import Resilience
from hvdocker.secret import SecretSource


@dataclass(frozen=True)
class JobSpec:
    """Everything that defines a job. `job` is the id of the job, `cluster` the name of its cluster. `placement` has its
    hosts and slots, `addresses` the training address of each host. `port` is the SSH port of the workers, `master_port`
    the first of the ports that the ranks use. `launcher` says how the ranks are started, `launcher_preview` are words
    that show this to the user. `np` is the number of ranks; 0 means as many as there are slots. `command` is what
    each rank runs, in the folder `workdir` of its container. `code_hash` identifies the state of the code. `env` has
    the variables of `env:` in the inventory and of `--env`; `env_from_caller` names those whose values came from the
    caller's environment. `secrets` says where to read each secret, `resilience` what the job does on failure. `script`
    is what the user named: a script, a module, or the first word of a command."""

    job: str
    cluster: str
    placement: Placement
    addresses: Mapping[str, str]
    port: int
    command: tuple[str, ...]
    launcher: JobLauncher
    workdir: str
    env: Mapping[str, str] = field(default_factory=dict)
    code_hash: str = ""
    env_from_caller: tuple[str, ...] = ()
    secrets: tuple[SecretSource, ...] = ()
    resilience: Resilience = field(default_factory=Resilience)
    script: str = ""
    launcher_preview: tuple[str, ...] = ()
    master_port: int = MASTER_PORT
    np: int = 0

    @property
    def launcher_choice(self) -> str:
        """The name of the launcher and what chose it, for the plan. Empty if nothing chose a launcher, so that the
        default one is used."""
        has_reason = self.launcher.reason not in ("", BY_DEFAULT)
        return f"{self.launcher.name} ({self.launcher.reason})" if has_reason else ""

    def for_host(self, host: str) -> str:
        """Return the text of the job.json that the rank wrapper and the supervisor read on `host`, a host of the
        job."""
        return Job(
            name=self.job,
            cluster=self.cluster,
            host=host,
            hosts=tuple(
                JobHost(share.host, self.addresses[share.host], share.slots) for share in self.placement.shares
            ),
            command=self.command,
            workdir=self.workdir,
            launcher=self.launcher,
            env=self.env,
            np=self.np,
            port=self.port,
            master_port=self.master_port,
            code_hash=self.code_hash,
            secrets=tuple(secret.name for secret in self.secrets),
            devices=self.placement.devices_on(host),
            resilience=self.resilience,
        ).text()
