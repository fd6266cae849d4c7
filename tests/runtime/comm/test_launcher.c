/* Ranks and launchers that lose each other, played by processes that bear a launcher's name. This one takes
 * in whoever loses its parent. */
#include "runtime/comm/launcher.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/comm/comm.h"
#include "tests/check.h"

enum {
  LAUNCHER,
  WRAPPER,
  RANK,
  PLAYERS,
  BEGUN = PLAYERS,
  IDS,
  A_WHILE = 4,
  PATIENCE = 120 /* seconds; the first: several looks at the launcher */
};

struct play {
  const char *launcher; /* its name; NULL: the wrapper is the first */
  int size;             /* of the rank's job */
  int ends;             /* the rank leaves what ends the launcher later, and ends */
  volatile pid_t *ids;  /* [IDS], shared by all; 0: none to be ended; of BEGUN: of the rank */
};

static _Noreturn void play_rank(const struct play *play) {
  struct comm comm = {.size = play->size, .rank = 1};
  if (launcher_watch(&comm) != OK) _exit(9);
  if (play->ends) launcher_end_later();
  play->ids[RANK] = play->ids[BEGUN] = getpid();
  if (play->ends) _exit(0);
  for (;;) pause();
}

/* A wrapper ends as what it has started does, as a script would; a launcher stays. */
static _Noreturn void follow(const struct play *play, int player, pid_t below) {
  int status = 0;
  waitpid(below, &status, 0);
  play->ids[player + 1] = 0;
  while (player == LAUNCHER) pause(); /* NOLINT(bugprone-infinite-loop) */
  _exit(WEXITSTATUS(status));
}

/* Each is the parent of the next. */
static _Noreturn void play_from(const struct play *play, int first) {
  for (int player = first; player < RANK; player++) {
    prctl(PR_SET_NAME, player == LAUNCHER ? play->launcher : "wrapper");
    play->ids[player] = getpid();
    pid_t below = fork();
    if (below > 0) follow(play, player, below);
  }
  play_rank(play);
}

static void begin(struct play *play) {
  play->ids = mmap(NULL, IDS * sizeof(pid_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_ptr_not_equal(play->ids, MAP_FAILED);
  assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  if (fork() == 0) play_from(play, play->launcher ? LAUNCHER : WRAPPER);
  while (!play->ids[BEGUN]) usleep(1000);
}

/* Ends what is left of it. */
static void end(struct play *play) {
  for (int i = 0; i < PLAYERS; i++) {
    if (play->ids[i] == 0) continue;
    kill(play->ids[i], SIGKILL);
    waitpid(play->ids[i], NULL, 0);
  }
  munmap((void *)play->ids, IDS * sizeof(pid_t));
}

/* Waits for the end of one, which may have to become this process's child before; returns its status. */
static int end_of(struct play *play, int player) {
  for (int i = 0; i < PATIENCE * 100; i++) {
    int status = 0;
    pid_t id = play->ids[player];
    if (waitpid(id, &status, WNOHANG) == id) {
      play->ids[player] = 0;
      return status;
    }
    usleep(10000);
  }
  end(play);
  fail_msg("player %d did not end in %d s", player, PATIENCE);
  return 0;
}

static void lose(struct play *play, int player) {
  kill(play->ids[player], SIGKILL);
  (void)end_of(play, player);
}

static int lives(const struct play *play, int player) {
  return kill(play->ids[player], 0) == 0 && waitpid(play->ids[player], NULL, WNOHANG) <= 0;
}

static void assert_fails_by_itself(struct play *play, int player) {
  int status = end_of(play, player);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), FAILED);
}

TEST(a_rank_ends_when_its_parent_has_gone) {
  struct play play = {.size = 2};
  begin(&play);
  lose(&play, WRAPPER);
  assert_fails_by_itself(&play, RANK);
  end(&play);
}

TEST(a_rank_ends_when_the_launcher_above_its_parent_has_gone) {
  for (int size = 1; size <= 2; size++) {
    struct play play = {.launcher = "mpirun", .size = size};
    begin(&play);
    lose(&play, LAUNCHER);
    assert_fails_by_itself(&play, WRAPPER); /* whose code is the rank's */
    end(&play);
  }
}

/* As one started from a shell that has ended. */
TEST(a_single_rank_without_launcher_goes_on) {
  struct play play = {.size = 1};
  begin(&play);
  lose(&play, WRAPPER);
  sleep(A_WHILE);
  assert_true(lives(&play, RANK));
  end(&play);
}

TEST(ranks_go_on_while_both_are_there) {
  struct play play = {.launcher = "orted", .size = 2};
  begin(&play);
  sleep(A_WHILE);
  assert_true(lives(&play, RANK));
  end(&play);
}

TEST(a_launcher_that_outlives_its_job_is_ended_where_it_is_open_mpis) {
  struct play slurm = {.launcher = "slurmstepd", .size = 2, .ends = 1};
  struct play mpirun = {.launcher = "mpirun", .size = 2, .ends = 1};
  begin(&slurm);
  begin(&mpirun);
  int status = end_of(&mpirun, LAUNCHER);
  assert_true(WIFSIGNALED(status));
  assert_int_equal(WTERMSIG(status), SIGKILL);
  assert_true(lives(&slurm, LAUNCHER));
  end(&mpirun);
  end(&slurm);
}
