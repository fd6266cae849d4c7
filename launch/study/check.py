"""Whether gnntrain takes the settings of a sweep, asked before anything is trained."""
import concurrent.futures
import json
import os
import subprocess

from study import grid, results
from study.common import Failure


def command_of(args, setting):
    words = [os.path.join(args.build, "gnntrain"), args.config, "--check", "--quiet"]
    for assignment in args.set:
        words += ["--set", assignment]
    words += [*grid.words_of(setting), "--set", f"log.dir={json.dumps(str(args.out / 'none'), ensure_ascii=False)}"]
    if args.ranks > 1:
        words += ["--set", "partition.grid=auto"]  # which depends on the ranks, and one process looks
    return words


def look(args, setting):
    """All settings of that run, as gnntrain resolves them, and None; or None and its sentence."""
    done = subprocess.run(command_of(args, setting), stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    if done.returncode == 0:
        return results.settings_of(done.stdout), None
    sentence = results.last_sentence(done.stderr) or f"gnntrain --check ended with exit code {done.returncode}"
    if done.returncode != 2:
        raise Failure(sentence)
    return None, sentence


def look_at_ends(args, keys, setting):
    """The ends of ranges: what is drawn later lies between them. Each stands in a setting that is taken."""
    for key in keys:
        for end in key.ends if key.is_range else ():
            sentence = look(args, {**setting, key.key: end})[1]
            if sentence:
                raise Failure(sentence, 2)


def look_at_all(args, keys, settings):
    """(settings as they are resolved, sentence) of each. A value that no setting can have, or a configuration that no
    setting makes right, is a Failure; settings whose values do not go together are what has a sentence in the end."""
    pool = concurrent.futures.ThreadPoolExecutor(min(len(os.sched_getaffinity(0)), 16))
    try:
        found = list(pool.map(lambda setting: look(args, setting), settings))
    finally:
        pool.shutdown(cancel_futures=True)
    for key in keys:
        values = [None if key.is_range else setting[key.key] for setting in settings]
        for value in dict.fromkeys(values):
            said = [sentence for other, (_, sentence) in zip(values, found) if other == value]
            if all(said):
                raise Failure(said[0], 2)
    look_at_ends(args, keys, settings[[sentence for _, sentence in found].index(None)])
    return found
