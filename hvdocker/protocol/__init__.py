"""The formats that the controller and the programs in the image exchange. Pure.

job.py has job.json, which the controller writes for every host of a job, and record.json, which the supervisor writes
and the controller reads. placement.py has the slots of a job on each host, and the label `hvdocker.placement`.
resilience.py says what a job does on failure. output.py reads the lines of a job's output. json_text.py writes JSON.
The image has its own readers and writers of these formats in images/doc-hvd/lib/inside/protocol: change both together.
The package is meant to be shipped into the image, so it imports only the standard library and hvdocker.secret."""
