"""The headings under which the help of a verb lists its options. A flag without a heading is listed under `Options`."""

# Of verbs whose options have no heading for what runs.
ARGUMENTS = "Arguments"
WHAT = "What runs"
WHERE = "Where"
RANKS = "For the ranks"
FAILURES = "When it fails"
HOW = "How"
OPTIONS = "Options"
# Shown by `hvdocker help VERB`, and only named by `hvdocker VERB -h`.
SHARED = "Options of most verbs"

ORDER = (ARGUMENTS, WHAT, WHERE, RANKS, FAILURES, OPTIONS, HOW, SHARED)
