/* Makes a failing run smaller: fewer faults, events, parts, tasks, less time, as long as it
 * fails alike. */
#ifndef LAB_SCENARIO_SHRINK_H
#define LAB_SCENARIO_SHRINK_H

#include "lab/command.h"

#define SHRINK_KIND 96
#define SHRINK_TEXT 256

/* What a try ends with. */
struct shrink_verdict {
	bool failed;
	char kind[SHRINK_KIND]; /* of the failure: its text without numbers */
	char text[SHRINK_TEXT]; /* its first line */
	uint64_t begun;		/* random faults */
	int64_t time;		/* of the failure */
};

struct shrink {
	struct lab_options best;
	struct numbers faults, events; /* of it */
	struct shrink_verdict first;
	int tries;
	struct shrink_verdict (*attempt)(struct shrink *s, const struct lab_options *options);
	void *context; /* the caller's */
};

/* Each try is a process of its own: crashes shrink, too. The exit status. */
int shrink_run(const struct command *c);
/* Of any `attempt`: false if the first one does not fail. */
bool shrink_reduce(struct shrink *s);
void shrink_free(struct shrink *s);
/* Failures are alike if their texts are, but for ids and numbers. */
void shrink_classify(const char *text, char kind[SHRINK_KIND]);

#endif
