"""Builds hvdocker's own images, and installs a job's requirements on an image as one layer.

`build.py` builds a target: `context.py` packs images/doc-hvd, `builder.py` runs the engine's classic builder and adds
`labels.py`, and `base_image.py` provides the Debian base image. The controller keeps wheels in `wheel_cache.py`, and
`wheel_server.py` serves them to the build; `torch_wheel.py` chooses the build of PyTorch. `from_image.py` builds on a
user's image, with the Dockerfile of `from_commands.py`. `trial.py` and `image_files.py` look into an image.
`requirements_layer.py` runs pip in a container of an image and commits the result, with the scripts of
`layer_commands.py`. To add an image target, see images/.
"""
