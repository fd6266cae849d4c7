/* stop: what SIGINT, SIGTERM, SIGHUP and SIGUSR1 do. Every thread blocks them and one that does nothing else
 * takes them: no handler of ours interrupts work, and handlers that libraries install for them are never
 * called (METIS has one of SIGTERM that jumps, on whichever thread it comes to). SIGHUP that was ignored when
 * the program began, as under nohup, stays so. */
#ifndef RUNTIME_BASE_STOP_H
#define RUNTIME_BASE_STOP_H

/* Blocks them in the calling thread and in those that it starts; makes system calls only. What comes before
 * stop_start waits for it. */
void stop_block(void);

/* Starts the thread. From here on they call `clean` and end the program as they would have; all that were
 * ignored when it began are ignored. `clean` runs in the thread, beside all others. Errors: FAILED when there
 * is no thread to be had. */
int stop_start(void (*clean)(void));

/* From here on each says so on stderr, calls `clean` and ends the process with `code`. */
void stop_leaves(int code);

/* From here on each is a request to save and end. A second SIGINT ends the process at once. */
void stop_remembers(void);

/* The signal that asked for the stop, 0 while there is none. */
int stop_requested(void);

/* What a program settles before its libraries start, which is before main: stop_block, and OpenBLAS, which
 * starts a thread a processor then, of 128 MiB of address space each, none of which we use; where it gets no
 * memory it asks for ever, where it gets no thread it interrupts the program. So the program is started once
 * more with OPENBLAS_NUM_THREADS=1 in its environment, where it is not there yet. For the section
 * .preinit_array of a program. */
void load_first(int argc, char **argv, char **environment);

#endif
