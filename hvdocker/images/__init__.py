"""Images: which image a cluster uses, how it is built, and how it gets onto every host.

`default_image.py` chooses the image if the inventory names none. `plan.py` compares the image content of the hosts and
returns the steps of `steps.py`; `actions.py` carries them out. A step leads to `build/` (build an image, or install
requirements on it as one layer), to `ship/` (send the missing layers to hosts), or to `registry.py` (push from the
controller, pull on hosts). `ship/` uses `fan_out/` to let hosts pass layers on to each other. `image.py` has the verbs
`image build` and `image push`, `check.py` has `image check`, and `ls.py` has `image ls`. `requirements.py` parses
requirements files. `targets.py` is the table of our images. `frameworks.py` says which launchers an image can serve.

Pure (no I/O): `plan.py`, `steps.py`, `requirements.py`, `targets.py`, `frameworks.py`, `check_rules.py`,
`image_list.py`, `image_format.py`, `build/layer_commands.py`, `build/from_commands.py`, `build/labels.py`,
`build/wheel_names.py`, `ship/resumable_parts.py`, `fan_out/capabilities.py` and `fan_out/commands.py`. To add an image
target, touch images/doc-hvd/Dockerfile.TARGET, `names.SHORT_IMAGE_NAMES`, `targets.py` and the help in `cli/image.py`.
To add a step, touch `steps.py`, `ACTIONS` in `actions.py` and the table in `script/script.py`."""
