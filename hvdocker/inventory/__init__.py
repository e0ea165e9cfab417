"""The inventory: its keys, its YAML file, which file is used, and what ~/.ssh/config adds. Also the verbs init and
config.

locate.py chooses and reads the file; state_folder.py keeps the pointer to the current inventory in .hvdocker/.
yaml_document.py turns the text of the file into plain values with line numbers. parse.py checks these values with
field_reader.py against the table in fields.py, and returns an `Inventory` (inventory.py) or raises all problems at
once. schema.py generates the JSON Schema from the same table, and template.py the commented file that `init` writes.
config_text.py renders an inventory for `config`, with origin.py for where each setting comes from and redact.py for
secrets. menu_choice.py reads the user's choice of hosts in `init`, select_hosts.py selects the hosts that a flag names,
and safe_text.py makes any text safe to print. ssh_config/ reads ~/.ssh/config, and other_formats/ the host lists of
other tools. All files are pure except config.py, init.py, locate.py, state_folder.py and ssh_config/; no file contacts
a host.

To add a key, touch fields.py, parse.py, inventory.py and config_text.py, the schema (`make schema`), the code that uses
the key, and the reference (`make reference`)."""
