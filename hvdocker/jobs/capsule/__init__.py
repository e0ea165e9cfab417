"""A capsule is a file that records a job's code, image, command, environment and placement, so that the job can be
replayed or compared.

`training` makes a Capsule (`capsule`) when a job starts. `git` adds the commit and a patch of uncommitted changes;
it changes nothing in the user's repository. The capsule is stored on every host of the job and on the controller.
`store` saves capsules, and reads them from the controller or from hosts. `difference` compares two jobs for the
verb `diff`. `patch` splits a patch by file. `capsule`, `difference` and `patch` are pure.

To add a field, touch `Capsule`, its method `as_json` and the function `_read`. To show the field in `diff`, touch the
function in `difference` that returns the values of its group (code, image, command and so on)."""
