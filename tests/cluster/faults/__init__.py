"""The fault matrix: support code for the tests of the faults in docs/faults.md.

matrix.py reads the rows of that page. trial.py sets up a cluster for a fault and checks it afterwards;
fixtures.py makes it available to tests. fault_injection.py breaks hosts and networks, kill_controller.py
kills the controller in a step of its plan, jobs.py starts and follows training jobs. report.py prints the
table at the end of a run. The few faults of `make test` (tests/cluster/test_faults.py,
test_training_faults.py) and the whole matrix of `make chaos` (tests/chaos) share this code."""
