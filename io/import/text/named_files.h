/* named_files: the files of a published data set, which share a NAME that nobody has said: NAME_A.txt and
 * NAME_graph_labels.txt, NAME.content and NAME.edges. Each may be compressed: NAME_A.txt.gz. */
#ifndef IO_IMPORT_TEXT_NAMED_FILES_H
#define IO_IMPORT_TEXT_NAMED_FILES_H

enum { NAMED_FOLDER = 1024, NAMED_PATH = NAMED_FOLDER + 384 };

struct named_files {
  char folder[NAMED_FOLDER], name[256];
};

/* Finds the NAME of the one file that is called so, in the folder or in its raw/, where PyTorch Geometric
 * leaves them. 0: there is none, or several. */
int named_files_find(struct named_files *files, const char *folder, const char *prefix, const char *suffix);

/* Where a file is; 0 where there is none: path is that of the one without .gz then. */
int named_files_path(const struct named_files *files, const char *prefix, const char *suffix,
                     char path[NAMED_PATH]);

#endif
