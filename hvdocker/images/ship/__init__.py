"""Sends one image to several hosts: only the layers that a host's engine lacks, in parts.

`shipment.py` comes first: it finds out what every host lacks (`load.py`) and has the source engine's image
read once (`export.py`) into a cache of layers on the controller (`cache.py`). It then checks the free disk
and sends to each host, from the controller or through `fan_out/`. `resumable_parts.py` splits the image into archives
for `docker load`; it is pure. `load.py` loads them and checks the result, and `part_tags.py` removes the
names of the parts.

The image is read once into a cache, rather than piped to each host or served by a registry of our own:
reading an image out of an engine takes longer than sending it, hosts need nothing installed, and a one-line
change sends kilobytes.
"""
