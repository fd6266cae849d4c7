/* stop: SIGTERM, SIGINT and SIGUSR1 become a request to save and end. */
#ifndef RUNTIME_STOP_H
#define RUNTIME_STOP_H

/* Installs the handlers. A second SIGINT ends the process at once. */
void stop_install(void);

/* The signal that asked for the stop, 0 while there is none. */
int stop_requested(void);

#endif
