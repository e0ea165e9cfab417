"""The formats that the controller and the programs in the image exchange: the one definition, for both sides. Pure.

The controller writes job.json (`job_file.py`, with `resilience.py`: what a job does on failure) and hosts.json
(`hosts_file.py`). Ranks send messages to the supervisor and write files on their hosts: `marks.py` encodes a message in
the output, `rank_messages.py` has the content of the messages, `rank_log.py` the log of a rank, `line_header.py` the
header of a rank's line, which `output.py` parses on the controller. The supervisor writes record.json (`record.py`).
`placement.py` has the slots of a job on each host, and the label `hvdocker.placement`. `paths.py` says where files are
in a container, `variables.py` which variables ranks have. `format.py` has the version number of all these formats.

`hvdocker image build` puts this package into the image as /opt/hvdocker/lib/hvdocker/protocol, where the programs of
the image import it. So it uses only the standard library of Python 3.10, and nothing else of hvdocker."""
