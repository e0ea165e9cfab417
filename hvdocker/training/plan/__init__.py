"""Plans of `train`. Pure: takes the observed state of the hosts, returns a Plan.

worker_images.py comes first: it plans new workers if the job needs another image. train.py plans the start of the
job: sync the code, write the files, create and start the master. master_container.py specifies the master.
training/decide.py puts the stages of both plans into one plan."""
