/* load: what a program settles before its libraries start, which is before main: OpenBLAS starts threads
 * then, a thread a processor and 128 MiB of address space each, none of which we use, and where it gets no
 * memory it asks for ever, where it gets no thread it interrupts the program. */
#ifndef RUNTIME_BASE_LOAD_H
#define RUNTIME_BASE_LOAD_H

/* Blocks the signals that runtime/base/stop.h takes, and starts the program once more with
 * OPENBLAS_NUM_THREADS=1 in its environment, where it is not there yet. For the section .preinit_array of a
 * program. */
void load_first(int argc, char **argv, char **environment);

#endif
