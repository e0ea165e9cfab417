"""Sends one image to several hosts: only the layers that a host's engine lacks.

`shipment.py` is the entry point. It finds out which layers each host lacks (`load.py`). It reads the image once from
the engine that has it (`export.py`) into a cache of layers on the controller (`cache.py`). It then checks the free disk
and sends the layers to each host, from the controller or through `fan_out/`. `resumable_parts.py` splits the image into
parts (archives for `docker load`); it is pure. `load.py` loads the parts and checks the result, and `part_tags.py`
removes the tags of the parts.

A cache is used, rather than a pipe to each host or a registry of our own, for three reasons: reading an image out of an
engine takes longer than sending it, hosts need nothing installed, and a one-line change sends only kilobytes."""
