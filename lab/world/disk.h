/* The disks of the simulated world: what a process has stored, what of it is synced, and what
 * a crash leaves of it. */
#ifndef LAB_WORLD_DISK_H
#define LAB_WORLD_DISK_H

#include "lab/world/process.h"
#include "store/store.h"

#define DISK_LINES 2

/* A store on the disk: batches are merged into groups as store/ does, groups are written one after
 * the other, and synced without those of the other line. */
struct disk_line {
	struct happening happening; /* the writer takes what waits, or has written a group */
	struct disk *disk;
	struct list waiting; /* struct store_group.link, in the memory of the process */
	struct list writing; /* those that the writer has taken */
	bool sync;	     /* with the last of them */
	struct list written; /* struct disk_group.link: not synced */
	uint64_t last;	     /* number of the last batch of this process */
	uint64_t applied, durable;
};

/* Outlives the processes that use it. No key is written in two lines. */
struct disk {
	struct world *world;
	const char *name;	    /* of its owner */
	struct disk_record *synced; /* table by key */
	struct disk_line lines[DISK_LINES];
	uint64_t bytes;
	/* Of the process that has it open: the line has got further. */
	void (*done)(void *context, int line);
	/* A write failed, or the machine crashed in it: nothing more is written, and the
	 * process must end. */
	void (*fail)(void *context, bool crash);
	void *context;
	/* Writes fail so long; if not `full`, only synced ones. Nor can it be opened. */
	int64_t failing_until;
	bool full;
	int doom; /* the machine crashes in this write from now; 0 = not */
};

void disk_init(struct disk *disk, struct world *w, const char *name,
	       void (*fail)(void *context, bool crash), void *context);
void disk_free(struct disk *disk);
/* False if it is failing. */
bool disk_open(struct disk *disk, void (*done)(void *context, int line));
/* It works again. */
void disk_mend(struct disk *disk);
/* The process died; with its machine, if `crash`: then a random part of what was not synced
 * is lost, in the order of each line. */
void disk_drop(struct disk *disk, bool crash);
/* Returns the number of the batch in its line, from 1 in each life, as store_write() does. */
uint64_t disk_write(struct disk *disk, int line, enum store_class class, const struct store_op *ops,
		    size_t count);
/* All pairs in the order of their keys. */
int disk_load(struct disk *disk, int (*each)(void *context, struct slice key, struct slice value),
	      void *context);

#endif
