"""Steps, stages and plans as data, and how a plan is carried out. Knows no particular step."""
