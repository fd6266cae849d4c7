/* log: what a person reads. Rank 0 speaks on stdout; warnings go to stderr. */
#ifndef RUNTIME_BASE_LOG_H
#define RUNTIME_BASE_LOG_H

/* Only the speaker prints; call once with speaker = (rank == 0). A program that never calls it speaks. */
void log_open(int speaker);

/* A line on stdout (a newline is added). Ends a progress line first. */
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A line "warning: ..." on stderr. */
void log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A line that the next log_progress rewrites on a terminal; on a pipe or file a plain line. */
void log_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whether log_progress rewrites: stdout is a terminal and the progress mode allows it. */
int log_is_terminal(void);

#endif
