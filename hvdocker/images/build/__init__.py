"""Builds hvdocker's own images, and installs a job's requirements on an image as one layer.

`build.py` packs images/doc-hvd as the build context and runs the engine's classic builder. `base_image.py`
provides the Debian base image. `requirements_layer.py` runs pip in a container of an image and commits the
result. It uses the scripts and files of `layer_commands.py`, which is pure (no I/O). To add an image target, touch
images/doc-hvd/Dockerfile.TARGET, `names.OWN_IMAGES`, `DOCKERFILES` in `build.py` and `cli/image.py`.
"""
