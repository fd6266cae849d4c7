/* ogb: what the files of an OGB folder share. */
#ifndef IO_IMPORT_ARRAYS_OGB_H
#define IO_IMPORT_ARRAYS_OGB_H

#include "io/import/import.h"

enum { OGB_PATH = 1200, OGB_NAME = 300 };

/* FOLDER/NAME; the name of OGB's folder is short enough for all that is in it. */
void ogb_path(char path[OGB_PATH], const char *folder, const char *name);
/* Where the table "name" of a folder is: name.csv, or name.csv.gz. Returns 0 when there is neither. */
int ogb_find(const char *folder, const char *name, char path[OGB_PATH]);

/* Nodes, arcs, features and labels from raw/data.npz and raw/node-label.npz. */
int ogb_archives(struct import *import, const char *raw);

/* FOLDER/split/<name>/{train,valid,test}.csv.gz, a node id a line; several splits in the order of their
 * names. Nothing happens where there is no FOLDER/split. */
int ogb_splits(struct import *import, const char *folder);

#endif
