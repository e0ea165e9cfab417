"""Speed, as ratios taken side by side in one run: ours against what a person would type instead.

`contest.py` says what a row is, `measure.py` measures, `show.py` shows, `ground.py` makes the hosts; every
module of `rows/` is a family of rows, each with a docstring that says what both sides do."""
