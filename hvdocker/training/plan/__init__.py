"""Plans of `train`. Pure: a state of the hosts goes in, a Plan comes out.

worker_images.py comes first: it plans new workers where the job needs another image. train.py plans the job
itself: sync the code, write the files, create and start the master, whose container master_container.py
specifies. training/decide.py puts the stages of both into one plan."""
