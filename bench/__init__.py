"""Speed, as ratios taken side by side in one run: ours against what a person would type instead."""
