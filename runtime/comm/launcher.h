/* launcher: what started this rank (mpirun, its daemon on this host, Slurm's), and what comes of either once
 * the other is lost. A rank without its launcher ends by itself; a launcher that goes on waiting for a lost
 * host when its job has ended is ended. */
#ifndef RUNTIME_COMM_LAUNCHER_H
#define RUNTIME_COMM_LAUNCHER_H

struct comm;

/* From here on a thread looks once a second whether the launcher is there: the nearest of this process's
 * ancestors that bears a launcher's name, and, in jobs of several ranks, the parent. When one has gone, the
 * first rank of the node says so and each ends with FAILED, whatever its main thread does. A rank that had
 * neither at its start is left alone. Errors: FAILED when there is no thread to be had. */
int launcher_watch(const struct comm *comm);

/* Ends that thread; harmless where none runs. */
void launcher_release(void);

/* Leaves a process behind that ends the launcher, where it is Open MPI's and this user's, once it has
 * outlived the job by ten seconds: mpirun and its daemons wait without end for one that does not answer. Call
 * it ahead of comm_abort. */
void launcher_end_later(void);

#endif
