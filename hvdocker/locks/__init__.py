"""Host locks, tickets, and the checks of who owns a cluster or job.

A lock keeps two hvdocker commands from changing a host at the same time. A ticket is a file on a host that shows that a
waiting or running command is alive.

A verb that changes hosts calls `locked` in lock.py; the same file implements the verb `lock`. `locked` builds a `Claim`
(holder.py: who takes the lock, and for which verb) and enters `hold_locks` in held_locks.py. held_locks.py runs the
shell scripts of lock_takeover_commands.py on every host, renews the locks in the background, and releases them at the
end. Tickets have the same layers: ticket.py has the values, ticket_commands.py the shell scripts, held_ticket.py one
ticket on one host, and heartbeat.py one ticket on each host of a `hvdocker run`. owner.py has the owner checks.
holder.py, ticket.py, tmp_folder.py, lock_takeover_commands.py, ticket_commands.py and owner.py are pure.

`up`, `down`, `gc` and `image push` first read the state of the hosts without locks. If there is something to do, they
take the locks, read the state again and plan again. So a second `up` of a healthy cluster takes no lock. `keys rotate`
takes the locks before it reads the state. `train` takes the locks before it looks for free slots and releases them when
the master runs; from then on the labels of the master hold the slots. Dry runs, `stop`, `fetch` and `image build` take
no lock."""
