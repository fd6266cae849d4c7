/* log: what a person reads. Rank 0 speaks on stdout; warnings go to stderr. Each line is a result, said
 * always; a note on what goes on; or a detail. Until log_show says otherwise all are printed. */
#ifndef RUNTIME_BASE_LOG_H
#define RUNTIME_BASE_LOG_H

/* Only the speaker prints; call once with speaker = (rank == 0). A program that never calls it speaks. */
void log_open(int speaker);

enum log_level { LOG_RESULT, LOG_INFO, LOG_DETAIL };

/* From now on lines up to that level are printed. */
void log_show(enum log_level most);
/* Whether lines of that level are, on the rank that speaks. */
int log_shows(enum log_level level);

/* A line on stdout (a newline is added). Ends a progress line first. */
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define log_result(...) log_line(LOG_RESULT, __VA_ARGS__)
#define log_info(...) log_line(LOG_INFO, __VA_ARGS__)
#define log_detail(...) log_line(LOG_DETAIL, __VA_ARGS__)

/* A line "warning: ..." on stderr. */
void log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A note that the next log_progress rewrites on a terminal; on a pipe or file a plain line. */
void log_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whether log_progress rewrites: stdout is a terminal and the progress mode allows it. */
int log_is_terminal(void);

#endif
