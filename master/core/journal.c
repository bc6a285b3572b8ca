#include "master/core/journal.h"

#include "master/core/store/warm.h"
#include "master/core/sums.h"
#include "master/core/watch.h"

typedef void consumer(struct master *m, const struct change *change);

static consumer *const consumers[] = {
	warm_note,
	sums_note,
	watch_note,
};

static void journal_tell(struct master *m, const struct change *change)
{
	for (size_t i = 0; i < sizeof(consumers) / sizeof(*consumers); i++)
		consumers[i](m, change);
}

void journal_task(struct master *m, enum journal_kind kind, struct task *t)
{
	journal_tell(m, &(struct change){.kind = kind, .task = t});
}

void journal_status(struct master *m, struct task *t, const Mesos__TaskStatus *status)
{
	journal_tell(m, &(struct change){.kind = JOURNAL_TASK_STATUS, .task = t, .status = status});
}

void journal_completed(struct master *m, enum journal_kind kind, struct completed_task *c)
{
	journal_tell(m, &(struct change){.kind = kind, .completed = c});
}

void journal_executor(struct master *m, enum journal_kind kind, struct executor *e)
{
	journal_tell(m, &(struct change){.kind = kind, .executor = e});
}

void journal_framework(struct master *m, enum journal_kind kind, struct framework *f)
{
	journal_tell(m, &(struct change){.kind = kind, .framework = f});
}

void journal_agent(struct master *m, enum journal_kind kind, struct agent *a)
{
	journal_tell(m, &(struct change){.kind = kind, .agent = a});
}
