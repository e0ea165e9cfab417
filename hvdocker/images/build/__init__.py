"""Builds hvdocker's own images, and installs a job's requirements on an image as one layer.

`build.py` builds a target: `context.py` packs images/doc-hvd, `builder.py` runs the engine's classic builder and adds
the labels of `labels.py`, and `base_image.py` provides the Debian base image. The controller keeps wheels in
`wheel_cache.py`, and `wheel_server.py` serves them to the build; `torch_wheel.py` chooses the build of PyTorch.
`from_image.py` builds on a user's image, with the Dockerfile of `from_commands.py`. `trial.py` runs a program in a
container of an image, and `image_files.py` reads files of an image without running it. `requirements_layer.py` runs pip
in a container of an image and commits the result, with the scripts of `layer_commands.py`. To add an image target, see
images/__init__.py."""
