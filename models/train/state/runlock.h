/* runlock: one process at a time writes to a run's folder. It locks the file `lock` there; the system
 * releases that when the process ends, however it ends. The file itself proves nothing: it may be removed, or
 * be there without a process. What counts is the lock on the file that the name leads to. */
#ifndef MODELS_TRAIN_STATE_RUNLOCK_H
#define MODELS_TRAIN_STATE_RUNLOCK_H

/* Zeroed: nothing is held. */
struct runlock {
  int open, folder; /* the folder, under whatever name */
  int held, file;   /* in it */
};

/* Takes the lock unless it is held already. make: the file, where it is not there; else nothing is made. A
 * line says so where the file system has no locks. Errors: BAD_INPUT when another process holds it, with its
 * name; when what stands there is no lock of a run, and would be written over. */
int runlock_take(struct runlock *lock, const char *folder, int make);

/* Whether the folder's name still leads to the folder, and the lock's to the lock. One that was removed is
 * made anew, with a line. Errors: FAILED when the folder was renamed, removed or replaced, or when another
 * process has taken it since. */
int runlock_hold(struct runlock *lock, const char *folder);

void runlock_release(struct runlock *lock);

#endif
