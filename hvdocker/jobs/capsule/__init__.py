"""The run capsule: a file that says what a job was made of, so that the job can be replayed and compared.

`training` makes a Capsule (`capsule`) when a job starts; `git` adds the commit and a patch of uncommitted
changes. The capsule is stored on every host of the job and on the controller. `store` saves, fetches and
finds capsules. `difference` compares two jobs for `diff`, and `patch` splits a patch by file for it.
`capsule`, `difference` and `patch` are pure; `git` runs git but changes nothing in the user's repository. To
add a field, touch `Capsule` with its `as_json` and `_read`; to show it in `diff`, the function of its group
in `difference`."""
