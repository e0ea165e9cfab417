"""Hooks: the user's own programs in .hvdocker/hooks/, which run on the controller before and after verbs.

`hooks.py` decides whether a hook runs and with which environment; `run_hook.py` runs it as a process and
checks that the file can be trusted. Neither is pure. A verb gets a `Hooks` object from cli/verb_setup.py and
calls its `before`, `after`, `around` or `on_failure`; training/train_hooks.py does so for jobs. To add a
hook, call it in the verb and add its name to `HOOK_NAMES`, from which the tests take the names of all hooks."""
