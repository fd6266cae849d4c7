/* stop: SIGTERM, SIGINT and SIGUSR1 become a request to save and end; while there is nothing to save, an end.
 */
#ifndef RUNTIME_STOP_H
#define RUNTIME_STOP_H

/* From here on SIGTERM and SIGUSR1 say so on stderr, call `clean`, which may do what handlers may, and end
 * the process with `code`. */
void stop_leaves(int code, void (*clean)(void));

/* Installs the handlers, in place of those. A second SIGINT ends the process at once. */
void stop_install(void);

/* The signal that asked for the stop, 0 while there is none. */
int stop_requested(void);

#endif
