"""The headings under which the help of a verb lists its options. A flag without a heading is listed under `Options`."""

# The heading for arguments of a verb that has no options under WHAT.
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
