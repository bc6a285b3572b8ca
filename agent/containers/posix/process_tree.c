/* Walks /proc; see process_tree.h.
 *
 * A process may appear or vanish at any moment: what cannot be read is skipped, and
 * killing walks again until a walk finds nobody new. */
#include "agent/containers/posix/process_tree.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory/arena.h"
#include "base/memory/buf.h"

/* Walks before giving up on a tree that keeps growing although all of it is stopped. */
#define WALKS_MAX 20
/* Bytes of an environment that are searched; the kernel allows some MB. */
#define ENVIRONMENT_MAX (1024 * 1024)

static ssize_t process_tree_read_file(const char *path, char *data, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return -1;
	got = read(fd, data, size - 1);
	close(fd);
	if (got >= 0)
		data[got] = '\0';
	return got;
}

bool process_read(pid_t pid, struct process *out)
{
	char path[64], text[1024];
	const char *rest;
	long parent, group, session;
	unsigned long long user, system, start;
	long rss;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	/* The command's name may hold anything, so the fields are behind the last ')'. */
	if (process_tree_read_file(path, text, sizeof(text)) <= 0 || !(rest = strrchr(text, ')')))
		return false;
	memset(out, 0, sizeof(*out));
	if (sscanf(rest + 1,
		   " %c %ld %ld %ld %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %*d %*d "
		   "%llu %*u %ld",
		   &out->state, &parent, &group, &session, &user, &system, &start, &rss) != 8)
		return false;
	out->pid = pid;
	out->parent = (pid_t)parent;
	out->group = (pid_t)group;
	out->session = (pid_t)session;
	out->user_ticks = user;
	out->system_ticks = system;
	out->start_ticks = start;
	out->rss_pages = rss > 0 ? (uint64_t)rss : 0;
	return true;
}

void process_list_read(struct process_list *list)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	size_t cap = 0;

	list->items = NULL;
	list->count = 0;
	while (proc && (entry = readdir(proc))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		if (list->count == cap) {
			cap = cap ? 2 * cap : 256;
			list->items = xrealloc(list->items, cap * sizeof(*list->items));
		}
		if (process_read(atoi(entry->d_name), &list->items[list->count]))
			list->count++;
	}
	if (proc)
		closedir(proc);
}

void process_list_free(struct process_list *list)
{
	free(list->items);
	list->items = NULL;
	list->count = 0;
}

/* ---- membership ---------------------------------------------------------- */

static int compare_pid(const void *a, const void *b)
{
	pid_t left = *(const pid_t *)a, right = *(const pid_t *)b;

	return (left > right) - (left < right);
}

static bool has_pid(const pid_t *sorted, size_t count, pid_t pid)
{
	return bsearch(&pid, sorted, count, sizeof(pid), compare_pid) != NULL;
}

/* One round: marks who belongs to the members marked so far. True: somebody new. */
static bool mark_more(struct process_list *list, pid_t *members)
{
	pid_t self = getpid();
	size_t count = 0;
	bool grew = false;

	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].member)
			members[count++] = list->items[i].pid;
	qsort(members, count, sizeof(*members), compare_pid);
	for (size_t i = 0; i < list->count; i++) {
		struct process *p = &list->items[i];

		if (p->member || p->pid == self || p->pid == 1)
			continue;
		if (has_pid(members, count, p->parent) || has_pid(members, count, p->session) ||
		    has_pid(members, count, p->group))
			grew = p->member = true;
	}
	return grew;
}

static size_t count_members(const struct process_list *list)
{
	size_t count = 0;

	for (size_t i = 0; i < list->count; i++)
		count += list->items[i].member;
	return count;
}

size_t process_list_mark(struct process_list *list, pid_t root)
{
	pid_t *members = xcalloc(list->count + 1, sizeof(*members));
	pid_t self = getpid();

	for (size_t i = 0; i < list->count; i++) {
		struct process *p = &list->items[i];

		/* The root's own process may be gone, its session not. */
		p->member = root > 1 && p->pid != self && p->pid != 1 &&
			    (p->pid == root || p->session == root || p->group == root);
	}
	while (mark_more(list, members))
		;
	free(members);
	return count_members(list);
}

/* ---- children ------------------------------------------------------------- */

/* Appends the pids that a file of the kernel lists. False: a kernel without it, or no such
 * process. */
static bool read_children(const char *path, struct buf *text)
{
	char piece[4096];
	ssize_t got;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	while ((got = read(fd, piece, sizeof(piece))) > 0)
		buf_append(text, piece, (size_t)got);
	close(fd);
	return true;
}

static pid_t next_child(char **at)
{
	char *end;
	long pid = *at ? strtol(*at, &end, 10) : 0;

	if (pid <= 0 || end == *at)
		return 0;
	*at = end;
	return (pid_t)pid;
}

static pid_t *children_by_walk(void)
{
	struct process_list list;
	pid_t *found, self = getpid();
	size_t count = 0;

	process_list_read(&list);
	found = xcalloc(list.count + 1, sizeof(*found));
	for (size_t i = 0; i < list.count; i++)
		if (list.items[i].parent == self)
			found[count++] = list.items[i].pid;
	process_list_free(&list);
	return found;
}

pid_t *process_children(void)
{
	char path[64], *at;
	struct buf text = BUF_INIT;
	size_t count = 0;
	pid_t *found, pid;

	/* Those that other threads forked are not listed: only the main thread does, and
	 * orphans are given to it as well. */
	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	if (!read_children(path, &text))
		return children_by_walk();
	found = xcalloc(text.len / 2 + 2, sizeof(*found));
	for (at = text.data; (pid = next_child(&at));)
		found[count++] = pid;
	buf_free(&text);
	return found;
}

/* ---- trees ----------------------------------------------------------------- */

static void list_add(struct process_list *list, size_t *room, pid_t pid)
{
	if (list->count == *room) {
		*room = *room ? 2 * *room : 16;
		list->items = xrealloc(list->items, *room * sizeof(*list->items));
	}
	if (process_read(pid, &list->items[list->count]))
		list->count++;
}

/* Each thread has its own. */
static void add_children(struct process_list *list, size_t *room, pid_t pid)
{
	char path[64], *at;
	struct buf text = BUF_INIT;
	struct dirent *entry;
	DIR *threads;
	pid_t child;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	threads = opendir(path);
	while (threads && (entry = readdir(threads))) {
		snprintf(path, sizeof(path), "/proc/%d/task/%.20s/children", (int)pid,
			 entry->d_name);
		if (isdigit((unsigned char)entry->d_name[0]))
			read_children(path, &text);
	}
	if (threads)
		closedir(threads);
	buf_putc(&text, '\0');
	for (at = text.data; (child = next_child(&at));)
		list_add(list, room, child);
	buf_free(&text);
}

/* The tree of `root`, in proportion to its size, not to that of the machine. `adopted`: with our
 * own children and what is below them. */
static void read_tree(struct process_list *list, pid_t root, bool adopted)
{
	size_t room = 0;
	pid_t *own = adopted ? process_children() : NULL;

	list->items = NULL;
	list->count = 0;
	if (access("/proc/thread-self/children", R_OK)) {
		process_list_read(list);
	} else {
		list_add(list, &room, root);
		for (pid_t *pid = own; pid && *pid; pid++)
			if (*pid != root)
				list_add(list, &room, *pid);
		for (size_t i = 0; i < list->count; i++)
			add_children(list, &room, list->items[i].pid);
	}
	free(own);
}

/* ---- killing ------------------------------------------------------------- */

/* Stops members not in `stopped` yet (its `count` entries are ascending only after
 * sorting); returns how many were new. */
static size_t stop_members(const struct process_list *list, pid_t **stopped, size_t *count)
{
	size_t known = *count;

	*stopped = xrealloc(*stopped, (known + list->count + 1) * sizeof(**stopped));
	for (size_t i = 0; i < list->count; i++) {
		const struct process *p = &list->items[i];

		if (!p->member || p->state == 'Z' || has_pid(*stopped, known, p->pid))
			continue;
		kill(p->pid, SIGSTOP);
		(*stopped)[(*count)++] = p->pid;
	}
	qsort(*stopped, *count, sizeof(**stopped), compare_pid);
	return *count - known;
}

size_t process_tree_signal(pid_t root, int signal, bool adopted)
{
	struct process_list list;
	pid_t *stopped = NULL;
	size_t count = 0, fresh;

	for (int walk = 0; walk < WALKS_MAX; walk++) {
		read_tree(&list, root, adopted);
		process_list_mark(&list, root);
		fresh = stop_members(&list, &stopped, &count);
		process_list_free(&list);
		if (!fresh)
			break;
	}
	/* A stopped process dies of SIGKILL as any other. */
	for (size_t i = 0; i < count; i++)
		kill(stopped[i], signal);
	for (size_t i = 0; signal != SIGKILL && i < count; i++)
		kill(stopped[i], SIGCONT);
	free(stopped);
	return count;
}

/* Whether a sandbox is that of the container: it ends in its id, or for "a.b" in a/containers/b. */
static bool is_sandbox_of(const char *sandbox, const char *container)
{
	static const char between[] = "/containers/";
	const char *end = container + strlen(container), *at = sandbox + strlen(sandbox);

	while (end > container) {
		const char *dot = memrchr(container, '.', (size_t)(end - container));
		const char *own = dot ? dot + 1 : container;
		size_t len = (size_t)(end - own), skip = dot ? sizeof(between) - 1 : 1;

		if ((size_t)(at - sandbox) < len + skip)
			return false;
		at -= len + skip;
		if (memcmp(at, dot ? between : "/", skip) || memcmp(at + skip, own, len))
			return false;
		end = dot ? dot : container;
	}
	return true;
}

/* Does the process's environment say that it was started in this container? */
static bool was_started_in(pid_t pid, const char *container, char *text)
{
	const char *name = strchr(container, '.') ? "MESOS_SANDBOX=" : "MESOS_DIRECTORY=";
	char path[64];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	len = process_tree_read_file(path, text, ENVIRONMENT_MAX);
	for (const char *at = text; len > 0 && at < text + len; at += strlen(at) + 1) {
		if (!strncmp(at, name, strlen(name)))
			return is_sandbox_of(at + strlen(name), container);
	}
	return false;
}

size_t process_tree_kill_left(pid_t root, const char *container)
{
	struct process_list list;
	char *text = xmalloc(ENVIRONMENT_MAX);
	pid_t self = getpid();
	size_t alive = 0;

	process_list_read(&list);
	process_list_mark(&list, root);
	for (size_t i = 0; i < list.count; i++) {
		struct process *p = &list.items[i];

		if (p->state == 'Z' || p->pid == self || p->pid == 1)
			continue;
		if (!p->member && !was_started_in(p->pid, container, text))
			continue;
		alive += !kill(p->pid, SIGKILL);
	}
	process_list_free(&list);
	free(text);
	return alive;
}

pid_t process_find_container(const char *container)
{
	struct process_list list;
	char *text = xmalloc(ENVIRONMENT_MAX);
	const struct process *found = NULL;
	pid_t pid;

	process_list_read(&list);
	for (size_t i = 0; i < list.count; i++) {
		const struct process *p = &list.items[i];

		if (p->state != 'Z' && p->session == p->pid && p->pid != getpid() &&
		    (!found || p->start_ticks < found->start_ticks) &&
		    was_started_in(p->pid, container, text))
			found = p;
	}
	pid = found ? found->pid : 0;
	process_list_free(&list);
	free(text);
	return pid;
}
